//! Where a directory is in the tree: its name and the one above, for paths that are told and for shares of several clients.

use crate::block_data::mix;
use std::ffi::{CStr, CString};
use std::sync::Arc;

/// Bytes of a path that are told; of a longer one its end.
const MOST_TOLD: usize = 4096;

/// A directory by name. Descriptors are apart from it, so that a long way up costs none.
pub struct Node {
    above: Option<Arc<Self>>,
    name: CString,
    hash: u64,
}

impl Node {
    /// The root of the tree, by its path; empty for the place that a root which is a file lies in.
    pub fn root(path: CString) -> Arc<Self> {
        Arc::new(Self {
            above: None,
            name: path,
            hash: 0,
        })
    }

    /// A directory in this one.
    pub fn below(self: &Arc<Self>, name: &CStr) -> Arc<Self> {
        Arc::new(Self {
            above: Some(Arc::clone(self)),
            name: name.to_owned(),
            hash: self.hash_of(name),
        })
    }

    /// The name, for a system call; the whole path of a root.
    pub fn name(&self) -> &CStr {
        &self.name
    }

    /// A number that this entry has in every process that reads the tree (FNV-1a over its path below the root).
    pub fn hash_of(&self, name: &CStr) -> u64 {
        let bytes = name.to_bytes().iter();
        mix(bytes.fold(self.hash ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    /// The path of this directory, or of an entry in it, for people.
    pub fn path(&self, entry: Option<&CStr>) -> String {
        let mut names: Vec<&[u8]> = entry.map(CStr::to_bytes).into_iter().collect();
        let mut told: usize = names.iter().map(|name| name.len() + 1).sum();
        let mut here = Some(self);
        while let Some(node) = here.filter(|_| told < MOST_TOLD) {
            let name = node.name.to_bytes();
            names.push(name);
            told += name.len() + 1;
            here = node.above.as_deref();
        }
        names.retain(|name| !name.is_empty());
        names.reverse();
        let path = names.join(&b"/"[..]);
        let end = &path[path.len().saturating_sub(MOST_TOLD)..];
        let text = String::from_utf8_lossy(end);
        let text = text
            .strip_prefix("//")
            .map_or_else(|| text.to_string(), |rest| format!("/{rest}"));
        if here.is_some() {
            format!("...{text}")
        } else {
            text
        }
    }
}

impl Drop for Node {
    /// Without recursion: a tree may be deeper than the stack.
    fn drop(&mut self) {
        let mut next = self.above.take();
        while let Some(node) = next {
            next = Arc::into_inner(node).and_then(|mut node| node.above.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_put_together_from_names() {
        let root = Node::root(c"/x".to_owned());
        let inner = root.below(c"a").below(c"b\xff");
        assert_eq!(inner.path(None), "/x/a/b\u{fffd}");
        assert_eq!(inner.path(Some(c"f")), "/x/a/b\u{fffd}/f");
        assert_eq!(Node::root(c"/".to_owned()).path(Some(c"f")), "/f");
        assert_eq!(Node::root(c"".to_owned()).path(Some(c"/x/f")), "/x/f");
    }

    #[test]
    fn the_share_of_an_entry_follows_from_its_path_below_the_root_alone() {
        let here = Node::root(c"/x".to_owned()).below(c"a");
        let there = Node::root(c"/elsewhere".to_owned()).below(c"a");
        assert_eq!(here.hash_of(c"f"), there.hash_of(c"f"));
        assert_ne!(here.hash_of(c"f"), here.hash_of(c"g"));
        assert_ne!(here.hash_of(c"f"), here.below(c"b").hash_of(c"f"));
    }

    #[test]
    fn a_very_deep_tree_needs_no_stack() {
        let mut node = Node::root(c"/x".to_owned());
        for _ in 0..1_000_000 {
            node = node.below(c"d");
        }
        let told = node.path(Some(c"f"));
        assert!(told.starts_with("...") && told.ends_with("/d/f"));
        assert!(told.len() < MOST_TOLD + 300);
        drop(node);
    }
}
