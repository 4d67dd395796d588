//! System calls about the sockets of a process.

use std::path::Path;

use pyo3::prelude::*;

use crate::errors::about_file;

/// The addresses that a process's sockets of the internet are connected to. Raises `OSError`.
#[pyfunction]
pub(crate) fn socket_peers(py: Python<'_>, pid: i32) -> PyResult<Vec<String>> {
    let found = py
        .detach(|| assay_host::socket_peers(pid))
        .map_err(|error| about_file(&error, Path::new(&format!("/proc/{pid}/fd"))))?;
    Ok(found.iter().map(ToString::to_string).collect())
}
