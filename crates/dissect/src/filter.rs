//! The shape of a filter: attribute names in lower case, `?` for each value, branches sorted and each once.

use crate::ber::Element;

/// Filters are read as deep as this.
const DEEPEST: usize = 32;
/// Bytes of a shape; longer ones end in dots.
pub const LONGEST: usize = 1024;
const LONGEST_NAME: usize = 128;
/// What was cut off by the capture, or is too long or too deep.
const CUT: &[u8] = b"(...)";

/// Appends the shape of a filter.
pub fn shape(filter: Element<'_>, out: &mut Vec<u8>) {
    write(filter, out, 0);
    if out.len() > LONGEST {
        out.truncate(LONGEST);
        out.extend_from_slice(b"...");
    }
}

fn write(filter: Element<'_>, out: &mut Vec<u8>, depth: usize) {
    if depth > DEEPEST {
        out.extend_from_slice(CUT);
        return;
    }
    match filter.tag {
        0xa0 => branches(filter, b'&', out, depth),
        0xa1 => branches(filter, b'|', out, depth),
        0xa2 => {
            out.extend_from_slice(b"(!");
            match filter.inside().next() {
                Some(inner) => write(inner, out, depth + 1),
                None => out.extend_from_slice(CUT),
            }
            out.push(b')');
        }
        0xa3 => compared(filter, b"=?)", out),
        0xa4 => substrings(filter, out),
        0xa5 => compared(filter, b">=?)", out),
        0xa6 => compared(filter, b"<=?)", out),
        0x87 if filter.whole() => {
            out.push(b'(');
            name(filter.content, out);
            out.extend_from_slice(b"=*)");
        }
        0xa8 => compared(filter, b"~=?)", out),
        0xa9 => extensible(filter, out),
        _ => out.extend_from_slice(CUT),
    }
}

/// Branches in order, each once; what was cut off stands last.
fn branches(filter: Element<'_>, sign: u8, out: &mut Vec<u8>, depth: usize) {
    let mut walk = filter.inside();
    let mut found: Vec<Vec<u8>> = Vec::new();
    let mut size = 0;
    for branch in walk.by_ref() {
        let mut text = Vec::new();
        write(branch, &mut text, depth + 1);
        size += text.len();
        found.push(text);
        if size > LONGEST * 8 {
            break;
        }
    }
    let whole = walk.ended();
    found.sort_unstable();
    found.dedup();
    out.extend_from_slice(&[b'(', sign]);
    for text in found {
        out.extend_from_slice(&text);
    }
    if !whole {
        out.extend_from_slice(CUT);
    }
    out.push(b')');
}

fn compared(filter: Element<'_>, end: &[u8], out: &mut Vec<u8>) {
    let Some(attribute) = filter.inside().next().filter(Element::whole) else {
        out.extend_from_slice(CUT);
        return;
    };
    out.push(b'(');
    name(attribute.content, out);
    out.extend_from_slice(end);
}

fn substrings(filter: Element<'_>, out: &mut Vec<u8>) {
    let mut walk = filter.inside();
    let Some(attribute) = walk.next().filter(Element::whole) else {
        out.extend_from_slice(CUT);
        return;
    };
    out.push(b'(');
    name(attribute.content, out);
    out.push(b'=');
    let mut open = true;
    if let Some(parts) = walk.next() {
        for part in parts.inside().take(LONGEST) {
            match part.tag {
                0x80 => out.extend_from_slice(b"?"),
                0x82 => {
                    out.extend_from_slice(b"*?");
                    open = false;
                }
                _ => out.extend_from_slice(b"*?"),
            }
        }
    }
    if open {
        out.push(b'*');
    }
    out.push(b')');
}

/// `(cn:dn:2.5.13.5:=?)`
fn extensible(filter: Element<'_>, out: &mut Vec<u8>) {
    let (mut rule, mut attribute, mut dn): (&[u8], &[u8], bool) = (b"", b"", false);
    for part in filter.inside() {
        match part.tag {
            0x81 => rule = part.content,
            0x82 => attribute = part.content,
            0x84 => dn = part.content.first().is_some_and(|byte| *byte != 0),
            _ => {}
        }
    }
    out.push(b'(');
    name(attribute, out);
    if dn {
        out.extend_from_slice(b":dn");
    }
    if !rule.is_empty() {
        out.push(b':');
        name(rule, out);
    }
    out.extend_from_slice(b":=?)");
}

/// An attribute description in lower case; a byte that none has becomes `_`.
fn name(bytes: &[u8], out: &mut Vec<u8>) {
    let kept = &bytes[..bytes.len().min(LONGEST_NAME)];
    out.extend(kept.iter().map(|byte| match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b';' => *byte,
        b'A'..=b'Z' => byte.to_ascii_lowercase(),
        _ => b'_',
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ber::Walk;

    fn element(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut made = vec![tag, 0x82, (content.len() >> 8) as u8, content.len() as u8];
        made.extend_from_slice(content);
        made
    }

    fn equal(attribute: &[u8], value: &[u8]) -> Vec<u8> {
        element(0xa3, &[element(4, attribute), element(4, value)].concat())
    }

    fn shown(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        shape(Walk::over(bytes, bytes.len() as u64).next().unwrap(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn branches_are_sorted_and_each_once() {
        let parts = [equal(b"UID", b"7"), equal(b"cn", b"a"), equal(b"uid", b"8"), element(0x87, b"objectClass")].concat();
        assert_eq!(shown(&element(0xa0, &parts)), "(&(cn=?)(objectclass=*)(uid=?))");
    }

    #[test]
    fn every_kind_has_a_shape() {
        let pieces = [element(0x80, b"a"), element(0x81, b"b"), element(0x82, b"c")].concat();
        let middle = [element(4, b"cn"), element(0x30, &pieces)].concat();
        assert_eq!(shown(&element(0xa4, &middle)), "(cn=?*?*?)");
        let any = [element(4, b"cn"), element(0x30, &element(0x81, b"b"))].concat();
        assert_eq!(shown(&element(0xa4, &any)), "(cn=*?*)");
        assert_eq!(shown(&element(0xa2, &equal(b"cn", b"x"))), "(!(cn=?))");
        let least = [element(4, b"age"), element(4, b"7")].concat();
        assert_eq!(shown(&element(0xa5, &least)), "(age>=?)");
        assert_eq!(shown(&element(0xa6, &least)), "(age<=?)");
        assert_eq!(shown(&element(0xa8, &least)), "(age~=?)");
        let rule = [element(0x81, b"2.4.6"), element(0x82, b"cn"), element(0x83, b"x"), element(0x84, &[0xff])].concat();
        assert_eq!(shown(&element(0xa9, &rule)), "(cn:dn:2.4.6:=?)");
    }

    #[test]
    fn a_cut_filter_ends_in_dots() {
        let whole = element(0xa0, &[equal(b"cn", b"a"), equal(b"uid", b"7")].concat());
        let mut out = Vec::new();
        shape(Walk::over(&whole[..whole.len() - 14], whole.len() as u64).next().unwrap(), &mut out);
        assert_eq!(out, b"(&(cn=?)(...))");
    }

    #[test]
    fn depth_is_bounded() {
        let mut filter = equal(b"cn", b"x");
        for _ in 0..100 {
            filter = element(0xa2, &filter);
        }
        assert!(shown(&filter).contains("(...)"));
    }
}
