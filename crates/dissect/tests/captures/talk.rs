//! Conversations of LDAP: what client and server say in turn, and the segments that carry it.

use crate::carried::Sent;
use assay_ldap::build::{self, Change, Search};
use assay_ldap::op;
use assay_ldap::template::{FIRST_ID, Node, Template};

/// What one side says: whether it is the client, and its bytes.
pub type Turn = (bool, Vec<u8>);

pub const START_NS: u64 = 1_700_000_000_000_000_000;
const FILTERS: [&str; 5] = [
    "(&(uid=a)(cn=b*))",
    "(|(MAIL=x)(!(sn>=y))(mail=*)(cn=a*b*c))",
    "(cn:dn:caseExactMatch:=v)",
    "(sn~=z)",
    "(objectClass=*)",
];
/// A record of TLS.
const TLS: [u8; 21] = *b"\x16\x03\x01\x00\x10................";

pub fn search(filter: &str) -> Node {
    let search = Search {
        base: "dc=x",
        scope: 2,
        filter,
        attributes: &["cn".to_owned()],
        size_limit: 0,
    };
    build::search(&search).expect("a search")
}

pub fn message(node: &Node, id: u32) -> Vec<u8> {
    Template::new(node, 3).patch(FIRST_ID + id, 1, 1).to_vec()
}

fn result(tag: u8, code: u8) -> Node {
    let text = || Node::bytes(4, b"");
    Node::Tlv(
        tag,
        vec![Node::number(0x0a, u32::from(code)), text(), text()],
    )
}

/// A request and the answer to it.
pub fn pair(which: u8, id: u32) -> (Vec<u8>, Vec<u8>) {
    let values = ("cn".to_owned(), vec!["v".to_owned()]);
    let (node, tag) = match which % 7 {
        0 => (search(FILTERS[0]), 0x65),
        1 => (build::bind("cn=m", b"secret"), 0x61),
        2 => (build::compare("dc=x", "cn", "a").expect("a compare"), 0x6f),
        3 => (build::delete("dc=x").expect("a delete"), 0x6b),
        4 => (build::add("dc=x", &[values]).expect("an add"), 0x69),
        5 => (
            build::modify("dc=x", &[(Change::Add, values)]).expect("a modify"),
            0x67,
        ),
        _ => (build::rename("dc=x", "dc=y", None).expect("a rename"), 0x6d),
    };
    (message(&node, id), message(&result(tag, which), id))
}

/// Operations of every kind in turn, whose ids come round; searches have entries, references and intermediate answers.
pub fn operations() -> Vec<Turn> {
    let mut turns = Vec::new();
    for at in 0..24_u8 {
        let id = u32::from(at % 5);
        let (mut request, mut answer) = pair(at, id);
        if at % 7 == 0 {
            request = message(&search(FILTERS[usize::from(at) % FILTERS.len()]), id);
            answer = [parts(id), answer].concat();
        }
        turns.push((true, request));
        turns.push((false, answer));
    }
    let abandoned = Node::bytes(op::ABANDON, &[1]);
    turns.push((true, message(&search(FILTERS[4]), 1)));
    turns.push((true, message(&abandoned, 2)));
    turns.push((false, message(&result(op::EXTENDED_RESPONSE, 52), 0)));
    turns.push((true, message(&build::unbind(), 3)));
    turns
}

/// Entries, a reference and an intermediate answer, one with a length of five bytes.
fn parts(id: u32) -> Vec<u8> {
    let values = Node::Tlv(0x31, vec![Node::bytes(4, &[b'v'; 90])]);
    let attribute = Node::Tlv(0x30, vec![Node::bytes(4, b"cn"), values]);
    let entry = Node::Tlv(
        op::SEARCH_ENTRY,
        vec![
            Node::bytes(4, b"cn=a,dc=x"),
            Node::Tlv(0x30, vec![attribute]),
        ],
    );
    let reference = Node::Tlv(op::SEARCH_REFERENCE, vec![Node::bytes(4, b"ldap://other/")]);
    let between = Node::Tlv(op::INTERMEDIATE, vec![Node::bytes(0x80, b"1.2.3")]);
    let entry = message(&entry, id);
    let size = (entry.len() - 2 - usize::from(entry[1] >= 0x80)) as u32;
    let long = [
        &[0x30, 0x84][..],
        &size.to_be_bytes(),
        &entry[entry.len() - size as usize..],
    ]
    .concat();
    [entry, message(&between, id), long, message(&reference, id)].concat()
}

/// Many requests at once, then their answers.
pub fn pipelined() -> Vec<Turn> {
    let both: Vec<_> = (0..30_u8)
        .map(|at| pair(at % 3 * 2, u32::from(at)))
        .collect();
    let requests = both.iter().flat_map(|(request, _)| request.clone());
    let answers = both.iter().rev().flat_map(|(_, answer)| answer.clone());
    vec![(true, requests.collect()), (false, answers.collect())]
}

/// The request for TLS and its answer, and what follows.
pub fn start_tls() -> Vec<Turn> {
    let mut turns = vec![
        (true, message(&build::extended(op::START_TLS), 1)),
        (false, message(&result(op::EXTENDED_RESPONSE, 0), 1)),
    ];
    turns.extend(tls());
    turns
}

/// A bind by SASL, and the layer that follows.
pub fn sasl() -> Vec<Turn> {
    let method = Node::Tlv(0xa3, vec![Node::bytes(4, b"GSSAPI"), Node::bytes(4, b"t")]);
    let parts = vec![Node::number(2, 3), Node::bytes(4, b""), method];
    let mut turns = vec![
        (true, message(&Node::Tlv(op::BIND, parts), 1)),
        (false, message(&result(op::BIND_RESPONSE, 0), 1)),
    ];
    let layer = [&[0, 0, 0, 64][..], &[7; 64]].concat();
    turns.extend((0..6).map(|at| (at % 2 == 0, layer.clone())));
    turns
}

/// Records of TLS from the start.
/// Operations behind a bind in buffers that are only signed, each in the form of another mechanism.
pub fn signed() -> Vec<Turn> {
    let mut turns = sasl();
    turns.truncate(2);
    for (at, (client, bytes)) in operations().into_iter().enumerate() {
        let (before, behind): (&[u8], &[u8]) = match at % 3 {
            0 => (&[5, 4, 4, 0xff, 0, 12, 0, 12], &[]),
            1 => (&[5, 4, 4, 0xff, 0, 12, 0, 0], &[9; 12]),
            _ => (&[5, 4, 4, 0xff, 0, 12, 0, 4], &[9; 8]),
        };
        let checksum = vec![9; 12 - behind.len()];
        let content = [before, &[0; 8], &checksum, &bytes, behind].concat();
        let length = (content.len() as u32).to_be_bytes();
        turns.push((client, [&length[..], &content].concat()));
    }
    turns
}

/// Operations behind the header of a proxy.
pub fn proxied() -> Vec<Turn> {
    let header = b"PROXY TCP4 192.0.2.7 10.0.0.2 5000 389\r\n".to_vec();
    let mut turns = vec![(true, header)];
    turns.extend(operations());
    turns
}

pub fn tls() -> Vec<Turn> {
    (0..8).map(|at| (at % 2 == 0, TLS.to_vec())).collect()
}

/// The segments of a connection: SYN and FIN where it is whole; bytes are cut into segments of this size.
pub fn sent<'a>(turns: &'a [Turn], size: usize, whole: bool) -> Vec<Sent<'a>> {
    let (mut made, mut next, mut t_ns) = (Vec::new(), [0xffff_ff00_u32, 9_000], START_NS);
    let mut put = |client: bool, flags: u8, bytes: &'a [u8], next: &mut [u32; 2]| {
        t_ns += 100_000;
        let (mine, theirs) = if client { (0, 1) } else { (1, 0) };
        made.push(Sent {
            t_ns,
            client,
            seq: next[mine],
            ack: if flags == 2 { 0 } else { next[theirs] },
            flags,
            bytes,
        });
        let number = bytes.len() as u32 + u32::from(flags & 3 != 0);
        next[mine] = next[mine].wrapping_add(number);
    };
    if whole {
        put(true, 2, b"", &mut next);
        put(false, 0x12, b"", &mut next);
    }
    for (client, bytes) in turns {
        for part in bytes.chunks(size) {
            put(*client, 0x18, part, &mut next);
        }
    }
    if whole {
        put(true, 0x11, b"", &mut next);
        put(false, 0x11, b"", &mut next);
    }
    made
}
