//! Populations of directories as LDIF, streamed.
//!
//! Each entry comes from the seed and its own number alone, so a smaller population is the beginning of a larger one.

#[rustfmt::skip]
mod names;
mod records;
mod suffix;
mod template;
mod text;
mod words;

pub use records::{Attribute, Flaw, Record, Records};
pub use suffix::Suffix;
pub use template::Template;

use std::io::{self, Write};
use words::Words;

/// Bytes that are gathered before they are written.
const CHUNK: usize = 1 << 18;
/// Room for the longest value.
const LONGEST: usize = 256;

/// What a directory holds: a suffix, its organisational units, and entries of one template.
#[derive(Debug, Clone)]
pub struct Population {
    /// What the entries look like.
    pub template: Template,
    /// How many entries besides the suffix and its units.
    pub entries: u64,
    /// Decides every value.
    pub seed: u64,
    /// Where they lie.
    pub suffix: Suffix,
    /// Entries that a load renames or deletes, right below the suffix.
    pub own: Vec<Own>,
}

/// Entries whose names are a letter and a key from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Own {
    /// How their names begin.
    pub letter: char,
    /// How many there are.
    pub entries: u64,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Entries, those of the tree above the template's included.
    pub entries: u64,
    /// Bytes of LDIF.
    pub bytes: u64,
}

impl Population {
    /// Writes the whole population; the memory that it takes is the same for every size.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<Written> {
        let mut chunk = Vec::with_capacity(CHUNK + (CHUNK >> 3));
        let mut value = Vec::with_capacity(LONGEST);
        let mut bytes = 0;
        let mut entries = self.suffix.tree(&mut chunk);
        let words = Words::of(&self.suffix);
        for key in 0..self.entries {
            self.template
                .entry((&mut chunk, &mut value), self.seed, key, &words);
            bytes += written(out, &mut chunk, CHUNK)?;
        }
        entries += self.entries;
        for own in &self.own {
            for key in 0..own.entries {
                words.own_entry(&mut chunk, own.letter, key);
                bytes += written(out, &mut chunk, CHUNK)?;
            }
            entries += own.entries;
        }
        bytes += written(out, &mut chunk, 0)?;
        out.flush()?;
        Ok(Written { entries, bytes })
    }
}

/// Writes what is gathered, if that is enough; how many bytes it wrote.
fn written(out: &mut impl Write, chunk: &mut Vec<u8>, enough: usize) -> io::Result<u64> {
    if chunk.len() < enough {
        return Ok(0);
    }
    out.write_all(chunk)?;
    let bytes = chunk.len() as u64;
    chunk.clear();
    Ok(bytes)
}
