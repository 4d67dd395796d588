//! Frames that found no room in a network device, by the interface's own counts.

use std::path::{Path, PathBuf};

/// Files with such counts.
const MISSED: [&str; 2] = ["rx_missed_errors", "rx_fifo_errors"];

/// Frames that an interface lost before anybody could read them.
#[derive(Default)]
pub struct Missed {
    files: Vec<PathBuf>,
    counted: u64,
}

impl Missed {
    /// Counts of an interface from now on; none where it gives none.
    pub fn of(interface: &str) -> Self {
        let folder = Path::new("/sys/class/net")
            .join(interface)
            .join("statistics");
        Self::in_files(MISSED.map(|name| folder.join(name)).into())
    }

    fn in_files(files: Vec<PathBuf>) -> Self {
        let mut made = Self { files, counted: 0 };
        made.more();
        made
    }

    /// Those since the last call.
    pub fn more(&mut self) -> u64 {
        let count = |file: &PathBuf| -> Option<u64> {
            std::fs::read_to_string(file).ok()?.trim().parse().ok()
        };
        let now: u64 = self.files.iter().filter_map(count).sum();
        let before = std::mem::replace(&mut self.counted, now);
        now.saturating_sub(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_interface_missed_is_counted_once() {
        let folder = std::env::temp_dir().join(format!("assay-missed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let files: Vec<PathBuf> = MISSED.map(|name| folder.join(name)).into();
        let write = |counts: [u64; 2]| {
            for (file, count) in files.iter().zip(counts) {
                std::fs::write(file, format!("{count}\n")).unwrap();
            }
        };
        write([7, 2]);
        let mut missed = Missed::in_files(files.clone());
        assert_eq!(missed.more(), 0);
        write([10, 4]);
        assert_eq!((missed.more(), missed.more()), (5, 0));
        write([0, 0]); // the driver was loaded again
        assert_eq!(missed.more(), 0);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(Missed::of("nowhere9").more(), 0);
    }
}
