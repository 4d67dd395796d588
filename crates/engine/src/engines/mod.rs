//! The engines: one file each, one line each in `ENGINES`.

use crate::fault::Fault;
use crate::work::Arm;

mod bulk;
mod coherence;
mod command;
mod drill;
mod ldap;
mod metadata;
pub mod net;
mod null;
mod tree;

/// Every engine by name, in order.
const ENGINES: &[(&str, Arm)] = &[
    ("bulk", bulk::arm),
    ("coherence", coherence::arm),
    ("command", command::arm),
    ("drill", drill::arm),
    ("ldap", ldap::arm),
    ("metadata", metadata::arm),
    ("net", net::arm),
    ("null", null::arm),
    ("transfer", command::arm_errands),
    ("tree", tree::arm),
];

/// The names of all engines.
pub fn names() -> Vec<&'static str> {
    ENGINES.iter().map(|(name, _)| *name).collect()
}

/// The engine of this name.
pub fn find(name: &str) -> Result<Arm, Fault> {
    let found = ENGINES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, arm)| *arm);
    found.ok_or_else(|| {
        Fault::settings(format!(
            "found engine {name:?}; expected one of {}",
            names().join(", ")
        ))
    })
}
