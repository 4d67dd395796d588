//! Operations on a directory server (LDAP): a mix by weight, many connections, and answers that are held against what was asked.
//!
//! Connections are made, bound and proved to answer while the phase is armed. An answer that is wrong or refused is an error
//! under its own name, and never work.

use crate::block_data::{mix, mix_text};
use crate::folders::allow_open_files;
use crate::protocol::{Config, Fault};
use crate::work::{Armed, Worker};
use assay_ldap::template::{Node, Template};
use connection::Connection;
use dial::{Dialler, Own};
use keys::{Deal, Draw};
use mix::Mix;
use plan::Planned;
use settings::{Binds, Kind, Settings};
use worker::{ENDLESS, Loader};

mod address;
mod answers;
mod connection;
mod dial;
mod endings;
mod feed;
mod keys;
mod mix;
mod plan;
mod settings;
mod trust;
mod wire;
mod worker;

/// The time to the first entry of a search, and the bind before each operation.
const FIRST_ENTRY: &str = "first_entry";
const BIND: &str = "bind";

/// Connects, and looks whether the server answers.
pub fn arm(config: &Config) -> Result<Armed, Fault> {
    let settings: Settings = config.settings()?;
    let address = settings.check()?;
    allow_open_files();
    let slots = Slots::new(&settings)?;
    // Mistakes in texts are found before anything is sent.
    let dialler = Dialler::new(&settings, address)?;
    let bind = dialler.bind();
    let plans: Result<Vec<_>, Fault> = (0..settings.workers)
        .map(|worker| mixture(config, &settings, &slots, &bind, worker))
        .collect();
    let plans = plans?;
    let (mut wires, own) = dialler.connect()?;
    let mut workers: Vec<Box<dyn Worker>> = Vec::with_capacity(plans.len());
    for (place, mix) in plans.into_iter().enumerate() {
        let rest = wires.len() - settings.connections as usize;
        let connections = wires
            .drain(rest..)
            .map(|wire| Connection::new(wire, settings.depth as usize))
            .collect();
        let own = if place == 0 { own } else { Own::default() };
        workers.push(Box::new(Loader::new(connections, mix, own, &settings)?));
    }
    Ok(Armed {
        operations: slots.names,
        workers,
        duration_ns: settings.duration_ns,
        load: settings.load,
        beside: None,
    })
}

/// The operations of the result, and the places of each.
struct Slots {
    names: Vec<String>,
    /// Of each operation of the mix, and of its first entries.
    places: Vec<(usize, Option<usize>)>,
    bind: Option<usize>,
}

impl Slots {
    fn new(settings: &Settings) -> Result<Self, Fault> {
        let mut names: Vec<String> = Vec::new();
        let mut place = |name: String| {
            names.push(name);
            names.len() - 1
        };
        let mut places: Vec<(usize, Option<usize>)> = Vec::new();
        for (number, one) in settings.operations.iter().enumerate() {
            let mut former = settings.operations[..number].iter().zip(&places);
            let namesake = former.find(|(former, _)| former.name == one.name);
            let own = namesake.map(|(_, places)| *places);
            places.push(own.unwrap_or_else(|| {
                let slot = place(one.name.clone());
                let is_search = one.kind == Kind::Search;
                (slot, is_search.then(|| place(first_entry(&one.name))))
            }));
        }
        let bind = (settings.bind == Binds::Each).then(|| place(BIND.to_owned()));
        let mut sorted = names.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(twice) => Err(Fault::settings(format!(
                "found two operations {:?}; expected a name for each",
                twice[0]
            ))),
            None => Ok(Self {
                names,
                places,
                bind,
            }),
        }
    }
}

/// What the time to the first entry of a search is called.
fn first_entry(name: &str) -> String {
    if name == "search" {
        FIRST_ENTRY.to_owned()
    } else {
        format!("{name}_{FIRST_ENTRY}")
    }
}

/// The operations of one worker.
fn mixture(
    config: &Config,
    settings: &Settings,
    slots: &Slots,
    bind: &Node,
    worker: u64,
) -> Result<Mix, Fault> {
    let part = (
        settings.part * settings.workers + worker,
        settings.parts * settings.workers,
    );
    let seed = mix(config.seed ^ mix(part.0));
    let each = settings.operations.iter().enumerate();
    let planned: Result<_, Fault> = each
        .zip(&slots.places)
        .map(|((place, operation), places)| {
            let text = mix_text(&operation.name);
            let namesakes = settings.before(place);
            let own = text.wrapping_add(namesakes);
            let draw = Draw::new(
                operation.keys,
                part,
                mix(seed ^ own),
                mix(config.seed ^ text),
            );
            Planned::new(operation, *places, bind, draw)
        })
        .collect();
    let each = settings.operations.iter();
    let deal = each.map(|one| (one.name.as_str(), one.weight, one.share));
    Ok(Mix {
        planned: planned?,
        deal: Deal::new(deal, mix(!seed)),
        bind: slots.bind.map(|slot| (Template::new(bind, 1), slot)),
        left: settings.ops.unwrap_or(ENDLESS),
        next: None,
        unasked: 0,
        notices: 0,
        goes_on: true,
    })
}
