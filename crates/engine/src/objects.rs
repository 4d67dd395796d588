//! One object in a directory: its name and what is done to it.

use crate::transfer::write_all;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, RawDir};
use serde::Deserialize;
use std::ffi::CStr;
use std::mem::MaybeUninit;

/// What is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Object {
    File,
    Directory,
}

/// What the C library reads at once.
pub const LIST_BUFFER: usize = 32 * 1024;

/// `o00000000` and the zero that ends it; the next name is found by counting in the digits.
#[derive(Clone, Copy)]
pub struct Name([u8; Self::LENGTH]);

impl Name {
    /// Bytes of a name with its zero.
    pub const LENGTH: usize = 10;

    /// The name of the object of this number, with this letter before it.
    pub fn new(first: u64, letter: u8) -> Self {
        let mut text = *b"o00000000\0";
        let mut rest = first;
        for digit in text[1..9].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        Self(text).with(letter)
    }

    /// The name of the same number with another letter.
    #[inline]
    pub fn with(mut self, letter: u8) -> Self {
        self.begin(letter);
        self
    }

    /// Takes another letter.
    #[inline]
    pub fn begin(&mut self, letter: u8) {
        self.0[0] = letter;
    }

    /// Goes on to the next.
    #[inline]
    pub fn advance(&mut self) {
        for digit in self.0[1..9].iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
    }

    /// The name, for a system call.
    #[inline]
    pub fn text(&self) -> &CStr {
        // SAFETY: nine bytes that are not zero, then one that is.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.0) }
    }
}

/// Creates a file that must not be there yet, and writes its content.
#[inline]
pub fn create_file(parent: &OwnedFd, name: &CStr, content: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(parent, name, flags, Mode::from_raw_mode(0o644))?;
    if !content.is_empty() {
        write_all(&file, content, 0)?;
    }
    Ok(file)
}

/// Creates a directory; opens it where it is to be flushed.
#[inline]
pub fn create_directory(
    parent: &OwnedFd,
    name: &CStr,
    open: bool,
) -> rustix::io::Result<Option<OwnedFd>> {
    rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o755))?;
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    open.then(|| rustix::fs::openat(parent, name, flags, Mode::empty()))
        .transpose()
}

/// Looks at an object.
#[inline]
pub fn look_up(parent: &OwnedFd, name: &CStr) -> rustix::io::Result<usize> {
    rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).map(|_| 0)
}

/// Opens an object for reading and closes it.
#[inline]
pub fn open_and_close(parent: &OwnedFd, name: &CStr) -> rustix::io::Result<usize> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty()).map(|_| 0)
}

/// Removes an object.
#[inline]
pub fn remove(parent: &OwnedFd, name: &CStr, object: Object) -> rustix::io::Result<usize> {
    let flags = match object {
        Object::File => AtFlags::empty(),
        Object::Directory => AtFlags::REMOVEDIR,
    };
    rustix::fs::unlinkat(parent, name, flags).map(|()| 0)
}

/// Reads the whole directory from a fresh open, as `ls` would, or with the attributes of each entry, as `ls -l` would; gives how
/// many names begin with this letter.
pub fn list(
    parent: &OwnedFd,
    buffer: &mut [MaybeUninit<u8>],
    letter: u8,
    attributes: bool,
) -> rustix::io::Result<u64> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(parent, c".", flags, Mode::empty())?;
    let mut entries = RawDir::new(&directory, buffer);
    let mut seen = 0;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        seen += u64::from(name.to_bytes().starts_with(&[letter]));
        if attributes {
            rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_in_their_digits() {
        let mut name = Name::new(98, b'o');
        assert_eq!(name.text(), c"o00000098");
        name.advance();
        name.advance();
        assert_eq!(name.text(), c"o00000100");
        let mut last = Name::new(9_999_999, b'o');
        last.advance();
        assert_eq!(last.text(), c"o10000000");
    }
}
