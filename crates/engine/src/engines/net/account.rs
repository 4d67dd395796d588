//! All connections of one end: looked at over time, interrupted, told of in the result.

use super::connection::Connection;
use super::hello::Refusal;
use super::kernel::{self, Info, Together};
use super::settings::{Exchange, Role, Settings};
use crate::checkpoints::Thinned;
use crate::net_result::{DatagramResult, Intervals, NetResult, ZerocopyResult};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most connections that a result lists one by one.
const MOST_LISTED: usize = 64;

/// What one end knows of its connections.
pub struct Account {
    role: Role,
    is_datagram: bool,
    settings: Settings,
    address: String,
    state: Mutex<State>,
    unfinished: AtomicU64,
}

struct State {
    connections: Vec<Arc<Connection>>,
    rows: Thinned<Vec<Option<u64>>>,
    looked_ns: Option<u64>,
    /// The most that all connections together moved from one look to the next.
    most: u64,
    accepted: u64,
    refused: BTreeMap<&'static str, u64>,
}

impl Account {
    /// Nobody is connected yet.
    pub fn new(settings: &Settings, address: String) -> Self {
        Self {
            role: settings.role,
            is_datagram: settings.exchange == Exchange::Datagram,
            settings: settings.clone(),
            address,
            state: Mutex::new(State {
                connections: Vec::new(),
                rows: Thinned::new(),
                looked_ns: None,
                most: 0,
                accepted: 0,
                refused: BTreeMap::new(),
            }),
            unfinished: AtomicU64::new(0),
        }
    }

    /// Where the server is.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Takes one more.
    pub fn add(&self, connection: &Arc<Connection>) {
        let mut state = self.state();
        state.accepted += 1;
        state.connections.push(Arc::clone(connection));
    }

    /// Counts one that is not served.
    pub fn refuse(&self, refusal: Refusal) {
        *self.state().refused.entry(refusal.word()).or_default() += 1;
    }

    /// Counts an operation that was broken off at the end.
    pub fn leave_unfinished(&self) {
        self.unfinished.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends what workers wait for.
    pub fn interrupt(&self) {
        self.state()
            .connections
            .iter()
            .for_each(|one| one.interrupt());
    }

    /// Notes one row.
    pub fn look(&self, at_ns: u64) {
        let mut state = self.state();
        state.connections.iter().for_each(|one| one.look());
        if !self.is_datagram {
            state.pace(at_ns);
        }
        let row = if self.is_datagram {
            datagram_row(at_ns, &state.connections)
        } else {
            stream_row(at_ns, &state.connections)
        };
        state.rows.push(at_ns, row);
    }

    /// The result's own section; the connections are closed afterwards.
    pub fn close(&self) -> NetResult {
        let mut state = self.state();
        let connections = std::mem::take(&mut state.connections);
        let rows = std::mem::replace(&mut state.rows, Thinned::new());
        let listed = connections.len().min(MOST_LISTED);
        NetResult {
            role: self.role.word(),
            exchange: self.settings.exchange.word(),
            direction: self.settings.direction.word(),
            address: self.address.clone(),
            accepted: state.accepted,
            refused: std::mem::take(&mut state.refused),
            unfinished: self.unfinished.load(Ordering::Relaxed),
            connections: connections[..listed]
                .iter()
                .map(|one| one.result())
                .collect(),
            unlisted: (connections.len() - listed) as u64,
            intervals: Intervals {
                columns: self.columns(),
                rows: rows.into_points().into_iter().map(|(_, row)| row).collect(),
            },
            zerocopy: connections
                .iter()
                .filter_map(|one| one.zerocopy())
                .reduce(ZerocopyResult::and),
            datagrams: connections
                .iter()
                .filter_map(|one| one.datagrams())
                .reduce(DatagramResult::and),
        }
    }

    fn columns(&self) -> Vec<&'static str> {
        let followed = kernel::TCP
            .iter()
            .filter(|field| field.together != Together::Apart)
            .map(|field| field.name);
        let names: Vec<&'static str> = if self.is_datagram {
            vec!["buffer_drops"]
        } else {
            followed.collect()
        };
        ["at_ns", "connections"].into_iter().chain(names).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Says to each connection whether it moved less than half of the mean since the former look. A look at the end, when most have
    /// ended, tells nothing.
    fn pace(&mut self, at_ns: u64) {
        let since_ns = self.looked_ns.replace(at_ns);
        let listed = &self.connections[..self.connections.len().min(MOST_LISTED)];
        let rises: Vec<u64> = listed.iter().filter_map(|one| one.rise()).collect();
        let Some(since_ns) = since_ns.filter(|_| rises.len() == listed.len()) else {
            return;
        };
        let sum: u64 = rises.iter().sum();
        self.most = self.most.max(sum);
        if sum == 0 || sum < self.most / 4 {
            return;
        }
        for (connection, rise) in listed.iter().zip(&rises) {
            connection.note_pace(2 * rise * (rises.len() as u64) < sum, since_ns);
        }
    }
}

fn datagram_row(at_ns: u64, connections: &[Arc<Connection>]) -> Vec<Option<u64>> {
    let drops = connections
        .iter()
        .map(|one| kernel::buffer_drops(&one.socket))
        .sum();
    vec![Some(at_ns), Some(connections.len() as u64), drops]
}

fn stream_row(at_ns: u64, connections: &[Arc<Connection>]) -> Vec<Option<u64>> {
    let infos: Vec<Info> = connections
        .iter()
        .filter_map(|one| Info::of_tcp(&one.socket))
        .collect();
    let together = |field: &kernel::Field| {
        let mut values = infos.iter().map(|info| info.value(field));
        match field.together {
            Together::Apart => None,
            Together::Least => Some(values.flatten().min()),
            Together::Sum => Some(values.sum()),
            Together::Mean => {
                let sum: Option<u64> = values.by_ref().sum();
                Some(sum.and_then(|sum| sum.checked_div(infos.len() as u64)))
            }
        }
    };
    let known = kernel::TCP.iter().filter_map(together);
    [Some(at_ns), Some(infos.len() as u64)]
        .into_iter()
        .chain(known)
        .collect()
}
