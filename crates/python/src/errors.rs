//! The one place where errors of Rust become exceptions of Python.

use std::io;
use std::path::Path;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// `OSError` with number, text and file name; Python picks the subclass (`FileNotFoundError`, `PermissionError`) by the number.
pub(crate) fn about_file(error: &io::Error, path: &Path) -> PyErr {
    let full = error.to_string();
    let text = full.split(" (os error").next().unwrap_or(&full).to_owned();
    PyOSError::new_err((error.raw_os_error(), text, path.to_owned()))
}
