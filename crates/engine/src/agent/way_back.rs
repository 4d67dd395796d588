//! The scripts that undo what was noted, in their order, each with a limit of time.

use super::command::{dying_with_us, search_path};
use super::request::Note;
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What goes first: a flush should not wait for a throttle.
const FIRST: &str = "throttle";
/// How long one script may take.
const LIMIT: Duration = Duration::from_secs(20);
/// What is busy now may be free a little later.
const ROUNDS: usize = 3;
const PAUSE: Duration = Duration::from_millis(300);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Runs the scripts: throttles first, then the latest first, again what failed; the numbers of those that worked.
pub fn undone(notes: &[Note]) -> Vec<u64> {
    let mut left = in_order(notes);
    let mut done = Vec::new();
    for round in 0..ROUNDS {
        if round > 0 && !left.is_empty() {
            std::thread::sleep(PAUSE);
        }
        left.retain(|note| {
            let works = works(&note.back);
            if works {
                done.push(note.n);
            }
            !works
        });
    }
    done
}

fn in_order(notes: &[Note]) -> Vec<&Note> {
    let mut order: Vec<&Note> = notes.iter().rev().collect();
    order.sort_by_key(|note| note.kind != FIRST);
    order
}

fn works(script: &str) -> bool {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", script])
        .env("LC_ALL", "C")
        .env("PATH", search_path(&BTreeMap::new()))
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let started = dying_with_us(&mut command).spawn();
    started.is_ok_and(|mut child| succeeds(&mut child))
}

fn succeeds(child: &mut Child) -> bool {
    let until = Instant::now() + LIMIT;
    while Instant::now() < until {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(LOOK_AGAIN),
            Ok(Some(status)) => return status.success(),
            Err(_) => return false,
        }
    }
    // SAFETY: the group is that of a child that has not been reaped.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
    let _ = child.wait();
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(n: u64, kind: &str, back: &str) -> Note {
        Note {
            n,
            kind: kind.to_owned(),
            details: BTreeMap::new(),
            back: back.to_owned(),
        }
    }

    #[test]
    fn throttles_go_first_then_the_latest() {
        let notes = [
            note(1, "mount", "true"),
            note(2, "throttle", "true"),
            note(3, "loop", "true"),
        ];
        assert_eq!(undone(&notes), [2, 3, 1]);
    }

    #[test]
    fn what_fails_is_tried_again_and_then_left() {
        let directory = std::env::temp_dir().join(format!("assay-way-back-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        let later = format!(
            "test -e {0} || {{ mkdir {0}; exit 1; }}",
            directory.display()
        );
        let notes = [note(1, "mount", &later), note(2, "loop", "exit 1")];
        assert_eq!(undone(&notes), [1]);
        let _ = std::fs::remove_dir(&directory);
    }
}
