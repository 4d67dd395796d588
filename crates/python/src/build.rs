//! What this library was built as.

use std::ffi::CStr;

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;

const DEBUG: bool = cfg!(debug_assertions);
const WARNING: &CStr =
    c"found a debug build of assay._core; its timings mean nothing; build it with `maturin develop --release`";

/// What the library was built as.
#[derive(IntoPyObject)]
pub(crate) struct BuildInfo {
    version: &'static str,
    profile: &'static str,
    target: String,
}

/// Version, profile (release or debug) and target (architecture and system) of this library.
#[pyfunction]
pub(crate) fn build_info() -> BuildInfo {
    BuildInfo {
        version: env!("CARGO_PKG_VERSION"),
        profile: if DEBUG { "debug" } else { "release" },
        target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
    }
}

/// A debug build is no instrument: it says so as soon as it is imported.
pub(crate) fn warn_if_debug(py: Python<'_>) -> PyResult<()> {
    if DEBUG {
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), WARNING, 1)?;
    }
    Ok(())
}
