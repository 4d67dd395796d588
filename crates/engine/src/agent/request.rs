//! What an agent can be asked: `docs/engine-protocol.md` as types.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A line of standard input, without its id. The field `do` names the variant.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    Clock {},
    Lease { for_ns: u64 },
    Look(Look),
    Read { path: String },
    Write { path: String, text: String },
    List { path: String },
    Exists { path: String },
    RealPath { path: String },
    Run(Box<Run>),
    Spawn(Box<Spawn>),
    Send { process: u64, line: String },
    EndInput { process: u64 },
    Kill { process: u64 },
    Cachestat { path: String },
    Fiemap { path: String },
    Placed { path: String },
    DropFile { path: String },
    Syncfs { path: String },
    Space { path: String },
    CpuClock { path: String },
    Semantics { path: String },
    HoldMemory { bytes: usize },
    ReleaseMemory { held: u64 },
    BootedNs {},
    KernelLog {},
    Spin {},
    UnmountIn { namespace: String, point: String },
    Note(Note),
    Strike { n: u64, file: Option<String> },
    Left {},
}

/// A JSON object.
pub type Fields = Map<String, Value>;

impl Request {
    /// A request by its fields; refused where one is unknown or missing.
    pub fn of(mut fields: Fields) -> Result<Self, serde_json::Error> {
        let Some(Value::String(name)) = fields.remove("do") else {
            return Err(serde::de::Error::missing_field("do"));
        };
        serde_json::from_value(Value::Object(Map::from_iter([(name, fields.into())])))
    }
}

/// Many small files and calls in one exchange.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Look {
    pub read: Vec<String>,
    pub list: Vec<String>,
    pub exists: Vec<String>,
    /// Requests without ids, read one by one: one that is no request spoils no other.
    pub calls: Vec<Fields>,
}

/// A command that is run to its end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub argv: Vec<String>,
    #[serde(default)]
    pub input: Option<String>,
    #[serde(default)]
    pub timeout_ns: Option<u64>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    pub cwd: Option<String>,
}

/// A command that is spoken to line by line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spawn {
    pub argv: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    pub cwd: Option<String>,
}

/// What has to be undone, and the script that undoes it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    pub n: u64,
    pub kind: String,
    #[serde(default)]
    pub details: BTreeMap<String, String>,
    pub back: String,
}
