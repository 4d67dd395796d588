//! Filters of directory servers.

use pyo3::prelude::*;

/// The first mistake of a filter: its place in characters, what is there, and what was expected; None where there is none.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn filter_mistake(text: &str) -> Option<(usize, String, &'static str)> {
    let mistake = assay_ldap::filter::parse(text).err()?;
    let place = text.char_indices().take_while(|(at, _)| *at < mistake.at);
    Some((place.count(), mistake.found, mistake.expected))
}
