//! The counts as JSON; docs/dissect-json.md has the meaning of each field.

use crate::capture::FileRead;
use crate::message::{Attributes, Kind};
use crate::searches::{Scope, SearchTally};
use crate::tallies::{ClientTally, Codes, FilterTally, Habits, Opaque, Tallies};
use serde_json::{Map, Value, json};
use std::net::Ipv6Addr;

/// Ports that are named where a capture has no LDAP.
const MOST_PORTS: usize = 8;

/// The whole report.
pub fn report(tallies: &Tallies, files: &[FileRead], fragmented: (u64, u64)) -> Value {
    let mut made = Map::new();
    for part in [
        capture(tallies, files, fragmented),
        ldap(tallies),
        quality(tallies),
    ] {
        if let Value::Object(fields) = part {
            made.extend(fields);
        }
    }
    made.insert(
        "filters".into(),
        tallies.filters.iter().map(filter).collect(),
    );
    made.insert(
        "clients".into(),
        tallies.clients.iter().map(client).collect(),
    );
    made.insert("timeline".into(), json!(tallies.timeline.columns()));
    made.insert("profile".into(), profile(tallies));
    Value::Object(made)
}

/// What only rises while an interface is read: operations by kind and by client, and what the capture lacks.
pub fn counts(tallies: &Tallies) -> Value {
    let kinds: Map<String, Value> = Kind::ALL
        .iter()
        .filter(|kind| seen(tallies, **kind))
        .map(|kind| {
            let tally = &tallies.kinds[*kind as usize];
            let counted = json!({"requests": tally.requests, "answered": tally.answered});
            (kind.name().into(), counted)
        })
        .collect();
    json!({
        "operations": kinds,
        "clients": tallies.clients.iter().map(client).collect::<Vec<_>>(),
        "clients_together": tallies.clients_together,
        "frames": tallies.frames,
        "ldap_frames": tallies.ldap_frames,
        "entries": tallies.entries,
        "connections": tallies.connections,
        "opaque_connections": tallies.opaque.iter().sum::<u64>(),
        "opaque_bytes": tallies.opaque_bytes,
        "gaps": tallies.gaps,
        "gap_bytes": tallies.gap_bytes,
        "cut_bytes": tallies.cut_bytes,
        "capture_drops": tallies.capture_drops,
        "unreadable_frames": tallies.unreadable_frames,
        "malformed": tallies.malformed,
        "evicted_connections": tallies.evicted_connections,
    })
}

fn capture(tallies: &Tallies, files: &[FileRead], fragmented: (u64, u64)) -> Value {
    json!({
        "files": files,
        "frames": tallies.frames,
        "ldap_frames": tallies.ldap_frames,
        "unreadable_frames": tallies.unreadable_frames,
        "undescribed_frames": tallies.undescribed_frames,
        "unknown_links": tallies.unknown_links,
        "fragments": fragmented.0,
        "incomplete_datagrams": fragmented.1,
        "bytes": tallies.bytes,
        "start_ns": tallies.first_ns,
        "end_ns": tallies.first_ns.map(|_| tallies.last_ns),
        "ports": ports(tallies),
        "capture_drops": tallies.capture_drops,
    })
}

fn ports(tallies: &Tallies) -> Vec<Value> {
    let mut found: Vec<(u64, u16)> = tallies
        .ports
        .iter()
        .map(|(port, count)| (*count, *port))
        .collect();
    found.sort_unstable_by_key(|(count, port)| (std::cmp::Reverse(*count), *port));
    found
        .iter()
        .take(MOST_PORTS)
        .map(|(count, port)| json!({"port": port, "frames": count}))
        .collect()
}

fn ldap(tallies: &Tallies) -> Value {
    let of = |kind: Kind| &tallies.kinds[kind as usize];
    let opaque = |kind: Opaque| tallies.opaque[kind as usize];
    json!({
        "messages": tallies.messages,
        "malformed": tallies.malformed,
        "connections": tallies.connections,
        "opaque_connections": tallies.opaque.iter().sum::<u64>(),
        "opaque": {
            "ldaps": opaque(Opaque::Ldaps),
            "start_tls": opaque(Opaque::StartTls),
            "sasl": opaque(Opaque::Sasl),
            "no_ldap": opaque(Opaque::NotLdap),
        },
        "opaque_bytes": tallies.opaque_bytes,
        "operations": Kind::ALL.iter().filter(|kind| seen(tallies, **kind)).map(|kind| operation(tallies, *kind)).collect::<Vec<_>>(),
        "result_codes": codes(&tallies.codes),
        "result_names": tallies.codes.0.keys().map(|code| (code.to_string(), assay_ldap::op::code_name(*code))).collect::<std::collections::BTreeMap<_, _>>(),
        "entries": tallies.entries,
        "references": tallies.references,
        "intermediate": tallies.intermediate,
        "unanswered": tallies.kinds.iter().map(|kind| kind.unanswered).sum::<u64>(),
        "answers_lost": tallies.answers_lost,
        "answers_without_request": tallies.answers_without_request,
        "abandoned": tallies.abandoned,
        "notices": tallies.notices,
        "unbinds": of(Kind::Unbind).requests,
        "untimed": tallies.untimed,
        "unfollowed": tallies.unfollowed,
        "slower_1s": tallies.slower_1s,
        "limits": tallies.limits.iter().map(|one| json!({"operation": one.kind.map(Kind::name), "ns": one.ns, "slower": one.slower})).collect::<Vec<_>>(),
        "filters_together": tallies.filters_together,
        "clients_together": tallies.clients_together,
        "habits": habits(&tallies.habits),
    })
}

fn seen(tallies: &Tallies, kind: Kind) -> bool {
    let tally = &tallies.kinds[kind as usize];
    tally.requests > 0 || !tally.codes.0.is_empty()
}

fn codes(codes: &Codes) -> Value {
    codes
        .0
        .iter()
        .map(|(code, count)| (code.to_string(), json!(count)))
        .collect::<Map<String, Value>>()
        .into()
}

fn operation(tallies: &Tallies, kind: Kind) -> Value {
    let tally = &tallies.kinds[kind as usize];
    json!({
        "operation": kind.name(),
        "requests": tally.requests,
        "answered": tally.answered,
        "unanswered": tally.unanswered,
        "response_ns": tally.response.figures(),
        "first_entry_ns": tally.first_entry.figures(),
        "result_codes": codes(&tally.codes),
        "request_bytes": tally.request_bytes,
        "answer_bytes": tally.answer_bytes,
    })
}

fn habits(habits: &Habits) -> Value {
    json!({
        "one_operation": habits.one_operation,
        "rebinding": habits.rebinding,
        "reset": habits.reset,
        "open_at_end": habits.open_at_end,
        "without_unbind": habits.without_unbind,
        "open_at_once": habits.open_at_once,
    })
}

fn quality(tallies: &Tallies) -> Value {
    let [good, bad, offloaded, unchecked] = tallies.sums;
    json!({
        "gaps": tallies.gaps,
        "gap_bytes": tallies.gap_bytes,
        "cut_frames": tallies.cut_frames,
        "cut_bytes": tallies.cut_bytes,
        "skipped_bytes": tallies.skipped_bytes,
        "retransmitted": tallies.retransmitted,
        "out_of_order": tallies.out_of_order,
        "zero_windows": tallies.zero_windows,
        "stalled_ns": tallies.stalled_ns,
        "checksums": {"good": good, "bad": bad, "offloaded": offloaded, "unchecked": unchecked},
        "evicted_connections": tallies.evicted_connections,
    })
}

fn filter(tally: &FilterTally) -> Value {
    json!({
        "filter": tally.shape,
        "count": tally.count,
        "answered": tally.answered,
        "entries": tally.entries,
        "bytes": tally.bytes,
        "result_codes": codes(&tally.codes),
        "response_ns": tally.response.figures(),
    })
}

fn client(tally: &ClientTally) -> Value {
    let requests: Map<String, Value> = Kind::ALL
        .iter()
        .filter(|kind| tally.requests[**kind as usize] > 0)
        .map(|kind| (kind.name().into(), tally.requests[*kind as usize].into()))
        .collect();
    let address = Ipv6Addr::from(tally.address);
    json!({
        "client": address.to_ipv4_mapped().map_or_else(|| address.to_string(), |four| four.to_string()),
        "connections": tally.connections,
        "requests": requests,
        "answered": tally.answered,
        "answer_bytes": tally.bytes,
        "response_sum_ns": tally.response_sum_ns,
        "response_max_ns": tally.response_max_ns,
    })
}

/// What a load like this one needs beside the counts.
fn profile(tallies: &Tallies) -> Value {
    let named: Vec<Value> = tallies
        .attributes_named
        .iter()
        .map(|(count, searches)| json!([count, searches]))
        .collect();
    json!({
        "scopes": tallies.scopes,
        "attributes_all": tallies.attributes_all,
        "attributes_none": tallies.attributes_none,
        "attributes_named": named,
        "depth_sum": tallies.depth_sum,
        "depth_max": tallies.depth_max,
        "searches": tallies.searches.tallies.iter().map(|one| search(tallies, one)).collect::<Vec<_>>(),
        "searches_together": tallies.searches.together,
    })
}

fn search(tallies: &Tallies, tally: &SearchTally) -> Value {
    let search = tally.search;
    json!({
        "filter": tallies.filters[search.filter as usize].shape,
        "scope": search.scope.map(Scope::name),
        "attributes": match search.attributes {
            Attributes::All => json!("all"),
            Attributes::None => json!("none"),
            Attributes::Named(count) => json!(count),
            Attributes::Unknown => Value::Null,
        },
        "size_limit": search.size_limit,
        "count": tally.count,
        "answered": tally.answered,
        "entries": tally.entries,
        "empty": tally.empty,
        "bytes": tally.bytes,
    })
}
