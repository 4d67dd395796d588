//! Mount namespaces: one of this process's own, and an unmount inside another one.
//!
//! Sources: `mount_namespaces(7)`, unshare(2), setns(2), umount2(2). setns refuses a thread that shares its directory.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::null;

/// Gives this thread, and all that it starts from now on, a mount namespace of its own; mounts of the machine still arrive.
///
/// Call it in the first thread, before it starts others.
///
/// # Errors
/// `EPERM` without the privilege, `ENOSYS` where the kernel has no namespaces.
pub fn enter_own_mounts() -> io::Result<()> {
    // SAFETY: integer arguments and constant texts; the process has one thread.
    unsafe {
        succeeded(libc::unshare(libc::CLONE_NEWNS))?;
        let flags = libc::MS_REC | libc::MS_SLAVE;
        succeeded(libc::mount(null(), c"/".as_ptr(), null(), flags, null()))
    }
}

/// Unmounts a mount point of another mount namespace (`/proc/PID/ns/mnt`), in a thread that enters it and ends.
///
/// # Errors
/// What open(2), setns(2) and umount2(2) return.
pub fn unmount_in(namespace: &str, point: &str) -> io::Result<()> {
    let entrance = File::open(namespace)?;
    let point = CString::new(point)?;
    let thread = std::thread::Builder::new().spawn(move || enter_and_unmount(&entrance, &point))?;
    let broken = |_| io::Error::from_raw_os_error(libc::EIO);
    thread.join().map_err(broken).and_then(|done| done)
}

fn enter_and_unmount(entrance: &File, point: &CStr) -> io::Result<()> {
    // SAFETY: the descriptor and the text outlive the calls; what is unshared belongs to this thread alone.
    unsafe {
        succeeded(libc::unshare(libc::CLONE_FS))?;
        succeeded(libc::setns(entrance.as_raw_fd(), libc::CLONE_NEWNS))?;
        succeeded(libc::umount2(point.as_ptr(), libc::UMOUNT_NOFOLLOW))
    }
}

fn succeeded(status: i32) -> io::Result<()> {
    if status == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}
