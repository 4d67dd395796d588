//! The semantics of a directory's file system, found by trying: names, times, attributes, rights, holes.
//!
//! A configuration states an intention; a probe shows the behaviour. The words are those of `hosts/filesystem_semantics.py`.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, Timespec, Timestamps, XattrFlags, setxattr, utimensat};

const DAY_S: i64 = 86_400;
const HOLE_BYTES: u64 = 1 << 20;
const ASKED_MODE: u32 = 0o640;

type Probe = (&'static str, fn(&Path) -> io::Result<&'static str>);

const PROBES: [Probe; 8] = [
    ("names", |file| Ok(names(file))),
    ("access_time", access_time),
    ("modes", modes),
    ("holes", holes),
    ("hard_links", |file| {
        Ok(yes(&fs::hard_link(file, file.with_file_name("hard"))))
    }),
    ("symbolic_links", |file| {
        Ok(yes(&symlink("lower", file.with_file_name("soft"))))
    }),
    ("attributes", |file| {
        let set = setxattr(file, "user.assay", b"1", XattrFlags::empty());
        Ok(yes(&set.map_err(io::Error::from)))
    }),
    ("access_lists", |file| {
        let name = "system.posix_acl_access";
        let set = setxattr(file, name, &access_list(), XattrFlags::empty());
        Ok(yes(&set.map_err(io::Error::from)))
    }),
];

/// What was found of each, tried out in a directory of its own that is removed again.
///
/// # Errors
/// Where nothing can be made in the directory.
pub fn semantics(directory: &Path) -> io::Result<Vec<(&'static str, &'static str)>> {
    let own = Own::make(directory)?;
    let file = own.0.join("lower");
    fs::write(&file, b"content")?;
    PROBES
        .iter()
        .map(|(name, probe)| Ok((*name, probe(&file)?)))
        .collect()
}

/// A directory that is removed when dropped.
struct Own(PathBuf);

impl Own {
    fn make(directory: &Path) -> io::Result<Self> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let number = since.unwrap_or(Duration::ZERO).as_nanos();
        let name = format!(".assay-semantics-{}-{number}", std::process::id());
        let path = directory.join(name);
        fs::create_dir(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o700)).map(|()| Self(path))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether a name in other letters is the same file.
fn names(file: &Path) -> &'static str {
    if file.with_file_name("LOWER").exists() {
        "upper and lower case are one"
    } else {
        "upper and lower case differ"
    }
}

/// When a read is written down (mount(8), relatime and strictatime).
///
/// An access time of three days ago is renewed by a read unless none is; one of tomorrow only where each read counts.
fn access_time(file: &Path) -> io::Result<&'static str> {
    if !renewed(file, -3 * DAY_S)? {
        return Ok("never");
    }
    Ok(if renewed(file, DAY_S)? {
        "each read"
    } else {
        "first read after a change or a day"
    })
}

fn renewed(file: &Path, shift_s: i64) -> io::Result<bool> {
    let found = file.metadata()?;
    let at = |shift| Timespec {
        tv_sec: found.mtime() + shift,
        tv_nsec: found.mtime_nsec(),
    };
    let times = Timestamps {
        last_access: at(shift_s),
        last_modification: at(0),
    };
    utimensat(CWD, file, &times, rustix::fs::AtFlags::empty())?;
    let accessed = |seen: fs::Metadata| (seen.atime(), seen.atime_nsec());
    let before = accessed(file.metadata()?);
    fs::read(file)?;
    Ok(accessed(file.metadata()?) != before)
}

fn modes(file: &Path) -> io::Result<&'static str> {
    let _ = fs::set_permissions(file, Permissions::from_mode(ASKED_MODE));
    let kept = file.metadata()?.mode() & 0o7777 == ASKED_MODE;
    Ok(if kept { "kept" } else { "not kept" })
}

/// Whether what was never written takes no space.
fn holes(file: &Path) -> io::Result<&'static str> {
    let hole = File::create(file.with_file_name("hole"))?;
    hole.set_len(HOLE_BYTES)?;
    let kept = hole.metadata()?.blocks() * 512 < HOLE_BYTES;
    Ok(if kept { "kept" } else { "filled" })
}

fn yes(done: &io::Result<()>) -> &'static str {
    if done.is_ok() { "yes" } else { "no" }
}

/// A list of access rights as acl(5) has it in an attribute: owner rw, user 0 r, group r, mask r, others none.
fn access_list() -> Vec<u8> {
    let nobody = u32::MAX;
    let entries: [(u16, u16, u32); 5] = [
        (1, 6, nobody),
        (2, 4, 0),
        (4, 4, nobody),
        (16, 4, nobody),
        (32, 0, nobody),
    ];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, who) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(who.to_le_bytes());
    }
    list
}
