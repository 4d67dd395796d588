//! Messages that we write and ldap-parser reads, and bytes that both read.

use assay_ldap::ber::{self, Flaw, Walk};
use assay_ldap::build::{self, Change, Search};
use assay_ldap::filter;
use assay_ldap::message::{Entry, Message, Outcome, SearchRequest};
use assay_ldap::op;
use assay_ldap::template::{FIRST_ID, Node, Template, Words};
use ldap_parser::FromBer;
use ldap_parser::ldap::{LdapMessage, ProtocolOp};
use proptest::prelude::*;

fn message(op: &Node, id: u32, key: u64) -> Vec<u8> {
    Template::new(op, 3).patch(id, key, 7).to_vec()
}

fn search(base: &str, filter: &str) -> Node {
    let search = Search {
        base,
        scope: 2,
        filter,
        attributes: &["cn".to_owned(), "mail".to_owned()],
        size_limit: 5,
    };
    build::search(&search).expect("a search without mistakes")
}

fn shape(text: &str) -> String {
    let bytes = message(&search("dc=x", text), FIRST_ID, 1);
    let op = Message::read(&bytes).unwrap().op.unwrap();
    filter::shape(&SearchRequest::read(&op).filter.unwrap()).unwrap()
}

#[test]
fn a_search_reads_back_the_same_by_the_other_parser() {
    let op = search(
        "ou=people,dc=x",
        "(&(objectClass=person)(|(uid=u{key:08d})(!(cn=a*b*c)))(sn=*)(age>=4))",
    );
    let bytes = message(&op, FIRST_ID + 9, 42);
    let (rest, read) = LdapMessage::from_ber(&bytes).unwrap();
    assert!(rest.is_empty());
    assert_eq!(read.message_id.0, FIRST_ID + 9);
    let ProtocolOp::SearchRequest(request) = read.protocol_op else {
        panic!("no search")
    };
    assert_eq!(request.base_object.0, "ou=people,dc=x");
    assert_eq!((request.scope.0, request.size_limit), (2, 5));
    assert_eq!(request.attributes.len(), 2);
    let filter = format!("{:?}", request.filter);
    let name = format!("{:?}", b"u00000042");
    assert!(filter.contains(&name), "{filter}");
}

#[test]
fn every_request_is_read_by_the_other_parser() {
    let values = |value: &str| vec![value.to_owned()];
    let attribute = ("cn".to_owned(), values("name {n}"));
    let made = [
        (build::bind("cn=m", b"secret{key}"), op::BIND),
        (build::unbind(), op::UNBIND),
        (build::extended(op::START_TLS), op::EXTENDED),
        (build::compare("uid={key}", "cn", "x").unwrap(), op::COMPARE),
        (
            build::add("uid={key}", std::slice::from_ref(&attribute)).unwrap(),
            op::ADD,
        ),
        (
            build::modify("uid=1", &[(Change::Replace, attribute)]).unwrap(),
            op::MODIFY,
        ),
        (build::delete("uid={key:04d}").unwrap(), op::DELETE),
        (
            build::rename("uid=1,dc=x", "uid=2", Some("dc=y")).unwrap(),
            op::RENAME,
        ),
    ];
    for (node, tag) in made {
        let bytes = message(&node, FIRST_ID, 123);
        let (rest, read) = LdapMessage::from_ber(&bytes).unwrap();
        assert!(rest.is_empty(), "{tag:x}");
        assert_eq!(u32::from(tag & 0x1f), read.protocol_op.tag().0);
        let own = Message::read(&bytes).unwrap();
        assert_eq!(
            Message::plain(&bytes).unwrap(),
            (bytes.len(), FIRST_ID, own.op.unwrap())
        );
        assert_eq!(own.length, bytes.len());
        assert_eq!(own.op.unwrap().tag, tag);
        assert!(own.is_whole(&bytes));
    }
    let bytes = message(&build::delete("uid={key:04d},{n}").unwrap(), FIRST_ID, 123);
    assert!(bytes.ends_with(b"uid=0123,000000000007"));
}

#[test]
fn long_bodies_have_long_lengths() {
    for length in [0, 1, 100, 127, 128, 200, 255, 256, 65_535, 65_536, 100_000] {
        let text = "x".repeat(length);
        let bytes = message(&build::delete(&text).unwrap(), FIRST_ID, 0);
        let (rest, _) = LdapMessage::from_ber(&bytes).unwrap();
        assert!(rest.is_empty());
        assert_eq!(
            Message::read(&bytes).unwrap().op.unwrap().body.len(),
            length
        );
    }
}

#[test]
fn a_cut_message_tells_what_is_there() {
    let bytes = message(&search("dc=x", "(uid=u1)"), FIRST_ID, 1);
    for end in 0..bytes.len() {
        let cut = &bytes[..end];
        match Message::read(cut) {
            Err(flaw) => assert!(flaw == Flaw::Cut && end < 2, "{end}"),
            Ok(message) => {
                assert_eq!(message.length, bytes.len());
                assert!(!message.is_whole(cut));
                assert_eq!(message.id.is_some(), end >= 8);
                assert!(message.op.is_none() || end >= 10);
            }
        }
    }
}

#[test]
fn no_ldap_is_malformed() {
    for bytes in [
        &b"HTTP/1.1 400"[..],
        b"\x16\x03\x01\x02\x00",
        b"\x30\x80\x02\x01\x01",
        b"\x30\x05\x04\x01\x01\x42\x00",
        b"\x30\x05\x02\x01\xff\x42\x00",
        b"\x30\x05\x02\x01\x01\x04\x00",
        b"\x30\x05\x02\x01\x01\x42\x07",
    ] {
        assert_eq!(Message::read(bytes), Err(Flaw::Malformed), "{bytes:x?}");
    }
}

#[test]
fn answers_are_read() {
    let result = b"\x30\x12\x02\x01\x07\x65\x0d\x0a\x01\x20\x04\x04dc=x\x04\x02no";
    let read = Message::read(result).unwrap();
    let outcome = Outcome::read(&read.op.unwrap()).unwrap();
    assert_eq!((read.id, outcome.code), (Some(7), 32));
    assert_eq!((outcome.matched, outcome.words), (&b"dc=x"[..], &b"no"[..]));
    assert_eq!(op::code_name(outcome.code), "noSuchObject");
    assert_eq!(op::code_of("noSuchObject"), Some(32));
    let entry =
        b"\x30\x18\x02\x01\x07\x64\x13\x04\x04dc=x\x30\x0b\x30\x09\x04\x02dc\x31\x03\x04\x01x";
    let read = Message::read(entry).unwrap();
    let entry = Entry::read(&read.op.unwrap()).unwrap();
    assert_eq!(entry.dn, b"dc=x");
    let each: Vec<_> = entry.each().collect();
    assert_eq!((each.len(), each[0].0), (1, &b"dc"[..]));
    assert_eq!(each[0].1.parts().whole().unwrap().body, b"x");
}

#[test]
fn controls_stay_apart() {
    let bytes = b"\x30\x0c\x02\x01\x01\x42\x00\xa0\x05\x30\x03\x04\x01\x31";
    let read = Message::read(bytes).unwrap();
    assert_eq!(read.op.unwrap().tag, op::UNBIND);
    assert_eq!(read.controls.unwrap().length, 5);
}

#[test]
fn shapes_are_sorted_and_hold_no_value() {
    assert_eq!(shape("(UID=u5)"), "(uid=?)");
    assert_eq!(shape("(&(sn=b)(cn=a)(SN=c))"), "(&(cn=?)(sn=?))");
    assert_eq!(
        shape("(|(!(a=1))(b>=1)(c<=2)(d~=3)(e=*))"),
        "(|(!(a=?))(b>=?)(c<=?)(d~=?)(e=*))"
    );
    assert_eq!(shape("(cn=a*b*c)"), "(cn=?*?*?)");
    assert_eq!(shape("(cn=*b)"), "(cn=*?)");
    assert_eq!(shape("(cn=*b*)"), "(cn=*?*)");
    assert_eq!(shape("(cn=b*)"), "(cn=?*)");
    assert_eq!(
        shape("(ou:dn:caseExactMatch:=x)"),
        "(ou:dn:caseexactmatch:=?)"
    );
    assert_eq!(shape("(&)"), "(&)");
}

#[test]
fn a_cut_filter_has_a_shape_too() {
    let bytes = message(&search("dc=x", "(&(uid=u1)(cn=abc))"), FIRST_ID, 1);
    let op = Message::read(&bytes).unwrap().op.unwrap();
    let whole = SearchRequest::read(&op).filter.unwrap();
    let start = whole.body.as_ptr() as usize - bytes.as_ptr() as usize - whole.head;
    let filter_of = |end: usize| {
        let op = Message::read(&bytes[..end]).unwrap().op.unwrap();
        filter::shape(&SearchRequest::read(&op).filter.unwrap())
    };
    assert_eq!(filter_of(start + 2).unwrap(), "(&(…))");
    assert_eq!(filter_of(start + 13).unwrap(), "(&(uid=?)(…))");
    assert_eq!(filter_of(bytes.len()).unwrap(), "(&(cn=?)(uid=?))");
}

#[test]
fn mistakes_have_a_place() {
    for (text, at) in [
        ("uid=1", 0),
        ("(uid=1", 6),
        ("(uid=1))", 7),
        ("(&(uid=1)(cn))", 12),
        ("(=1)", 1),
        ("(uid=u{kye})", 6),
        ("(cn=a**b)", 6),
        ("(cn=a\\4x)", 5),
        ("(uid", 4),
        ("(cn=a(b)", 5),
        ("(:=x)", 1),
        ("", 0),
    ] {
        let mistake = filter::parse(text).expect_err(text);
        assert_eq!(mistake.at, at, "{text}: {mistake:?}");
    }
}

#[test]
fn values_take_escapes_and_widths() {
    let op = search("dc=x", "(cn=a\\28\\2a{key})");
    assert!(op.is_elastic());
    let bytes = message(&op, FIRST_ID, 42);
    assert!(bytes.windows(6).any(|part| part == b"a(*042"));
    assert_eq!(
        Words::new("uid=u{key:04d}", 1).unwrap().with(42, 0),
        b"uid=u0042"
    );
    assert_eq!(search("dc=x", "(uid={key:04d})").key_digits(), Some(4));
    for width in 1..=20_usize {
        let mut words = Words::new(&format!("{{key:0{width}d}}"), 1).unwrap();
        for key in [0, 7, 10, 99, 100, 12_345_678, 99_999_999, 123_456_789_012] {
            let digits = format!("{key:0width$}");
            let last = &digits.as_bytes()[digits.len() - width..];
            assert_eq!(words.with(key, 0), last, "{key} in {width}");
        }
    }
}

/// Each byte of a message with each value. The other parser takes envelopes and ids whose tag is of another class; we do not.
#[test]
fn both_parsers_agree_on_what_a_message_is() {
    let whole = message(&search("dc=x", "(&(uid=u1)(cn=ab))"), FIRST_ID, 1);
    let changes = (0..whole.len()).flat_map(|at| (0..=u8::MAX).map(move |to| (at, to)));
    let mut agreed = 0;
    for (at, to) in changes {
        let mut bytes = whole.clone();
        bytes[at] = to;
        let Ok((rest, theirs)) = LdapMessage::from_ber(&bytes) else {
            continue;
        };
        if (at == 0 || at == 2) && to != whole[at] && to & 0x1f == whole[at] & 0x1f {
            assert_eq!(Message::read(&bytes), Err(Flaw::Malformed), "{at} {to:x}");
            continue;
        }
        // The other parser takes long lengths below 128 and ids of five bytes as we do.
        let ours = Message::read(&bytes);
        assert!(ours.is_ok(), "{at} {to:x}: {bytes:x?}");
        let ours = ours.unwrap();
        assert_eq!(ours.length, whole.len() - rest.len());
        assert_eq!(ours.id, Some(theirs.message_id.0));
        assert_eq!(
            u32::from(ours.op.unwrap().tag & 0x1f),
            theirs.protocol_op.tag().0
        );
        agreed += 1;
    }
    assert!(agreed > 1_000, "{agreed}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Message::read(&bytes);
        for part in Walk::over(&bytes).flatten() {
            let _ = (filter::shape(&part), Outcome::read(&part), part.number());
            let _ = Entry::read(&part).map(|entry| entry.each().count());
        }
    }

    #[test]
    fn changed_messages_never_panic(at in 0_usize..70, to in any::<u8>(), end in 0_usize..90) {
        let mut bytes = message(&search("dc=x", "(&(uid=u1)(cn=a*b)(!(sn=x)))"), FIRST_ID, 1);
        let length = bytes.len();
        bytes[at % length] = to;
        bytes.truncate(end.max(1).min(length));
        if let Ok(read) = Message::read(&bytes) && let Some(op) = read.op {
            let _ = SearchRequest::read(&op).filter.map(|filter| filter::shape(&filter));
        }
    }

    #[test]
    fn the_fast_reader_reads_the_same(at in 0_usize..70, to in any::<u8>(), end in 0_usize..90) {
        let mut bytes = message(&search("dc=x", "(&(uid=u1)(cn=ab))"), FIRST_ID, 1);
        let length = bytes.len();
        bytes[at % length] = to;
        bytes.truncate(end.min(length));
        if let Some((length, id, op)) = Message::plain(&bytes) {
            let read = Message::read(&bytes).unwrap();
            prop_assert_eq!((read.length, read.id, read.op), (length, Some(id), Some(op)));
        }
    }

    #[test]
    fn a_head_never_reaches_behind_the_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(part) = ber::read(&bytes) {
            prop_assert!(part.head + part.body.len() <= bytes.len());
        }
    }
}

#[test]
fn a_key_of_eight_digits_is_written_as_it_is_read() {
    let mut words = Words::new("u{key:08d},x", 1).unwrap();
    let steps = (0..100_000_000_u64).step_by(997);
    let edges = [9, 99, 999, 9_999, 10_000, 99_999, 1_000_000, 99_999_999];
    for key in (0..20_000).chain(steps).chain(edges) {
        assert_eq!(words.with(key, 0), format!("u{key:08},x").as_bytes());
    }
}
