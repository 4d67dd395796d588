//! A file of notes, one an owner: JSON lines that are only appended and synced, locked as long as the owner lives.
//!
//! The first line says which machine and which process it is of, the others what has to be undone and what was struck.
//! The last line may be torn by a kill and is then left out: what it announced never began.

use super::request::Note;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Notes are told from the ledgers of a lab, which are in the same directory, by the end of their names.
pub const ENDING: &str = "notes";
const SYSTEM_DIRECTORY: &str = "/run";
const NAMES_OF_A_MACHINE: [&str; 3] = [
    "/etc/machine-id",
    "/sys/class/dmi/id/product_uuid",
    "/sys/class/dmi/id/board_serial",
];
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// Where the start of a process is in /proc/PID/stat, counted from the field after its name.
const START_TICKS: usize = 19;
/// How long a child of a dead owner may hold its lock: from its fork to its exec, or to its own end.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

const HOST_KEYS: [&str; 3] = [
    "/etc/ssh/ssh_host_ed25519_key.pub",
    "/etc/ssh/ssh_host_ecdsa_key.pub",
    "/etc/ssh/ssh_host_rsa_key.pub",
];

/// Whose notes they are. `machine` is the first name that the machine tells, and `names` has all of them, for a clone has the
/// first one, too; `start_ticks` tells the process from later ones.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Owner {
    pub machine: String,
    #[serde(default)]
    pub names: BTreeMap<String, String>,
    pub boot: String,
    pub pid: u32,
    pub start_ticks: u64,
}

/// An open file of notes that is locked by us.
#[derive(Debug)]
pub struct Notebook {
    pub path: PathBuf,
    pub owner: Owner,
    pub notes: Vec<Note>,
    file: File,
}

impl Notebook {
    /// Makes this process's own file in a directory.
    pub fn make(directory: &Path) -> io::Result<Self> {
        let owner = Owner::ourselves();
        let _locked = locked(directory)?;
        let name = format!("{}-{}.{ENDING}", owner.pid, assay_clock::monotonic_ns());
        let path = directory.join(name);
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true).mode(0o600);
        let mut made = Self {
            file: options.open(&path)?,
            path,
            owner,
            notes: Vec::new(),
        };
        flock(&made.file, FlockOperation::LockExclusive)?;
        made.append(&json!(made.owner))?;
        File::open(directory)?.sync_all()?;
        Ok(made)
    }

    /// Opens a file whose owner is gone; nothing where the owner lives.
    ///
    /// A child that a dead owner had just forked holds the lock a moment more: it is waited for.
    pub fn of_the_dead(path: &Path) -> io::Result<Option<Self>> {
        let mut file = OpenOptions::new().read(true).append(true).open(path)?;
        let mut content = content_of(&mut file)?;
        let until = Instant::now() + PATIENCE;
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if parse(&content).0.lives() || Instant::now() >= until {
                return Ok(None);
            }
            std::thread::sleep(LOOK_AGAIN);
            content = content_of(&mut file)?;
        }
        content = content_of(&mut file)?;
        if content.last().is_some_and(|&byte| byte != b'\n') {
            file.write_all(b"\n")?;
        }
        let (owner, notes) = parse(&content);
        Ok(Some(Self {
            path: path.to_owned(),
            owner,
            notes,
            file,
        }))
    }

    /// Writes a note down, durably.
    pub fn add(&mut self, note: Note) -> io::Result<()> {
        if self.notes.iter().any(|known| known.n == note.n) {
            return Err(io::Error::from_raw_os_error(libc::EEXIST));
        }
        self.append(&json!(note))?;
        self.notes.push(note);
        Ok(())
    }

    /// Strikes a note out; whether there was one.
    pub fn strike(&mut self, n: u64) -> io::Result<bool> {
        let before = self.notes.len();
        self.notes.retain(|note| note.n != n);
        if self.notes.len() == before {
            return Ok(false);
        }
        self.append(&json!({"struck": n})).map(|()| true)
    }

    /// Removes the file where nothing is left in it.
    pub fn remove_if_empty(&self) {
        if self.notes.is_empty() {
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Where there is no room for all of a line, nothing of it is left.
    fn append(&mut self, line: &Value) -> io::Result<()> {
        let mut bytes = line.to_string().into_bytes();
        bytes.push(b'\n');
        let before = self.file.metadata()?.len();
        let written = self.file.write_all(&bytes);
        if written.is_err() {
            let _ = self.file.set_len(before);
        }
        written.and_then(|()| self.file.sync_all())
    }
}

impl Owner {
    fn ourselves() -> Self {
        let content = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let told = |path: &&str| {
            let text = content(path).trim().to_owned();
            (!text.is_empty())
                .then_some((path.rsplit('/').next().unwrap_or_default().to_owned(), text))
        };
        let of_machine: Vec<_> = NAMES_OF_A_MACHINE.iter().filter_map(told).collect();
        let key = HOST_KEYS.iter().find_map(told);
        let key = key.map(|(_, text)| ("ssh host key".to_owned(), text));
        Self {
            machine: of_machine
                .first()
                .map_or_else(String::new, |(_, name)| name.clone()),
            names: of_machine.into_iter().chain(key).collect(),
            boot: content(BOOT_ID).trim().to_owned(),
            pid: std::process::id(),
            start_ticks: process("self").map_or(0, |(_, ticks)| ticks),
        }
    }

    /// Whether that very process still runs here; a zombie does not.
    fn lives(&self) -> bool {
        process(&self.pid.to_string()).is_some_and(|(state, ticks)| {
            ticks == self.start_ticks && !matches!(state.as_str(), "Z" | "X")
        })
    }
}

/// The state of a process and when it started; nothing where there is none.
fn process(pid: &str) -> Option<(String, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.to_owned();
    let ticks = fields.nth(START_TICKS - 1)?.parse().ok()?;
    Some((state, ticks))
}

fn content_of(file: &mut File) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut content)?;
    Ok(content)
}

/// `/run/assay` for root, `$XDG_RUNTIME_DIR/assay` for others, else a directory of this user's own in /tmp.
pub fn directory() -> io::Result<PathBuf> {
    // SAFETY: takes nothing and cannot fail.
    let user = unsafe { libc::geteuid() };
    let writable = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    let system = Path::new(SYSTEM_DIRECTORY);
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let found = match runtime.filter(|path| writable(path)) {
        _ if user == 0 && writable(system) => system.join("assay"),
        Some(runtime) => runtime.join("assay"),
        None => PathBuf::from(format!("/tmp/assay-{user}")),
    };
    private(&found, user).map(|()| found)
}

/// Makes a directory where it is not there; refuses one in which somebody else could write.
fn private(directory: &Path, user: u32) -> io::Result<()> {
    if let Err(error) = DirBuilder::new().mode(0o700).create(directory)
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    let found = fs::symlink_metadata(directory)?;
    if found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    let (path, owner, mode) = (directory.display(), found.uid(), found.mode() & 0o7777);
    Err(io::Error::other(format!(
        "{path} is owned by user {owner}, mode {mode:o}: other users may write there. Remove it, or set XDG_RUNTIME_DIR."
    )))
}

/// Holds the lock of the whole directory: a file must never be seen between its making and its locking.
pub fn locked(directory: &Path) -> io::Result<File> {
    let file = File::open(directory)?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

fn parse(content: &[u8]) -> (Owner, Vec<Note>) {
    let mut lines = content.split(|&byte| byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let owner = serde_json::from_slice(first).unwrap_or_default();
    let mut notes: Vec<Note> = Vec::new();
    for line in lines {
        if let Ok(note) = serde_json::from_slice::<Note>(line) {
            notes.push(note);
        } else if let Ok(line) = serde_json::from_slice::<Value>(line) {
            notes.retain(|note| Some(note.n) != line["struck"].as_u64());
        }
    }
    (owner, notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn struck_notes_and_a_torn_last_line_are_left_out() {
        let content = br#"{"machine":"m","boot":"b","pid":1,"start_ticks":2}
{"n":1,"kind":"mount","details":{},"back":"true"}
{"n":2,"kind":"loop","details":{},"back":"true"}
rubbish
{"struck":1}
{"n":3,"kind":"lo"#;
        let (owner, notes) = parse(content);
        assert_eq!((owner.boot.as_str(), owner.start_ticks), ("b", 2));
        assert_eq!(notes.iter().map(|note| note.n).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_dead_owners_child_that_still_holds_the_lock_is_waited_for() {
        let path = std::env::temp_dir().join(format!("assay-child-{}.notes", std::process::id()));
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        let owner = Owner {
            pid: ended.id(),
            start_ticks: process(&ended.id().to_string()).map_or(0, |(_, ticks)| ticks),
            ..Owner::default()
        };
        ended.wait().unwrap();
        let note = r#"{"n":1,"kind":"mount","details":{},"back":"true"}"#;
        fs::write(&path, format!("{}\n{note}\n", json!(owner))).unwrap();
        let child = File::open(&path).unwrap();
        flock(&child, FlockOperation::LockExclusive).unwrap();
        let letting_go = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            drop(child);
        });
        let found = Notebook::of_the_dead(&path).unwrap().unwrap();
        assert_eq!(found.notes.len(), 1);
        letting_go.join().unwrap();
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_of_a_living_owner_is_not_opened_and_one_of_a_dead_owner_is() {
        let directory = std::env::temp_dir().join(format!("assay-notes-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let mut own = Notebook::make(&directory).unwrap();
        let note = Note {
            n: 1,
            kind: "mount".to_owned(),
            details: std::collections::BTreeMap::new(),
            back: "true".to_owned(),
        };
        own.add(note.clone()).unwrap();
        assert!(own.add(note).is_err());
        let path = own.path.clone();
        assert!(Notebook::of_the_dead(&path).unwrap().is_none());
        drop(own);
        // A child that another test forks holds the lock as well, until its exec.
        let mut dead = std::iter::repeat_with(|| Notebook::of_the_dead(&path).unwrap())
            .take(5000)
            .find(|found| {
                found.is_some() || {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                    false
                }
            })
            .flatten()
            .unwrap();
        assert_eq!(dead.owner.pid, std::process::id());
        assert_eq!(
            (dead.strike(1).unwrap(), dead.strike(1).unwrap()),
            (true, false)
        );
        dead.remove_if_empty();
        assert!(!path.exists());
        fs::remove_dir(&directory).unwrap();
    }
}
