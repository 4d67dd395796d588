//! Whether the kernel did queued work in threads of its own, because the target cannot do it without waiting.

/// The kernel's workers for this thread's rings now; idle ones live on for some seconds.
pub fn workers_of_this_thread() -> u64 {
    let name = format!("iou-wrk-{}\n", rustix::thread::gettid().as_raw_nonzero());
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return 0;
    };
    let is_worker = |thread: std::fs::DirEntry| {
        // A name has 15 characters at most.
        std::fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| {
            comm == name || (comm.len() == 16 && name.starts_with(comm.trim_end()))
        })
    };
    threads
        .flatten()
        .map(is_worker)
        .filter(|found| *found)
        .count() as u64
}
