//! System calls about files and their pages that the Rust standard library does not offer, behind a safe interface.
//!
//! Every function takes a path, opens it for itself and returns plain records or `std::io::Error`.
//! Nothing here interprets what the kernel said.

mod cache;
mod extents;
mod open;

pub use cache::{CacheStat, cachestat, drop_file, syncfs};
pub use extents::{Extents, fiemap};
