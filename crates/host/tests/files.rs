//! Against the real kernel, on the file system that holds the build.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use assay_host::{
    MemoryHeld, booted_ns, cachestat, drop_file, fiemap, placed, semantics, space, syncfs,
    timed_pieces,
};

const MIB: u64 = 1 << 20;
const ENOSYS: i32 = 38;
const EOPNOTSUPP: i32 = 95;

/// A file that is removed when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        fs::create_dir_all(directory).unwrap();
        Self(directory.join(format!("{name}-{}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn lacks(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(ENOSYS | EOPNOTSUPP))
}

#[test]
fn pages_are_counted_and_dropped() {
    let scratch = Scratch::new("pages");
    File::create(&scratch.0)
        .unwrap()
        .write_all(&vec![7; MIB as usize])
        .unwrap();
    let before = match cachestat(&scratch.0) {
        Err(error) if lacks(&error) => return,
        other => other.unwrap(),
    };
    assert_eq!(before.file_bytes, MIB);
    assert_eq!(before.cached * before.page_bytes, MIB);
    drop_file(&scratch.0).unwrap();
    let after = cachestat(&scratch.0).unwrap();
    assert_eq!((after.cached, after.dirty), (0, 0));
}

#[test]
fn holes_are_no_data() {
    let scratch = Scratch::new("holes");
    let file = File::create(&scratch.0).unwrap();
    file.write_all_at(&vec![7; MIB as usize], 3 * MIB).unwrap();
    file.sync_all().unwrap();
    match fiemap(&scratch.0) {
        Err(error) if lacks(&error) => {}
        other => {
            let seen = other.unwrap();
            assert_eq!(
                (seen.file_bytes, seen.hole_bytes, seen.mapped_bytes),
                (4 * MIB, 3 * MIB, MIB)
            );
        }
    }
}

#[test]
fn preallocation_is_no_data() {
    let scratch = Scratch::new("prealloc");
    let file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .open(&scratch.0)
        .unwrap();
    // SAFETY: the descriptor is open; the call touches no memory of ours.
    if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, 2 * MIB as i64) } != 0 {
        return;
    }
    match fiemap(&scratch.0) {
        Err(error) if lacks(&error) => {}
        other => {
            let seen = other.unwrap();
            assert_eq!(
                (seen.unwritten_bytes, seen.mapped_bytes, seen.hole_bytes),
                (2 * MIB, 0, 0)
            );
            assert!(seen.allocated_bytes >= 2 * MIB);
        }
    }
}

#[test]
fn many_extents_take_several_calls() {
    let scratch = Scratch::new("many");
    let file = File::create(&scratch.0).unwrap();
    for step in 0..600 {
        file.write_all_at(&[7; 4096], step * 16384).unwrap();
    }
    file.sync_all().unwrap();
    match fiemap(&scratch.0) {
        Err(error) if lacks(&error) => {}
        other => {
            let seen = other.unwrap();
            assert_eq!(
                seen.mapped_bytes + seen.unwritten_bytes + seen.hole_bytes,
                seen.file_bytes
            );
            assert_eq!(seen.mapped_bytes, 600 * 4096);
            assert_eq!(seen.extents, 600);
        }
    }
}

#[test]
fn a_flush_takes_time() {
    assert!(syncfs(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap() > 0);
}

#[test]
fn a_missing_file_says_so() {
    let error = cachestat(Path::new("/no/such/file")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(2));
}

#[test]
fn a_file_lies_between_its_lowest_and_its_highest_byte() {
    let scratch = Scratch::new("placed");
    let file = File::create(&scratch.0).unwrap();
    file.write_all_at(&vec![7; MIB as usize], 0).unwrap();
    file.sync_all().unwrap();
    match placed(&scratch.0) {
        Err(error) if lacks(&error) => {}
        found => {
            let (low, high) = found.unwrap().unwrap();
            assert!(high - low >= MIB);
        }
    }
}

#[test]
fn a_directory_is_left_as_it_was_found() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("semantics");
    fs::create_dir_all(&directory).unwrap();
    let found = semantics(&directory).unwrap();
    assert_eq!(found.len(), 8);
    assert_eq!(found[0], ("names", "upper and lower case differ"));
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    let (free, inodes) = space(&directory).unwrap();
    assert!((0.0..=1.0).contains(&free) && (0.0..=1.0).contains(&inodes));
}

#[test]
fn memory_is_taken_as_far_as_there_is_any() {
    assert_eq!(
        MemoryHeld::take(MIB as usize).unwrap().length(),
        MIB as usize
    );
    assert!(MemoryHeld::take(usize::MAX / 2).is_err());
}

#[test]
fn the_machine_was_booted_and_its_cpu_works() {
    assert!(booted_ns() > 0);
    let pieces = timed_pieces();
    assert!(pieces.len() == 25 && pieces.iter().all(|&piece| piece > 0));
}
