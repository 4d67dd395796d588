//! The lines that come in and go out: `docs/line-protocol.md` as types.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A line of input.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Make namespaces, interfaces and links; once, first.
    Config(Config),
    /// Say what was counted until now.
    Count {},
    /// Let nothing through a link any more.
    Cut { link: String },
    /// Let it through again.
    Mend { link: String },
    /// Change the rates of a link; null is without limit.
    Rate {
        link: String,
        up_bytes_per_s: Option<u64>,
        down_bytes_per_s: Option<u64>,
    },
    /// Say what was counted, and end.
    End {},
}

/// The links between the two ends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub links: Vec<Link>,
    #[serde(default)]
    pub seed: u64,
    /// Whether the ends may send super packets.
    #[serde(default = "yes")]
    pub offload: bool,
}

/// One link: `up` leads from the load to the server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub name: String,
    pub up: Way,
    pub down: Way,
}

/// One direction of a link.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Way {
    #[serde(default)]
    pub rate_bytes_per_s: Option<u64>,
    #[serde(default)]
    pub delay_ns: u64,
    /// Bytes that may wait, framing included.
    #[serde(default)]
    pub queue_bytes: Option<u64>,
    /// Share of the segments that are lost.
    #[serde(default)]
    pub loss: f64,
    /// Bytes of a segment on the wire beside its IP packet.
    #[serde(default)]
    pub frame_bytes: u64,
    /// A packet that comes so much later than it should is late.
    #[serde(default = "fifth_of_ms")]
    pub late_ns: u64,
}

fn yes() -> bool {
    true
}

fn fifth_of_ms() -> u64 {
    200_000
}

/// What is wrong with a configuration, all at once.
pub fn mistakes(config: &Config) -> Vec<String> {
    let mut found = Vec::new();
    if config.links.is_empty() || config.links.len() > 16 {
        found.push(format!("{} links; expected 1 to 16", config.links.len()));
    }
    for link in &config.links {
        for (way, name) in [(&link.up, "up"), (&link.down, "down")] {
            let at = format!("{}.{name}", link.name);
            if !(0.0..1.0).contains(&way.loss) {
                found.push(format!("{at}: loss {}; expected a share below 1", way.loss));
            }
            if way.rate_bytes_per_s == Some(0) {
                found.push(format!("{at}: rate 0; expected more, or null"));
            }
        }
    }
    found
}

/// A line of output.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Reply {
    Hello {
        version: &'static str,
        pid: u32,
        build: &'static str,
    },
    Ready {
        pid: u32,
        mono_ns: u64,
        ends: BTreeMap<&'static str, End>,
        /// Whether the threads have the real-time class.
        realtime: bool,
    },
    Counts {
        mono_ns: u64,
        links: BTreeMap<String, LinkCounts>,
    },
    Done {
        what: &'static str,
        link: String,
        mono_ns: u64,
    },
    Error {
        what: &'static str,
        message: String,
    },
}

/// One end: its network namespace (a path for setns), and its addresses by link.
#[derive(Clone, Debug, Serialize)]
pub struct End {
    pub namespace: String,
    pub interfaces: BTreeMap<String, Interface>,
}

/// An interface of an end.
#[derive(Clone, Debug, Serialize)]
pub struct Interface {
    pub name: String,
    pub address: String,
}

/// What one link has done.
#[derive(Debug, Serialize)]
pub struct LinkCounts {
    pub cut: bool,
    pub up: BTreeMap<&'static str, u64>,
    pub down: BTreeMap<&'static str, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_is_named_at_once() {
        let text = r#"{"links":[{"name":"wan","up":{"loss":1.0},"down":{"rate_bytes_per_s":0}}]}"#;
        let config: Config = serde_json::from_str(text).expect("the shape is right");
        let found = mistakes(&config);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("wan.up: loss 1"));
    }

    #[test]
    fn unknown_names_are_refused() {
        let text = r#"{"type":"config","links":[],"speed":1}"#;
        assert!(serde_json::from_str::<Request>(text).is_err());
    }
}
