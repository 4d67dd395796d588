//! The Rust half of the Python package `assay`.

use pyo3::prelude::*;

/// The Rust half of Assay.
#[pymodule]
fn _core(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
