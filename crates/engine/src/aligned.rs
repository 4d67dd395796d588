//! A buffer that direct I/O accepts.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};

/// A page: no device asks for more in memory.
const ALIGNMENT: usize = 4096;

/// Bytes that start on a page.
pub struct Aligned {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: the memory belongs to this value alone.
unsafe impl Send for Aligned {}

impl Aligned {
    /// So many zero bytes (at least one); None where there is no such layout.
    pub fn new(length: usize) -> Option<Self> {
        let layout = Layout::from_size_align(length.max(1), ALIGNMENT).ok()?;
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Some(Self { start, layout })
    }
}

impl Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: start points to so many initialised bytes of ours.
        unsafe { std::slice::from_raw_parts(self.start, self.layout.size()) }
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.layout.size()) }
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout and not freed before.
        unsafe { dealloc(self.start, self.layout) };
    }
}
