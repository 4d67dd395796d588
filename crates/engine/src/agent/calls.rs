//! System calls that no shell offers.

use super::answer::Failure;
use super::request::Request;
use assay_host::{CacheStat, Extents, KernelLog};
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

static LOG: Mutex<KernelLog> = Mutex::new(KernelLog::new());

/// Answers a system call.
pub fn answer(request: &Request) -> Result<Value, Failure> {
    match request {
        Request::Cachestat { path } => on(path, assay_host::cachestat, |seen| pages(&seen)),
        Request::Fiemap { path } => on(path, assay_host::fiemap, |seen| extents(&seen)),
        Request::Placed { path } => on(path, assay_host::placed, |span| json!({"span": span})),
        Request::DropFile { path } => on(path, assay_host::drop_file, |()| json!({})),
        Request::Syncfs { path } => on(path, assay_host::syncfs, |took| json!({"took_ns": took})),
        Request::CpuClock { path } => on(path, assay_host::cpu_clock, |ns| json!({"cpu_ns": ns})),
        Request::Space { path } => on(
            path,
            assay_host::space,
            |(free, inodes)| json!({"free": free, "free_inodes": inodes}),
        ),
        Request::Semantics { path } => on(path, assay_host::semantics, |found| {
            let words: serde_json::Map<_, _> = found
                .into_iter()
                .map(|(name, word)| (name.to_owned(), word.into()))
                .collect();
            json!({"semantics": words})
        }),
        Request::BootedNs {} => Ok(json!({"booted_ns": assay_host::booted_ns()})),
        Request::KernelLog {} => {
            let since = LOG.lock().unwrap_or_else(PoisonError::into_inner).since();
            Ok(json!({"text": since?}))
        }
        Request::Spin {} => Ok(json!({"pieces_ns": assay_host::timed_pieces()})),
        Request::UnmountIn { namespace, point } => assay_host::unmount_in(namespace, point)
            .map(|()| json!({}))
            .map_err(|error| Failure::of_path(&error, point)),
        other => Err(Failure::of_text(format!(
            "found {other:?}; expected a system call"
        ))),
    }
}

fn on<T>(
    path: &str,
    call: impl Fn(&Path) -> io::Result<T>,
    tell: impl Fn(T) -> Value,
) -> Result<Value, Failure> {
    let found = call(Path::new(path));
    found
        .map(tell)
        .map_err(|error| Failure::of_path(&error, path))
}

fn pages(seen: &CacheStat) -> Value {
    json!({
        "cached": seen.cached,
        "dirty": seen.dirty,
        "writeback": seen.writeback,
        "evicted": seen.evicted,
        "recently_evicted": seen.recently_evicted,
        "page_bytes": seen.page_bytes,
        "file_bytes": seen.file_bytes,
        "allocated_bytes": seen.allocated_bytes,
    })
}

fn extents(seen: &Extents) -> Value {
    json!({
        "file_bytes": seen.file_bytes,
        "allocated_bytes": seen.allocated_bytes,
        "mapped_bytes": seen.mapped_bytes,
        "unwritten_bytes": seen.unwritten_bytes,
        "hole_bytes": seen.hole_bytes,
        "encoded_bytes": seen.encoded_bytes,
        "extents": seen.extents,
    })
}
