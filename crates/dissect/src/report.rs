//! The counts as JSON; docs/dissect-json.md has the meaning of each field.

use crate::asked::Codes;
use crate::capture::FileRead;
use crate::message::{Attributes, Kind};
use crate::packet::{At, Layers};
use crate::searches::{Scope, SearchTally};
use crate::slowest::Slow;
use crate::tallies::{ClientTally, FilterTally, Habits, Opaque, Tallies};
use crate::tunnels::Tunnel;
use crate::uses::UseTally;
use serde_json::{Map, Value, json};
use std::net::Ipv6Addr;

/// Ports that are named where a capture has no LDAP.
const MOST_PORTS: usize = 8;

/// The whole report.
pub fn report(tallies: &Tallies, files: &[FileRead], layers: &Layers) -> Value {
    let mut made = Map::new();
    for part in [
        capture(tallies, files, layers),
        ldap(tallies),
        who(tallies),
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
        tallies
            .clients
            .iter()
            .filter(|one| one.connections > 0)
            .map(client)
            .collect(),
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

fn capture(tallies: &Tallies, files: &[FileRead], layers: &Layers) -> Value {
    let tunnels: Map<String, Value> = Tunnel::ALL
        .iter()
        .map(|one| (*one, layers.tunnels[*one as usize]))
        .filter(|(_, frames)| *frames > 0)
        .map(|(one, frames)| (one.name().into(), frames.into()))
        .collect();
    json!({
        "files": files,
        "frames": tallies.frames,
        "ldap_frames": tallies.ldap_frames,
        "unreadable_frames": tallies.unreadable_frames,
        "undescribed_frames": tallies.undescribed_frames,
        "unknown_links": tallies.unknown_links,
        "fragments": layers.fragments.parts(),
        "incomplete_datagrams": layers.fragments.incomplete(),
        "tunnels": tunnels,
        "backwards": tallies.backwards,
        "reordered": tallies.reordered,
        "bytes": tallies.bytes,
        "start_ns": tallies.first_ns,
        "end_ns": tallies.first_ns.map(|_| tallies.last_ns),
        "ports": ports(tallies),
        "found_ports": layers.ports.found_ports(),
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
        "signed": tallies.signed,
        "proxied": tallies.proxied,
        "refused_connections": tallies.refused,
        "unanswered_syns": tallies.unanswered_syns,
        "without_data": tallies.without_data,
        "connect_ns": tallies.connects.figures(),
        "tls_handshake_ns": tallies.handshakes.figures(),
        "cldap": {
            "requests": tallies.datagrams.requests,
            "answered": tallies.datagrams.answered,
            "entries": tallies.datagrams.entries,
            "result_codes": codes(&tallies.datagrams.codes),
            "response_ns": tallies.datagrams.response.figures(),
        },
        "operations": Kind::ALL.iter().filter(|kind| seen(tallies, **kind)).map(|kind| operation(tallies, *kind)).collect::<Vec<_>>(),
        "result_codes": codes(&tallies.codes),
        "result_names": tallies.codes.0.keys().map(|code| (code.to_string(), assay_ldap::op::code_name(*code))).collect::<std::collections::BTreeMap<_, _>>(),
        "entries": tallies.entries,
        "references": tallies.references,
        "intermediate": tallies.intermediate,
        "unanswered": tallies.kinds.iter().map(|kind| kind.unanswered).sum::<u64>(),
        "open": tallies.kinds.iter().map(|kind| kind.open).sum::<u64>(),
        "answers_lost": tallies.answers_lost,
        "answers_without_request": tallies.answers_without_request,
        "abandoned": tallies.abandoned,
        "notices": tallies.notices,
        "unbinds": of(Kind::Unbind).requests,
        "untimed": tallies.untimed,
        "unfollowed": tallies.unfollowed,
        "slower_1s": tallies.slower_1s,
        "limits": tallies.limits.iter().map(|one| json!({"operation": one.kind.map(Kind::name), "ns": one.ns, "n": one.n, "slower": one.slower})).collect::<Vec<_>>(),
        "filters_together": tallies.filters_together,
        "clients_together": tallies.clients_together,
        "habits": habits(&tallies.habits),
    })
}

/// Who authenticates how, who asks for what, and what took longest.
fn who(tallies: &Tallies) -> Value {
    let bindings = &tallies.bindings;
    let client = |place: u32| address(tallies, place);
    let mut binds: Vec<_> = bindings.rows.iter().collect();
    binds.sort_unstable_by_key(|(row, counts)| {
        (
            std::cmp::Reverse(**counts),
            row.client,
            row.mechanism,
            row.layer,
        )
    });
    let mut failures: Vec<_> = bindings.failures.iter().collect();
    failures.sort_unstable_by_key(|(row, count)| (std::cmp::Reverse(**count), **row));
    let mut uses: Vec<&UseTally> = tallies.uses.tallies.iter().collect();
    uses.sort_by_key(|one| std::cmp::Reverse(one.count));
    json!({
        "authentications": tallies.authentications,
        "binds": binds.iter().map(|(row, (binds, failed))| json!({
            "client": client(row.client),
            "mechanism": bindings.name(row.mechanism),
            "layer": row.layer,
            "binds": binds,
            "failed": failed,
        })).collect::<Vec<_>>(),
        "binds_together": bindings.together,
        "failed_binds": failures.iter().map(|((place, mechanism, code), count)| json!({
            "client": client(*place),
            "mechanism": bindings.name(*mechanism),
            "code": code,
            "count": count,
        })).collect::<Vec<_>>(),
        "controls": tallies.controls,
        "extended": tallies.extended,
        "paged": {"searches": tallies.paged_searches, "pages": tallies.pages},
        "uses": uses.iter().map(|one| usage(tallies, one)).collect::<Vec<_>>(),
        "uses_together": tallies.uses.together,
        "slowest": tallies.slowest.operations.iter().map(|one| slow(tallies, one)).collect::<Vec<_>>(),
    })
}

fn usage(tallies: &Tallies, tally: &UseTally) -> Value {
    json!({
        "client": address(tallies, tally.row.client),
        "operation": tally.row.kind.name(),
        "filter": shape(tallies, tally.row.filter),
        "code": tally.row.code,
        "count": tally.count,
        "entries": tally.entries,
        "timed": tally.timed,
        "response_sum_ns": tally.response_sum_ns,
        "response_max_ns": tally.response_max_ns,
    })
}

fn slow(tallies: &Tallies, one: &Slow) -> Value {
    let place = |at: Option<At>| at.map(At::number);
    json!({
        "operation": one.asked.kind.name(),
        "client": address(tallies, one.asked.client),
        "filter": shape(tallies, one.asked.filter),
        "ns": one.ns,
        "answered": one.answer.is_some(),
        "code": one.answer.and_then(|(_, code)| code),
        "file": one.asked.at.map(At::file),
        "request_frame": place(one.asked.at),
        "answer_file": one.answer.map(|(at, _)| at.file()),
        "answer_frame": place(one.answer.map(|(at, _)| at)),
    })
}

/// The address of a client; None for those that are counted together.
fn address(tallies: &Tallies, place: u32) -> Option<String> {
    Some(written(tallies.clients.get(place as usize)?.address))
}

fn written(address: [u8; 16]) -> String {
    let address = Ipv6Addr::from(address);
    address
        .to_ipv4_mapped()
        .map_or_else(|| address.to_string(), |four| four.to_string())
}

fn shape(tallies: &Tallies, place: u32) -> Option<&str> {
    tallies
        .filters
        .get(place as usize)
        .map(|filter| filter.shape.as_str())
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
        "open": tally.open,
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
        "readable": habits.readable,
        "reset": habits.reset,
        "reset_by_server": habits.reset_by_server,
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
        "copies": tallies.copies,
        "bad_used": tallies.bad_used,
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
    json!({
        "client": written(tally.address),
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
        "authentications": tallies.readable_authentications,
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
