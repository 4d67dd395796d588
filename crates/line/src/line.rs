//! The links with their threads, and what is asked of them while they work.

use crate::counts::Counts;
use crate::direction::{Direction, NO_RATE, Setup, Switch};
use crate::protocol::{Config, End, Interface, Link, LinkCounts, Reply, Request, Way, mistakes};
use crate::tun::{self, Made};
use assay_clock::monotonic_ns;
use std::collections::BTreeMap;
use std::io::Result;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const ENDS: [&str; 2] = ["load", "server"];
/// Of `SCHED_FIFO`; above ordinary processes, below what matters to the kernel.
const PRIORITY: i32 = 2;
const FIRST_LOOK: Duration = Duration::from_millis(20);

struct Joined {
    switch: Arc<Switch>,
    rates: [Arc<AtomicU64>; 2],
    counts: [Arc<Counts>; 2],
    interface: String,
}

/// The line at work.
pub struct Line {
    links: BTreeMap<String, Joined>,
    ends: [Made; 2],
    names: Vec<String>,
    realtime: Arc<AtomicBool>,
}

impl Line {
    /// Makes all that the configuration asks for, and begins. The answer is an error in words for the user.
    pub fn begin(config: &Config) -> std::result::Result<Self, Reply> {
        let wrong = mistakes(config);
        if !wrong.is_empty() {
            return Err(fault("config", wrong.join("; ")));
        }
        let ends = make_ends(config).map_err(|error| fault("namespace", error.to_string()))?;
        let realtime = Arc::new(AtomicBool::new(true));
        let mut line = Self {
            links: BTreeMap::new(),
            ends: [ends.0, ends.1],
            names: config.links.iter().map(|link| link.name.clone()).collect(),
            realtime,
        };
        line.join(config)
            .map_err(|error| fault("thread", error.to_string()))?;
        std::thread::sleep(FIRST_LOOK); // every thread has entered its namespace
        Ok(line)
    }

    fn join(&mut self, config: &Config) -> Result<()> {
        let taken: Vec<Vec<Arc<OwnedFd>>> = self
            .ends
            .iter_mut()
            .map(|end| end.devices.drain(..).map(Arc::new).collect())
            .collect();
        for (index, link) in config.links.iter().enumerate() {
            let devices = [Arc::clone(&taken[0][index]), Arc::clone(&taken[1][index])];
            let joined = self.start(index, link, &devices, config.seed)?;
            self.links.insert(link.name.clone(), joined);
        }
        Ok(())
    }

    /// Two threads for a link, each in the namespace from which it reads.
    fn start(
        &self,
        index: usize,
        link: &Link,
        devices: &[Arc<OwnedFd>; 2],
        seed: u64,
    ) -> Result<Joined> {
        let switch = Arc::new(Switch::default());
        let counts = [Arc::new(Counts::default()), Arc::new(Counts::default())];
        let rates = [&link.up, &link.down]
            .map(|way: &Way| Arc::new(AtomicU64::new(way.rate_bytes_per_s.unwrap_or(NO_RATE))));
        for (from, way) in [(0, &link.up), (1, &link.down)] {
            let setup = Setup {
                input: Arc::clone(&devices[from]),
                output: Arc::clone(&devices[1 - from]),
                way: way.clone(),
                seed: seed
                    .wrapping_add((2 * index + from) as u64)
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15),
                switch: Arc::clone(&switch),
                rate: Arc::clone(&rates[from]),
                counts: Arc::clone(&counts[from]),
            };
            let (namespace, realtime) = (
                self.ends[from].namespace.try_clone()?,
                Arc::clone(&self.realtime),
            );
            let task = Arc::clone(&counts[from]);
            std::thread::Builder::new()
                .name(format!("{}.{}", link.name, ["up", "down"][from]))
                .spawn(move || {
                    if tun::enter(&namespace).is_err() || !set_realtime() {
                        realtime.store(false, Ordering::Relaxed);
                    }
                    // SAFETY: asks for a number.
                    task.task
                        .store(unsafe { libc::gettid() }, Ordering::Relaxed);
                    Direction::new(setup).run()
                })?;
        }
        Ok(Joined {
            switch,
            rates,
            counts,
            interface: tun::interface(index),
        })
    }

    /// What the other side needs to use the line.
    pub fn ready(&self) -> Reply {
        let pid = std::process::id();
        let ends = ENDS.iter().enumerate().map(|(number, name)| {
            let interfaces = self.names.iter().enumerate().map(|(link, name)| {
                let address = Ipv4Addr::from(tun::address(link, number)).to_string();
                (
                    name.clone(),
                    Interface {
                        name: tun::interface(link),
                        address,
                    },
                )
            });
            let namespace = format!("/proc/{pid}/fd/{}", self.ends[number].namespace.as_raw_fd());
            (
                *name,
                End {
                    namespace,
                    interfaces: interfaces.collect(),
                },
            )
        });
        Reply::Ready {
            pid,
            mono_ns: monotonic_ns(),
            ends: ends.collect(),
            realtime: self.realtime.load(Ordering::Relaxed),
        }
    }

    /// Answers one request.
    pub fn answer(&self, request: Request) -> Reply {
        match request {
            Request::Config(_) => fault("config", "the line is configured already".to_owned()),
            Request::Count {} | Request::End {} => self.counts(),
            Request::Cut { link } => self.change(link, "cut", |joined| {
                joined.switch.cut.store(true, Ordering::Relaxed);
            }),
            Request::Mend { link } => self.change(link, "mend", |joined| {
                joined.switch.cut.store(false, Ordering::Relaxed);
            }),
            Request::Rate {
                link,
                up_bytes_per_s: up,
                down_bytes_per_s: down,
            } => {
                if up == Some(0) || down == Some(0) {
                    return fault("rate", format!("rate 0 for link {link}; cut it"));
                }
                self.change(link, "rate", |joined| {
                    for (rate, wanted) in joined.rates.iter().zip([up, down]) {
                        rate.store(wanted.unwrap_or(NO_RATE), Ordering::Relaxed);
                    }
                })
            }
        }
    }

    fn change(&self, link: String, what: &'static str, apply: impl Fn(&Joined)) -> Reply {
        let Some(joined) = self.links.get(&link) else {
            return fault(
                "link",
                format!("no link {link}; there are {}", self.names.join(", ")),
            );
        };
        apply(joined);
        Reply::Done {
            what,
            link,
            mono_ns: monotonic_ns(),
        }
    }

    fn counts(&self) -> Reply {
        let links = self.links.iter().map(|(name, joined)| {
            let [up, down] = &joined.counts;
            let found = LinkCounts {
                cut: joined.switch.cut.load(Ordering::Relaxed),
                up: up.named(&joined.interface),
                down: down.named(&joined.interface),
            };
            (name.clone(), found)
        });
        Reply::Counts {
            mono_ns: monotonic_ns(),
            links: links.collect(),
        }
    }
}

fn make_ends(config: &Config) -> Result<(Made, Made)> {
    let number = config.links.len();
    Ok((
        tun::make_end(number, 0, config.offload)?,
        tun::make_end(number, 1, config.offload)?,
    ))
}

fn fault(what: &'static str, message: String) -> Reply {
    Reply::Error { what, message }
}

/// The real-time class for the calling thread: a packet that is due does not wait behind the load.
fn set_realtime() -> bool {
    let wanted = libc::sched_param {
        sched_priority: PRIORITY,
    };
    // SAFETY: 0 is the calling thread, and the structure is of this frame.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const wanted) == 0 }
}
