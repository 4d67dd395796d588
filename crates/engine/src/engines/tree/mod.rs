//! Reads a whole existing tree as a backup does: walkers that share its directories, every file from beginning to end.
//!
//! It writes nothing, follows no symbolic link and waits for no named pipe. What vanishes meanwhile, or may not be read, is
//! counted, and the work goes on.

use crate::folders::allow_open_files;
use crate::protocol::{Config, Fault};
use crate::work::{Armed, Worker};
use directory::{Batch, Directory};
use node::Node;
use queue::{Pending, Queue, Root};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use settings::{Advice, Order, Settings};
use std::ffi::{CStr, CString};
use std::sync::Arc;
use walker::Walker;

mod directory;
mod lister;
mod node;
mod queue;
mod settings;
mod walker;

/// The operations by their place in the result.
mod slot {
    pub const WALK: usize = 0;
    pub const FILE: usize = 1;
    pub const READ: usize = 2;
    pub const NAMES: [&str; 3] = ["walk", "file", "read"];
}

/// What every walker is told.
struct Plan {
    record_size: usize,
    part: u64,
    parts: u64,
    advice: Advice,
    order: Order,
    direct: bool,
    noatime: bool,
    drop_behind: bool,
    /// Files of each walker.
    ops: Option<u64>,
    /// The file system that is not left; None where any is entered.
    device: Option<u64>,
}

impl Plan {
    fn new(settings: &Settings, device: u64) -> Self {
        Self {
            record_size: settings.record_size as usize,
            part: settings.part,
            parts: settings.parts,
            advice: settings.advice,
            order: settings.order,
            direct: settings.direct,
            noatime: settings.noatime,
            drop_behind: settings.drop_behind,
            ops: settings.ops,
            device: settings.same_filesystem.then_some(device),
        }
    }

    /// Whether an entry belongs to this client: by the high half of a product, as a division would deal it out.
    fn is_own(&self, node: &Node, name: &CStr) -> bool {
        self.parts == 1
            || ((u128::from(node.hash_of(name)) * u128::from(self.parts)) >> 64) as u64 == self.part
    }
}

/// Looks at the root; nothing is read before the start.
pub fn arm(config: &Config) -> Result<Armed, Fault> {
    let settings: Settings = config.settings()?;
    settings.check()?;
    allow_open_files();
    let (path, seen) = look(&settings)?;
    let plan = Arc::new(Plan::new(&settings, seen.st_dev));
    let root = root(&plan, path, &seen)?;
    let walkers = settings.walkers as usize;
    let queue = Arc::new(Queue::new(root, settings.passes(), walkers));
    let worker = |_| {
        let walker = Walker::new(Arc::clone(&queue), Arc::clone(&plan));
        Box::new(walker) as Box<dyn Worker>
    };
    Ok(Armed {
        operations: slot::NAMES.map(str::to_owned).to_vec(),
        workers: (0..walkers).map(worker).collect(),
        duration_ns: settings.duration_ns,
        load: settings.load,
        beside: None,
    })
}

/// The root and what it is: a directory or a file that may be read.
fn look(settings: &Settings) -> Result<(CString, Stat), Fault> {
    let given = settings.root.trim_end_matches('/');
    let path = if given.is_empty() { "/" } else { given };
    let name = CString::new(path).map_err(|_| Fault::settings("found a zero byte in root"))?;
    let failed = |what, errno| Fault::call(what, path, errno);
    let seen = rustix::fs::statat(CWD, &name, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|errno| failed("stat", errno))?;
    let refused = match FileType::from_raw_mode(seen.st_mode) {
        FileType::Directory | FileType::RegularFile => None,
        FileType::Symlink => Some("a symbolic link"),
        _ => Some("neither a directory nor a file"),
    };
    if let Some(kind) = refused {
        return Err(Fault {
            path: Some(path.to_owned()),
            ..Fault::settings(format!("found {kind}; expected a directory or a file"))
        });
    }
    directory::open(CWD, &name, OFlags::empty(), false).map_err(|errno| failed("open", errno))?;
    Ok((name, seen))
}

/// The root as the queue knows it: a path seen from the working directory.
fn root(plan: &Plan, path: CString, seen: &Stat) -> Result<Root, Fault> {
    let here = |node: Arc<Node>| -> Result<Arc<Directory>, Fault> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor: OwnedFd = rustix::fs::open(".", flags, Mode::empty())
            .map_err(|errno| Fault::call("open", ".", errno))?;
        Ok(Arc::new(Directory { descriptor, node }))
    };
    let top = Node::root(CString::default());
    if FileType::from_raw_mode(seen.st_mode) == FileType::Directory {
        let above = here(top)?;
        let node = Node::root(path);
        return Ok(Root::Directory(Pending::New { above, node }));
    }
    let is_own = plan.is_own(&top, c"");
    let mut batch = Batch::new(here(top)?);
    if is_own {
        batch.push(seen.st_ino, &path);
    }
    Ok(Root::File(Arc::new(batch)))
}
