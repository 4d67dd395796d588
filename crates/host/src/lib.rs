//! System calls about files, their pages, sockets and the machine that the Rust standard library does not offer, behind a safe interface.
//!
//! A function that takes a path opens it for itself. All return plain values or `std::io::Error`.
//! Nothing here interprets what the kernel said.

mod booted;
mod cache;
mod extents;
mod kernel_log;
mod memory;
mod namespaces;
mod open;
mod peers;
mod semantics;
mod space;
mod speed;

pub use booted::{booted_ns, cpu_clock};
pub use cache::{CacheStat, cachestat, drop_file, syncfs};
pub use extents::{Extents, fiemap, placed};
pub use kernel_log::KernelLog;
pub use memory::MemoryHeld;
pub use namespaces::{enter_own_mounts, unmount_in};
pub use peers::{SocketPeer, socket_peers};
pub use semantics::semantics;
pub use space::space;
pub use speed::timed_pieces;
