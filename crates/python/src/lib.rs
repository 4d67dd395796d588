//! The Rust half of the Python package `assay`: convert, detach from the interpreter, convert back.

use pyo3::prelude::*;

mod build;
mod errors;
mod files;
mod ldap;
mod sockets;
mod toml;

/// The Rust half of Assay: system calls about files and sockets, filters of directories, and the TOML reader that knows where every value stands.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    build::warn_if_debug(module.py())?;
    module.add_function(wrap_pyfunction!(build::build_info, module)?)?;
    module.add_function(wrap_pyfunction!(files::cachestat, module)?)?;
    module.add_function(wrap_pyfunction!(files::drop_file, module)?)?;
    module.add_function(wrap_pyfunction!(files::fiemap, module)?)?;
    module.add_function(wrap_pyfunction!(ldap::filter_mistake, module)?)?;
    module.add_function(wrap_pyfunction!(sockets::socket_peers, module)?)?;
    module.add_function(wrap_pyfunction!(files::syncfs, module)?)?;
    module.add_function(wrap_pyfunction!(toml::parse_toml, module)?)?;
    Ok(())
}
