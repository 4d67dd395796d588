//! Errors as a worker counts them, and which of them end a phase.

/// After so many errors without one success in between, nothing more can be done.
pub const HOPELESS: u64 = 100;
/// Distinct (operation, errno) pairs that are told apart.
const MOST_KINDS: usize = 32;

/// Whose numbers error codes are, where they are none of errno(3).
pub const LDAP: &str = "ldap";

/// An error as the worker saw it: operation, errno, how often, where first; `what` names one that no system call gave.
#[derive(Clone, Debug)]
pub struct Failure {
    pub slot: usize,
    pub errno: i32,
    pub what: Option<&'static str>,
    /// Whose number `errno` is; None is errno(3).
    pub space: Option<&'static str>,
    pub count: u64,
    pub path: String,
}

/// Number, name, and whose number it is.
type Kind = (i32, Option<&'static str>, Option<&'static str>);

/// The kinds of errors of one worker.
#[derive(Debug)]
pub struct Failures(pub Vec<Failure>);

impl Failures {
    /// None yet; with room for all that are told apart.
    pub fn new() -> Self {
        Self(Vec::with_capacity(MOST_KINDS))
    }

    /// Counts one.
    pub fn note(&mut self, slot: usize, errno: i32, what: Option<&'static str>, path: &str) {
        self.add(slot, (errno, what, None), path);
    }

    /// Counts an answer of a directory server that is not as it should be: its result code, and the name of the mistake.
    pub fn note_answer(&mut self, slot: usize, code: u32, what: &'static str, path: &str) {
        self.add(slot, (code as i32, Some(what), Some(LDAP)), path);
    }

    fn add(&mut self, slot: usize, kind: Kind, path: &str) {
        let (errno, what, space) = kind;
        let same =
            |one: &&mut Failure| one.slot == slot && (one.errno, one.what, one.space) == kind;
        if let Some(known) = self.0.iter_mut().find(same) {
            known.count += 1;
        } else if self.0.len() < MOST_KINDS {
            self.0.push(Failure {
                slot,
                errno,
                what,
                space,
                count: 1,
                path: path.to_owned(),
            });
        }
    }
}

/// Errors after which the next try cannot do better.
pub fn is_final(errno: i32) -> bool {
    matches!(
        errno,
        libc::ENOSPC
            | libc::EDQUOT
            | libc::EROFS
            | libc::EBADF
            | libc::EINVAL
            | libc::EFBIG
            | libc::ENODATA
            | libc::EACCES
            | libc::EPERM
            | libc::ENODEV
            | libc::ENXIO
            | libc::ESTALE
            | libc::ENOTCONN
    )
}
