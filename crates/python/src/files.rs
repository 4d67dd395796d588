//! System calls about files and their pages.

#![allow(
    clippy::needless_pass_by_value,
    clippy::struct_field_names,
    reason = "PyO3 hands over what it has converted; the names are those that Python reads"
)]

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::errors::about_file;

/// cachestat(2) of a whole file; the names are those of `assay.catalogue.CacheStat`.
#[derive(IntoPyObject)]
pub(crate) struct CacheStat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
    page_bytes: u64,
    file_bytes: u64,
    allocated_bytes: u64,
}

/// FIEMAP and stat of a file; the names are those of `assay.catalogue.Extents`.
#[derive(IntoPyObject)]
pub(crate) struct Extents {
    file_bytes: u64,
    allocated_bytes: u64,
    mapped_bytes: u64,
    unwritten_bytes: u64,
    hole_bytes: u64,
    encoded_bytes: u64,
    extents: u64,
}

/// Pages of a file in the page cache, by state, with the page size and the file's size. Raises `OSError`.
#[pyfunction]
pub(crate) fn cachestat(py: Python<'_>, path: PathBuf) -> PyResult<CacheStat> {
    let seen = py
        .detach(|| assay_host::cachestat(&path))
        .map_err(|error| about_file(&error, &path))?;
    Ok(CacheStat {
        cached: seen.cached,
        dirty: seen.dirty,
        writeback: seen.writeback,
        evicted: seen.evicted,
        recently_evicted: seen.recently_evicted,
        page_bytes: seen.page_bytes,
        file_bytes: seen.file_bytes,
        allocated_bytes: seen.allocated_bytes,
    })
}

/// Bytes of a file by kind: mapped, unwritten and hole add up to its size; encoded is part of mapped. Raises `OSError`.
#[pyfunction]
pub(crate) fn fiemap(py: Python<'_>, path: PathBuf) -> PyResult<Extents> {
    let seen = py
        .detach(|| assay_host::fiemap(&path))
        .map_err(|error| about_file(&error, &path))?;
    Ok(Extents {
        file_bytes: seen.file_bytes,
        allocated_bytes: seen.allocated_bytes,
        mapped_bytes: seen.mapped_bytes,
        unwritten_bytes: seen.unwritten_bytes,
        hole_bytes: seen.hole_bytes,
        encoded_bytes: seen.encoded_bytes,
        extents: seen.extents,
    })
}

/// fsync, then let the kernel forget the whole file's pages. Raises `OSError`.
#[pyfunction]
pub(crate) fn drop_file(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    py.detach(|| assay_host::drop_file(&path))
        .map_err(|error| about_file(&error, &path))
}

/// Flush the file system that holds the path; how long it took in nanoseconds. Raises `OSError`.
#[pyfunction]
pub(crate) fn syncfs(py: Python<'_>, path: PathBuf) -> PyResult<u64> {
    py.detach(|| assay_host::syncfs(&path))
        .map_err(|error| about_file(&error, &path))
}
