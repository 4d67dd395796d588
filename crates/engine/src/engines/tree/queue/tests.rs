use super::*;
use assay_clock::Clock;
use proptest::prelude::*;
use std::ffi::CString;

fn directory() -> Arc<Directory> {
    let flags = rustix::fs::OFlags::PATH;
    let descriptor = rustix::fs::open(".", flags, rustix::fs::Mode::empty()).expect("it is there");
    let node = Node::root(c"/x".to_owned());
    Arc::new(Directory { descriptor, node })
}

fn batch(directory: &Arc<Directory>, count: u64) -> Batch {
    let mut batch = Batch::new(Arc::clone(directory));
    for number in 0..count {
        let name = CString::new(format!("{number}")).expect("without zero bytes");
        batch.push(number, &name);
    }
    batch
}

fn recorder() -> Recorder {
    Recorder::new(Clock::gettime(), Arc::from([]), Arc::default())
}

fn of_file(count: u64, passes: u64, walkers: usize) -> Queue {
    let files = batch(&directory(), count);
    Queue::new(Root::File(Arc::new(files)), passes, walkers)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_file_is_given_out_once_a_pass(count in 1_u64..500, walkers in 1_usize..9, passes in 1_u64..4) {
        let queue = of_file(count, passes, walkers);
        let mut given = Vec::new();
        let mut former = None;
        while let Some(Work::Files(chunk)) = queue.take(&recorder(), former) {
            prop_assert!(chunk.entries.len() <= MOST_FILES);
            let entries = &chunk.batch.entries[chunk.entries.clone()];
            given.extend(entries.iter().map(|entry| chunk.batch.name(*entry).to_owned()));
            former = Some(true);
        }
        prop_assert_eq!(given.len() as u64, count * passes);
        given.sort_unstable();
        given.dedup();
        prop_assert_eq!(given.len() as u64, count);
    }
}

#[test]
fn a_file_that_is_another_clients_is_not_given_out() {
    assert!(of_file(0, 5, 2).take(&recorder(), None).is_none());
}

#[test]
fn walkers_share_the_end_of_a_directory() {
    let queue = of_file(100, 1, 4);
    let mut sizes = Vec::new();
    let mut former = None;
    while let Some(Work::Files(chunk)) = queue.take(&recorder(), former) {
        sizes.push(chunk.entries.len());
        former = Some(true);
    }
    assert_eq!(sizes[0], 12);
    assert_eq!(sizes.last(), Some(&1));
}

#[test]
fn files_go_before_directories_and_the_rest_of_a_directory_goes_last() {
    let (here, other) = (directory(), directory());
    let start = Pending::More {
        directory: Arc::clone(&other),
        spent: 0,
    };
    let queue = Queue::new(Root::Directory(start), 1, 1);
    let Some(Work::Directory(_)) = queue.take(&recorder(), None) else {
        panic!("the root comes first");
    };
    let below = ["a", "b"].map(|name| (0, here.node.below(&CString::new(name).expect("no zero"))));
    let found = Found {
        files: batch(&here, 1),
        below: below.to_vec(),
    };
    queue.give(
        found,
        Some(Pending::More {
            directory: here,
            spent: 7,
        }),
    );
    let mut order = Vec::new();
    let mut former = Some(false);
    while let Some(work) = queue.take(&recorder(), former) {
        order.push(match work {
            Work::Files(_) => "file".to_owned(),
            Work::Directory(Pending::New { node, .. }) => node.path(None),
            Work::Directory(Pending::More { spent, .. }) => format!("rest after {spent}"),
        });
        former = Some(false);
    }
    assert_eq!(order, ["file", "/x/a", "/x/b", "rest after 7"]);
}

#[test]
fn a_pass_without_a_file_is_the_last() {
    let queue = of_file(1, u64::MAX, 1);
    assert!(queue.take(&recorder(), None).is_some());
    assert!(queue.take(&recorder(), Some(true)).is_some());
    assert!(queue.take(&recorder(), Some(false)).is_none());
}

#[test]
fn who_waits_goes_on_with_what_another_finds_and_leaves_at_the_end() {
    let here = directory();
    let start = Pending::More {
        directory: Arc::clone(&here),
        spent: 0,
    };
    let queue = Arc::new(Queue::new(Root::Directory(start), 1, 2));
    assert!(queue.take(&recorder(), None).is_some());
    let other = Arc::clone(&queue);
    let waiting = std::thread::spawn(move || {
        let first = other.take(&recorder(), None).is_some();
        (first, other.take(&recorder(), Some(true)).is_none())
    });
    let found = Found {
        files: batch(&here, 1),
        below: Vec::new(),
    };
    queue.give(found, None);
    queue.leave(Some(false));
    assert_eq!(waiting.join().expect("it did not panic"), (true, true));
}

#[test]
fn the_end_comes_to_those_who_wait() {
    let queue = Arc::new(of_file(1, 1, 2));
    assert!(queue.take(&recorder(), None).is_some());
    let other = Arc::clone(&queue);
    let waiting = std::thread::spawn(move || other.take(&recorder(), None).is_none());
    queue.end();
    assert!(waiting.join().expect("it did not panic"));
}

/// Takes work until there is none, or it has had its share: files count, a directory of level n has three of level n - 1.
fn walk(queue: &Queue, here: &Arc<Directory>, mut share: u64) -> u64 {
    let (recorder, mut former, mut files) = (recorder(), None, 0);
    while let Some(work) = queue.take(&recorder, former) {
        let read = match work {
            Work::Files(chunk) => chunk.entries.len() as u64,
            Work::Directory(pending) => {
                let level = match pending {
                    Pending::More { .. } => 4,
                    Pending::New { node, .. } => node.name().to_bytes().len() - 1,
                };
                let name = CString::new("d".repeat(level)).expect("without zero bytes");
                let below = (0..if level > 0 { 3 } else { 0 }).map(|_| (0, here.node.below(&name)));
                let found = Found {
                    files: batch(here, 7),
                    below: below.collect(),
                };
                queue.give(found, None);
                0
            }
        };
        files += read;
        former = Some(read > 0);
        share = share.saturating_sub(read);
        if share == 0 {
            queue.leave(former);
            break;
        }
    }
    files
}

#[test]
fn no_walker_is_left_waiting_however_others_end() {
    let here = directory();
    for round in 0..300 {
        let start = Pending::More {
            directory: Arc::clone(&here),
            spent: 0,
        };
        let queue = Queue::new(Root::Directory(start), 3, 5);
        let share = |walker: u64| {
            if walker & 1 == 0 {
                u64::MAX
            } else {
                1 + (round * walker) % 900
            }
        };
        let files: u64 = std::thread::scope(|scope| {
            let walkers = (0..5).map(|walker| {
                scope.spawn({
                    let (queue, here) = (&queue, &here);
                    move || walk(queue, here, share(walker))
                })
            });
            let walkers: Vec<_> = walkers.collect();
            walkers
                .into_iter()
                .map(|one| one.join().expect("it did not panic"))
                .sum()
        });
        assert_eq!(files, 3 * 7 * (1 + 3 + 9 + 27 + 81), "round {round}");
    }
}
