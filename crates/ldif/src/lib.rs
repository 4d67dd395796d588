//! Populations of directories as LDIF, streamed.
//!
//! Each entry comes from the seed and its own number alone, so a smaller population is the beginning of a larger one.

#[rustfmt::skip]
mod names;
mod records;
mod suffix;
mod template;
mod text;

pub use records::{Attribute, Flaw, Record, Records};
pub use suffix::Suffix;
pub use template::Template;

use std::io::{self, Write};

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
        let above = self.suffix.tree(&mut chunk);
        for key in 0..self.entries {
            self.template
                .entry((&mut chunk, &mut value), self.seed, key, &self.suffix);
            if chunk.len() >= CHUNK {
                bytes += chunk.len() as u64;
                out.write_all(&chunk)?;
                chunk.clear();
            }
        }
        bytes += chunk.len() as u64;
        out.write_all(&chunk)?;
        out.flush()?;
        Ok(Written {
            entries: above + self.entries,
            bytes,
        })
    }
}
