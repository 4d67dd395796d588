//! System calls about the sockets of a process.

use std::path::Path;

use pyo3::prelude::*;

use crate::errors::about_file;

/// The peer, the own address and the interface of a process's connected sockets of the internet. Raises `OSError`.
#[pyfunction]
pub(crate) fn socket_peers(py: Python<'_>, pid: i32) -> PyResult<Vec<(String, String, String)>> {
    let found = py
        .detach(|| assay_host::socket_peers(pid))
        .map_err(|error| about_file(&error, Path::new(&format!("/proc/{pid}/fd"))))?;
    let words = found
        .into_iter()
        .map(|one| (one.peer.to_string(), one.own.to_string(), one.device));
    Ok(words.collect())
}
