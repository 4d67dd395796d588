//! Free space of a file system.

use std::io;
use std::path::Path;

/// Which shares of the space and of the inodes an ordinary user may still take; 1 where the file system counts none.
///
/// # Errors
/// What statvfs(3) returns.
pub fn space(path: &Path) -> io::Result<(f64, f64)> {
    let found = rustix::fs::statvfs(path)?;
    let share = |free: u64, all: u64| {
        if all == 0 {
            1.0
        } else {
            free as f64 / all as f64
        }
    };
    Ok((
        share(found.f_bavail, found.f_blocks),
        share(found.f_favail, found.f_files),
    ))
}
