//! Bytes, transactions and datagrams between two ends that are both ours.
//!
//! A server is armed first and answers with its address; a load connects to it while it is armed, so that the phase's time has
//! no connection set-up in it. Each connection begins with the token of the trial.

use crate::beside::Beside;
use crate::block_data::mix;
use crate::folders::allow_open_files;
use crate::load::Load;
use crate::protocol::{Config, Fault};
use crate::work::{Armed, Worker};
use flow::Kind;
use hall::Hall;
use many::Many;
use settings::{Exchange, Role, Settings};
use std::sync::Arc;

mod account;
mod connection;
mod datagram;
mod dial;
mod flow;
mod hall;
mod hello;
pub mod kernel;
mod many;
mod sequence;
mod server;
mod settings;
mod socket;
mod stream;
mod subflows;
mod transaction;
mod work;
mod zerocopy;

/// Opens the server, or connects to it.
pub fn arm(config: &Config) -> Result<Armed, Fault> {
    let settings: Settings = config.settings()?;
    settings.check()?;
    allow_open_files();
    let (beside, hall): (Arc<dyn Beside>, Arc<Hall>) = match settings.role {
        Role::Server => {
            let (server, hall) = server::Server::open(&settings)?;
            (Arc::new(server), hall)
        }
        Role::Load => {
            let (dialled, hall) = dial::dial(config.client, &settings)?;
            (Arc::new(dialled), hall)
        }
    };
    let seed = mix(config.seed ^ mix(config.client << 1 | u64::from(settings.role == Role::Load)));
    Ok(Armed {
        operations: settings.names(),
        workers: workers(&hall, seed),
        duration_ns: settings.duration_ns.filter(|_| settings.leads()),
        load: if settings.leads() {
            settings.load
        } else {
            Load::default()
        },
        beside: Some(beside),
    })
}

/// What this end does with its connections, and the operation's place in the result.
fn kinds(settings: &Settings) -> Vec<(Kind, usize)> {
    match (settings.exchange, settings.role) {
        (Exchange::Transaction, Role::Load) => vec![(Kind::Ask, 0)],
        (Exchange::Transaction, Role::Server) => vec![(Kind::Answer, 0)],
        _ if settings.sends() && settings.receives() => vec![(Kind::Send, 0), (Kind::Receive, 1)],
        _ if settings.sends() => vec![(Kind::Send, 0)],
        _ => vec![(Kind::Receive, 0)],
    }
}

/// A thread for each direction of each connection, or fewer that share them.
fn workers(hall: &Arc<Hall>, seed: u64) -> Vec<Box<dyn Worker>> {
    let settings = &hall.settings;
    let (connections, workers) = (settings.connections as usize, settings.workers() as usize);
    let mut made: Vec<Box<dyn Worker>> = Vec::new();
    for first in 0..workers {
        for (kind, slot) in kinds(settings) {
            let seed = mix(seed ^ first as u64);
            made.push(if workers == connections {
                alone(hall, kind, (first, slot), seed)
            } else {
                Box::new(Many {
                    hall: Arc::clone(hall),
                    places: (first..connections).step_by(workers).collect(),
                    kind,
                    slot,
                    seed,
                    work: None,
                })
            });
        }
    }
    made
}

/// The worker of one direction of one connection.
fn alone(hall: &Arc<Hall>, kind: Kind, at: (usize, usize), seed: u64) -> Box<dyn Worker> {
    let hall = Arc::clone(hall);
    let (place, slot) = at;
    match kind {
        Kind::Ask => Box::new(transaction::Asker::new(hall, place, seed)),
        Kind::Answer => Box::new(transaction::Answerer::new(hall, place, seed)),
        Kind::Send | Kind::Receive if hall.settings.exchange == Exchange::Datagram => {
            datagram::worker(hall, kind, (place, slot), seed)
        }
        Kind::Send => Box::new(stream::Sender::new(hall, (place, slot), seed)),
        Kind::Receive => Box::new(stream::Receiver::new(hall, (place, slot))),
    }
}
