//! The layer that SASL puts between TCP and LDAP: buffers with a length of four bytes before each.
//!
//! Where it only signs, the messages lie in clear in the buffers, behind or before a checksum. Which part of a buffer is clear
//! follows from the buffer itself: tokens of Kerberos (RFC 4121, RFC 4757) say whether they are sealed; a buffer of NTLM or
//! DIGEST-MD5 (RFC 2831) is clear where a message begins in it.

use crate::message::{self, Side, Start};

/// Bytes before a buffer.
const LENGTH: usize = 4;
/// Bytes of a buffer, from its length on, that tell where its clear part is.
const HEAD: usize = LENGTH + 96;
/// RFC 4422: a buffer has a length of three bytes, as large ones are refused by all.
const LONGEST: usize = 1 << 24;
/// Fewest bytes of a buffer with a message: a checksum is longer than an unbind.
const SHORTEST: usize = 5;
/// The object identifier of Kerberos with the number of a token that wraps data.
const KERBEROS: [u8; 13] = [
    0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02, 0x02, 0x01,
];
const NTLM: [u8; 4] = [1, 0, 0, 0];
/// Bytes of the signatures of NTLM, before a message, and of DIGEST-MD5, behind it.
const SIGNATURE: usize = 16;
/// More bytes behind the last message of a buffer are no checksum.
pub const MOST_OF_TRAILER: usize = 64;

/// What of a buffer is clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// From so many bytes on, without so many at its end.
    Clear(usize, usize),
    Sealed,
}

/// How far bytes were taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken<'a> {
    /// These are left.
    Rest(&'a [u8]),
    /// The buffer is sealed: what is left, and the bytes of it that were taken before.
    Sealed(&'a [u8], u64),
    /// No buffer begins here.
    Lost(&'a [u8]),
}

/// The buffers of one direction.
#[derive(Default)]
pub struct Buffers {
    /// What of the last one was clear.
    form: Option<Form>,
    head: Vec<u8>,
    /// Bytes of this one, with its length, that went by.
    seen: u64,
    /// Bytes of this one with its length; 0 as long as its head is not there.
    length: u64,
    /// The part that is clear.
    clear: std::ops::Range<u64>,
    /// Bytes behind the last message of each buffer.
    trailer: Option<usize>,
    /// It is not known where a buffer begins.
    pub lost: bool,
    /// No clear byte of this one was handed on yet.
    pub is_fresh: bool,
}

impl Buffers {
    /// Bytes of this buffer's clear part that come.
    pub fn left(&self) -> u64 {
        self.clear
            .end
            .saturating_sub(self.seen.max(self.clear.start))
    }

    /// So many bytes at the end of the clear part are no message.
    pub fn ends_with(&mut self, trailer: usize) {
        let known = self
            .trailer
            .unwrap_or(self.length as usize - self.clear.end as usize);
        self.trailer = Some(known + trailer);
    }

    /// Takes bytes up to the end of a buffer and hands its clear part on; `inside`: a message goes on over its begin.
    pub fn take<'a>(
        &mut self,
        data: &'a [u8],
        side: Side,
        inside: bool,
        out: &mut impl FnMut(&mut Self, &[u8]),
    ) -> Taken<'a> {
        let mut rest = data;
        if self.length == 0 {
            let room = (HEAD - self.head.len()).min(rest.len());
            let before = self.head.len();
            self.head.extend_from_slice(&rest[..room]);
            let Some(length) = self.announced() else {
                return Taken::Rest(&rest[room..]);
            };
            if !(SHORTEST..LONGEST).contains(&length) {
                self.head.clear();
                return Taken::Lost(data);
            }
            let known = (LENGTH + length).min(HEAD);
            if self.head.len() < known {
                return Taken::Rest(&rest[room..]);
            }
            self.head.truncate(known);
            let head = std::mem::take(&mut self.head);
            let form = self.formed(&head[LENGTH..], length, side, inside);
            let Form::Clear(from, behind) = form else {
                return Taken::Sealed(data, before as u64);
            };
            self.form = Some(form);
            self.length = (LENGTH + length) as u64;
            let behind = self.trailer.unwrap_or(behind);
            let (from, to) = (LENGTH + from, LENGTH + length.saturating_sub(behind));
            self.clear = from as u64..to.max(from) as u64;
            self.seen = known as u64;
            self.is_fresh = true;
            rest = &rest[known - before..];
            let part = head.get(from..known.min(to)).unwrap_or_default();
            if !part.is_empty() {
                out(self, part);
            }
        }
        let part = rest.len().min((self.length - self.seen) as usize);
        let (mine, rest) = rest.split_at(part);
        let first = self.clear.start.saturating_sub(self.seen).min(part as u64);
        let last = self.clear.end.saturating_sub(self.seen).min(part as u64);
        self.seen += part as u64;
        if first < last {
            out(self, &mine[first as usize..last as usize]);
        }
        self.end();
        Taken::Rest(rest)
    }

    fn announced(&self) -> Option<usize> {
        let length = u32::from_be_bytes(*self.head.first_chunk()?);
        Some(length as usize)
    }

    fn end(&mut self) {
        if self.length > 0 && self.seen >= self.length {
            (self.seen, self.length, self.clear) = (0, 0, 0..0);
        }
    }

    /// Takes a hole: how many bytes of the clear part it has.
    pub fn hole(&mut self, count: u64) -> u64 {
        if self.length == 0 || self.seen + count > self.length {
            let left = self.left();
            *self = Self {
                form: self.form,
                trailer: self.trailer,
                lost: true,
                ..Self::default()
            };
            return left;
        }
        let first = self.clear.start.max(self.seen);
        let last = self.clear.end.min(self.seen + count);
        self.seen += count;
        self.end();
        last.saturating_sub(first)
    }

    /// What of a buffer of so many bytes is clear, by its first ones.
    fn formed(&self, head: &[u8], length: usize, side: Side, inside: bool) -> Form {
        if let Some(form) = kerberos(head, length) {
            return form;
        }
        let begins = |at: usize| {
            let rest = head.get(at..).unwrap_or_default();
            !rest.is_empty() && message::start(rest, side) == Start::Yes
        };
        match self.form {
            Some(Form::Clear(from, behind)) if inside || begins(from) => Form::Clear(from, behind),
            _ if begins(0) => Form::Clear(0, SIGNATURE),
            _ if head.starts_with(&NTLM) && begins(SIGNATURE) => Form::Clear(SIGNATURE, 0),
            _ => (1..=64)
                .find(|at| begins(*at))
                .map_or(Form::Sealed, |at| Form::Clear(at, 0)),
        }
    }
}

/// A token of Kerberos, of either kind.
fn kerberos(head: &[u8], length: usize) -> Option<Form> {
    if let [5, 4, flags, 0xff, ec_high, ec_low, rrc_high, rrc_low, ..] = *head {
        let checksum = usize::from(u16::from_be_bytes([ec_high, ec_low]));
        let rotated = usize::from(u16::from_be_bytes([rrc_high, rrc_low]));
        let room = length.checked_sub(16 + checksum)?;
        // Turned by more than the checksum, a message would begin behind its own end.
        let turned = if room + checksum == 0 {
            0
        } else {
            rotated % (room + checksum)
        };
        if flags & 2 != 0 || turned > checksum {
            return Some(Form::Sealed);
        }
        return Some(Form::Clear(16 + turned, checksum - turned));
    }
    let names = |at: usize| {
        head.get(at..)
            .is_some_and(|rest| rest.starts_with(&KERBEROS))
    };
    let at = (2..=6).find(|at| head.first() == Some(&0x60) && names(*at))?;
    let token = head.get(at + KERBEROS.len()..)?;
    let &[signed, _, sealed, sealed_too, 0xff, 0xff, ..] = token else {
        return None;
    };
    if [sealed, sealed_too] != [0xff, 0xff] {
        return Some(Form::Sealed);
    }
    // Its number in the sequence, the checksum and a confounder.
    let checksum = if signed == 4 { 20 } else { 8 };
    Some(Form::Clear(at + KERBEROS.len() + 6 + 8 + checksum + 8, 1))
}

/// Whether a buffer begins here, where no bind was seen.
pub fn begins(data: &[u8], side: Side) -> bool {
    let Some(head) = data.first_chunk::<LENGTH>() else {
        return false;
    };
    let (length, rest) = (u32::from_be_bytes(*head) as usize, &data[LENGTH..]);
    if !(SHORTEST..LONGEST).contains(&length) || rest.len() < SHORTEST {
        return false;
    }
    let whole = length == rest.len();
    let is_message = |at: usize| {
        let rest = rest.get(at..).unwrap_or_default();
        rest.len() >= message::SHORTEST && message::start(rest, side) == Start::Yes
    };
    kerberos(&rest[..rest.len().min(HEAD)], length).is_some()
        || is_message(0)
        || (rest.starts_with(&NTLM) && (whole || is_message(SIGNATURE)))
        || (whole && length > SIGNATURE && rest[length - 6..length - 4] == [0, 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNBIND: [u8; 7] = [0x30, 5, 2, 1, 7, 0x42, 0];

    fn buffer(parts: &[&[u8]]) -> Vec<u8> {
        let content = parts.concat();
        [&(content.len() as u32).to_be_bytes()[..], &content].concat()
    }

    fn cfx(flags: u8, checksum: u8, rotated: u8) -> [u8; 16] {
        let mut made = [0; 16];
        made[..8].copy_from_slice(&[5, 4, flags, 0xff, 0, checksum, 0, rotated]);
        made
    }

    /// The clear bytes of buffers that come in pieces of this size; None where they are sealed.
    fn clear(bytes: &[u8], size: usize) -> Option<Vec<u8>> {
        let (mut buffers, mut found) = (Buffers::default(), Vec::new());
        for piece in bytes.chunks(size) {
            let mut rest = piece;
            while !rest.is_empty() {
                let mut out = |_: &mut Buffers, part: &[u8]| found.extend_from_slice(part);
                rest = match buffers.take(rest, Side::Client, false, &mut out) {
                    Taken::Rest(rest) => rest,
                    Taken::Sealed(..) => return None,
                    Taken::Lost(_) => panic!("lost"),
                };
            }
        }
        Some(found)
    }

    #[test]
    fn the_clear_part_of_every_form_is_found_in_pieces_of_any_size() {
        let sum = [0xaa; 24];
        let rc4 = [
            &[0x60, 0x30][..],
            &KERBEROS,
            &[0x11, 0, 0xff, 0xff, 0xff, 0xff],
        ]
        .concat();
        let forms = [
            buffer(&[&cfx(4, 12, 12), &sum[..12], &UNBIND]),
            buffer(&[&cfx(1, 12, 0), &UNBIND, &sum[..12]]),
            buffer(&[&cfx(0, 12, 5), &sum[..5], &UNBIND, &sum[..7]]),
            buffer(&[&cfx(0, 24, 24), &sum, &UNBIND]),
            buffer(&[&NTLM, &sum[..12], &UNBIND]),
            buffer(&[&UNBIND, &sum[..10], &[0, 1, 0, 0, 0, 0]]),
            buffer(&[&rc4, &sum, &UNBIND, &[1]]),
        ];
        for (at, form) in forms.iter().enumerate() {
            assert!(begins(form, Side::Client), "{at}");
            for size in 1..=2 * form.len() {
                let found = clear(&form.repeat(3), size);
                assert_eq!(found, Some(UNBIND.repeat(3)), "form {at}, pieces of {size}");
            }
        }
    }

    #[test]
    fn a_token_of_kerberos_that_ends_at_once_is_none() {
        let token = [0x60, 6, 6, 6, 6, 6, 6];
        for length in 0..=token.len() {
            assert!(kerberos(&token[..length], length).is_none());
        }
    }

    #[test]
    fn what_is_sealed_is_no_message() {
        let noise: Vec<u8> = (0..60_u8)
            .map(|byte| byte.wrapping_mul(77) | 0x80)
            .collect();
        let rc4 = [
            &[0x60, 0x30][..],
            &KERBEROS,
            &[0x11, 0, 0x10, 0, 0xff, 0xff],
        ]
        .concat();
        for form in [
            buffer(&[&cfx(6, 0, 28), &noise]),
            buffer(&[&NTLM, &noise]),
            buffer(&[&noise, &[0, 1, 0, 0, 0, 9]]),
            buffer(&[&rc4, &noise]),
        ] {
            assert!(begins(&form, Side::Client));
            assert_eq!(clear(&form, 1000), None);
        }
        assert!(!begins(&buffer(&[&noise]), Side::Client));
    }
}
