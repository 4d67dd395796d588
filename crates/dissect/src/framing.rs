//! Messages in the bytes of one direction: cut at their lengths, found again behind a hole, taken out of the layers around them.

use crate::message::{self, Side, Start};
use crate::packet::At;
use crate::proxied::{self, Proxied};
use crate::sasl::{self, Buffers, MOST_OF_TRAILER, Taken};
use assay_ldap::ber::{self, Flaw};

/// Bytes of a message that are kept: a filter is among the first of a request, a code among the first of an answer.
const MOST_OF_REQUEST: usize = 64 << 10;
const MOST_OF_ANSWER: usize = 512;

/// What the bytes of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    Tls,
    /// Sealed buffers of SASL.
    Sealed,
    /// Something else on a port of TLS.
    Unknown,
}

/// Receives the messages of a direction.
pub trait Messages {
    /// A message, as far as it is there; the frame of its last byte, None where that was lost.
    fn message(&mut self, bytes: &[u8], length: u64, at: Option<At>);
    /// Messages may be lost here.
    fn lost(&mut self);
    /// Bytes that belong to no message that could be read.
    fn skipped(&mut self, bytes: u64);
    /// Something else than LDAP begins, and the rest is to be left alone.
    fn layer(&mut self, layer: Layer);
    /// Buffers of SASL begin, which are read.
    fn buffers(&mut self);
    /// Whether a bind asked for such buffers.
    fn may_have_buffers(&self) -> bool;
    /// A proxy names the client.
    fn proxied(&mut self, client: Option<[u8; 16]>);
    /// Something that begins like no message.
    fn malformed(&mut self);
    /// Whether the connection's bytes are left alone.
    fn is_opaque(&self) -> bool;
    /// Whether what is no LDAP there is TLS.
    fn is_of_tls(&self) -> bool;
    /// Bytes that are left alone.
    fn opaque(&mut self, bytes: &[u8], at: At);
    /// Bytes that are left alone, and are not there.
    fn opaque_bytes(&mut self, count: u64);
}

/// A message that has begun.
#[derive(Default)]
struct Begun {
    kept: Vec<u8>,
    /// Bytes of it that went by, captured or not.
    seen: u64,
    /// 0: not known yet.
    length: u64,
    at: At,
    /// Bytes are missing; nothing behind them is kept.
    holed: bool,
}

/// The state of one direction.
pub struct Framing {
    side: Side,
    /// Whether the next byte is known to be inside, or at the start, of a message.
    in_step: bool,
    begun: Begun,
    /// Whether the first bytes of the connection come, or those that are kept may be the header of a proxy.
    is_first: bool,
    buffers: Option<Box<Buffers>>,
    /// Bytes of a buffer's clear part behind those that are read; None outside of one.
    inside: Option<u32>,
    /// Bytes at the end of a buffer that begin no message.
    trailer: u8,
}

impl Framing {
    pub fn new(side: Side) -> Self {
        Self {
            side,
            in_step: false,
            begun: Begun::default(),
            is_first: false,
            buffers: None,
            inside: None,
            trailer: 0,
        }
    }

    /// The next byte is the first of the connection.
    pub fn begin(&mut self) {
        self.in_step = true;
        self.begun = Begun::default();
        self.is_first = self.side == Side::Client;
    }

    fn most_kept(&self) -> usize {
        match self.side {
            Side::Client => MOST_OF_REQUEST,
            Side::Server => MOST_OF_ANSWER,
        }
    }

    /// Takes bytes in order.
    #[inline]
    pub fn bytes(&mut self, data: &[u8], at: At, out: &mut impl Messages) {
        let joined;
        let mut rest = data;
        if self.is_first {
            let Some(bytes) = self.started(data, out) else {
                return;
            };
            joined = bytes;
            rest = &joined;
        }
        self.read(rest, at, out);
    }

    /// The first bytes of a connection, without the header of a proxy; None where more are needed.
    fn started(&mut self, data: &[u8], out: &mut impl Messages) -> Option<Vec<u8>> {
        self.is_first = false;
        let mut bytes = std::mem::take(&mut self.begun.kept);
        bytes.extend_from_slice(data);
        match proxied::read(&bytes) {
            Proxied::Header(length, client) => {
                out.proxied(client);
                Some(bytes.split_off(length))
            }
            Proxied::Perhaps => {
                (self.begun.kept, self.is_first) = (bytes, true);
                None
            }
            Proxied::No => Some(bytes),
        }
    }

    fn read(&mut self, data: &[u8], at: At, out: &mut impl Messages) {
        let mut joined = Vec::new();
        let mut rest = data;
        if !self.in_step && !self.begun.kept.is_empty() {
            joined.append(&mut self.begun.kept);
            joined.extend_from_slice(data);
            rest = &joined;
        }
        while !rest.is_empty() {
            if out.is_opaque() {
                out.opaque(rest, at);
                return;
            }
            rest = if self.buffers.is_some() && self.inside.is_none() {
                self.buffered(rest, at, out)
            } else if self.in_step {
                self.step(rest, at, out)
            } else {
                self.search(rest, out)
            };
        }
    }

    /// Takes a buffer, or as much of it as is there.
    fn buffered<'a>(&mut self, data: &'a [u8], at: At, out: &mut impl Messages) -> &'a [u8] {
        let Some(mut buffers) = self.buffers.take() else {
            return data;
        };
        if buffers.lost {
            let begins = |from: &usize| sasl::begins(&data[*from..], self.side);
            let from = (0..data.len()).find(begins);
            out.skipped(from.unwrap_or(data.len()) as u64);
            buffers.lost = from.is_none();
            self.buffers = Some(buffers);
            return &data[from.unwrap_or(data.len())..];
        }
        let side = self.side;
        let goes_on = self.begun.length > 0;
        let taken = buffers.take(data, side, goes_on, &mut |buffers, clear| {
            self.inside = Some(buffers.left() as u32);
            self.clear(clear, at, buffers, out);
            self.inside = None;
        });
        match taken {
            Taken::Rest(rest) => {
                self.buffers = Some(buffers);
                rest
            }
            Taken::Sealed(rest, before) => {
                out.layer(Layer::Sealed);
                out.opaque_bytes(before);
                rest
            }
            Taken::Lost(rest) => {
                out.malformed();
                self.resume(out);
                buffers.lost = true;
                self.buffers = Some(buffers);
                rest
            }
        }
    }

    /// Reads a part of a buffer that is clear.
    fn clear(&mut self, data: &[u8], at: At, buffers: &mut Buffers, out: &mut impl Messages) {
        if std::mem::take(&mut buffers.is_fresh) && self.begun.length == 0 {
            self.begun = Begun::default();
            self.in_step = true;
        }
        self.read(data, at, out);
        match std::mem::take(&mut self.trailer) {
            0 => {}
            trailer => buffers.ends_with(trailer.into()),
        }
    }

    /// Looks for the start of a message; gives the bytes from there on.
    fn search<'a>(&mut self, data: &'a [u8], out: &mut impl Messages) -> &'a [u8] {
        if self.inside.is_none() && self.layered(data, false, out) {
            return data;
        }
        for at in 0..data.len() {
            match message::start(&data[at..], self.side) {
                Start::Yes => {
                    out.skipped(at as u64);
                    self.in_step = true;
                    return &data[at..];
                }
                Start::Perhaps if data.len() - at < message::CERTAIN => {
                    out.skipped(at as u64);
                    self.begun.kept = data[at..].to_vec();
                    return &[];
                }
                _ if at == 0 && out.is_of_tls() => {
                    out.layer(Layer::Unknown);
                    return data;
                }
                Start::Perhaps | Start::No => {}
            }
        }
        out.skipped(data.len() as u64);
        &[]
    }

    /// Whether something else than a message begins here, which is taken note of.
    fn layered(&mut self, data: &[u8], in_step: bool, out: &mut impl Messages) -> bool {
        let is_tls = match data {
            [0x14..=0x17, 3, 0..=4, ..] => true,
            [0x16] | [0x16, 3] => in_step,
            _ => false,
        };
        if is_tls {
            out.layer(Layer::Tls);
            return true;
        }
        let has_buffers = data.first() == Some(&0)
            && ((in_step && out.may_have_buffers()) || sasl::begins(data, self.side));
        if has_buffers {
            self.buffers = Some(Box::default());
            self.in_step = true;
            out.buffers();
        }
        has_buffers
    }

    /// Goes one message on, or as far as the bytes go.
    #[inline]
    fn step<'a>(&mut self, data: &'a [u8], at: At, out: &mut impl Messages) -> &'a [u8] {
        if self.begun.length > 0 {
            return self.go_on(data, at, out);
        }
        if !self.begun.kept.is_empty() {
            return self.complete_header(data, at, out);
        }
        match length(data) {
            Ok(Some(length)) if length <= data.len() as u64 => {
                let (whole, rest) = data.split_at(length as usize);
                out.message(whole, length, Some(at));
                rest
            }
            Ok(found) => {
                let kept = data[..data.len().min(self.most_kept())].to_vec();
                self.begun = Begun {
                    kept,
                    seen: data.len() as u64,
                    length: found.unwrap_or(0),
                    at,
                    holed: false,
                };
                &[]
            }
            Err(()) => self.out_of_step(data, out),
        }
    }

    fn out_of_step<'a>(&mut self, data: &'a [u8], out: &mut impl Messages) -> &'a [u8] {
        self.in_step = false;
        self.begun = Begun::default();
        if let Some(behind) = self.inside {
            // At the end of a buffer this may be its checksum.
            if behind == 0 && data.len() <= MOST_OF_TRAILER {
                self.trailer = data.len() as u8;
                self.in_step = true;
                return &[];
            }
        } else if self.layered(data, true, out) {
            return data;
        } else if out.is_of_tls() {
            out.layer(Layer::Unknown);
            return data;
        }
        out.malformed();
        out.lost();
        out.skipped(1);
        &data[1..]
    }

    /// The header of a message comes in pieces.
    fn complete_header<'a>(&mut self, data: &'a [u8], at: At, out: &mut impl Messages) -> &'a [u8] {
        self.begun.kept.push(data[0]);
        self.begun.seen += 1;
        self.begun.at = self.begun.at.max(at);
        let Ok(found) = length(&self.begun.kept) else {
            out.skipped(self.begun.seen - 1);
            return self.out_of_step(data, out);
        };
        self.begun.length = found.unwrap_or(0);
        self.ended(out);
        &data[1..]
    }

    fn go_on<'a>(&mut self, data: &'a [u8], at: At, out: &mut impl Messages) -> &'a [u8] {
        let most = self.most_kept();
        let begun = &mut self.begun;
        let count = usize::try_from(begun.length - begun.seen)
            .unwrap_or(usize::MAX)
            .min(data.len());
        if !begun.holed {
            let room = most.saturating_sub(begun.kept.len()).min(count);
            begun.kept.extend_from_slice(&data[..room]);
        }
        begun.seen += count as u64;
        begun.at = begun.at.max(at);
        self.ended(out);
        &data[count..]
    }

    /// Hands a message on whose last byte was seen.
    fn ended(&mut self, out: &mut impl Messages) {
        if self.begun.length > 0 && self.begun.seen >= self.begun.length {
            let begun = std::mem::take(&mut self.begun);
            out.message(&begun.kept, begun.length, Some(begun.at));
        }
    }

    /// Takes a hole: bytes that were cut off a frame, or that were lost with their frames.
    pub fn hole(&mut self, count: u32, at: Option<At>, out: &mut impl Messages) {
        self.is_first = false;
        if out.is_opaque() {
            if at.is_some() {
                out.opaque_bytes(count.into());
            }
            return;
        }
        let mut count = u64::from(count);
        if let Some(buffers) = &mut self.buffers {
            count = buffers.hole(count);
            if buffers.lost {
                self.resume(out);
                return;
            }
        }
        if count > 0 {
            self.gap(count, at, out);
        }
    }

    fn gap(&mut self, count: u64, at: Option<At>, out: &mut impl Messages) {
        if !self.in_step || self.begun.length == 0 {
            out.skipped(self.begun.kept.len() as u64);
            self.resume(out);
            return;
        }
        let begun = &mut self.begun;
        begun.holed = true;
        let (seen, end) = (begun.seen + count, begun.length);
        begun.seen = seen.min(end);
        begun.at = begun.at.max(at.unwrap_or_default());
        if seen < end {
            return;
        }
        let begun = std::mem::take(&mut self.begun);
        out.message(&begun.kept, begun.length, at.map(|_| begun.at));
        if seen > end {
            self.resume(out);
        }
    }

    /// Nothing is known of the next byte.
    pub fn restart(&mut self, out: &mut impl Messages) {
        self.is_first = false;
        if let Some(buffers) = &mut self.buffers {
            buffers.hole(u64::MAX >> 1);
        }
        self.resume(out);
    }

    /// Goes on with the next message.
    fn resume(&mut self, out: &mut impl Messages) {
        self.in_step = false;
        self.begun = Begun::default();
        out.lost();
    }
}

/// Bytes of the message that begins here; None where its header is not complete.
fn length(data: &[u8]) -> Result<Option<u64>, ()> {
    match ber::read(data) {
        Ok(found)
            if found.tag == message::SEQUENCE
                && (message::SHORTEST..=message::LONGEST).contains(&found.length) =>
        {
            Ok(Some(found.span() as u64))
        }
        Err(Flaw::Cut) if data.first() == Some(&message::SEQUENCE) => Ok(None),
        _ => Err(()),
    }
}
