//! Messages in the bytes of one direction: cut at their lengths, found again behind a hole.

use crate::message::{self, Side, Start};
use assay_ldap::ber::{self, Flaw};

/// Bytes of a message that are kept: a filter is among the first of a request, a code among the first of an answer.
const MOST_OF_REQUEST: usize = 64 << 10;
const MOST_OF_ANSWER: usize = 512;

/// What the bytes of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    Tls,
    /// A SASL layer: a length of four bytes before each part.
    Sasl,
}

/// Receives the messages of a direction.
pub trait Messages {
    /// A message, as far as it is there; the time of its last byte, None where the frame that had it was lost.
    fn message(&mut self, bytes: &[u8], length: u64, t_ns: Option<u64>);
    /// Messages may be lost here.
    fn lost(&mut self);
    /// Bytes that belong to no message that could be read.
    fn skipped(&mut self, bytes: u64);
    /// Something else than LDAP begins: true where the rest is to be left alone.
    fn layer(&mut self, layer: Layer) -> bool;
    /// Something that begins like no message.
    fn malformed(&mut self);
    /// Whether the connection's bytes are left alone.
    fn is_opaque(&self) -> bool;
}

/// A message that has begun.
#[derive(Default)]
struct Begun {
    kept: Vec<u8>,
    /// Bytes of it that went by, captured or not.
    seen: u64,
    /// 0: not known yet.
    length: u64,
    t_ns: u64,
    /// Bytes are missing; nothing behind them is kept.
    holed: bool,
}

/// The state of one direction.
pub struct Framing {
    side: Side,
    /// Whether the next byte is known to be inside, or at the start, of a message.
    in_step: bool,
    begun: Begun,
}

impl Framing {
    pub fn new(side: Side, in_step: bool) -> Self {
        Self {
            side,
            in_step,
            begun: Begun::default(),
        }
    }

    /// The next byte is the first of the connection.
    pub fn begin(&mut self) {
        self.in_step = true;
        self.begun = Begun::default();
    }

    fn most_kept(&self) -> usize {
        match self.side {
            Side::Client => MOST_OF_REQUEST,
            Side::Server => MOST_OF_ANSWER,
        }
    }

    /// Takes bytes in order.
    pub fn bytes(&mut self, data: &[u8], t_ns: u64, out: &mut impl Messages) {
        let mut joined = Vec::new();
        let mut rest = data;
        if !self.in_step && !self.begun.kept.is_empty() {
            joined.append(&mut self.begun.kept);
            joined.extend_from_slice(data);
            rest = &joined;
        }
        while !rest.is_empty() && !out.is_opaque() {
            rest = if self.in_step {
                self.step(rest, t_ns, out)
            } else {
                self.search(rest, out)
            };
        }
    }

    /// Looks for the start of a message; gives the bytes from there on.
    fn search<'a>(&mut self, data: &'a [u8], out: &mut impl Messages) -> &'a [u8] {
        if let Some(layer) = layer(data)
            && out.layer(layer)
        {
            return &[];
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
                Start::Perhaps | Start::No => {}
            }
        }
        out.skipped(data.len() as u64);
        &[]
    }

    /// Goes one message on, or as far as the bytes go.
    fn step<'a>(&mut self, data: &'a [u8], t_ns: u64, out: &mut impl Messages) -> &'a [u8] {
        if self.begun.length > 0 {
            return self.go_on(data, t_ns, out);
        }
        if !self.begun.kept.is_empty() {
            return self.complete_header(data, t_ns, out);
        }
        match length(data) {
            Ok(Some(length)) if length <= data.len() as u64 => {
                let (whole, rest) = data.split_at(length as usize);
                out.message(whole, length, Some(t_ns));
                rest
            }
            Ok(found) => {
                let kept = data[..data.len().min(self.most_kept())].to_vec();
                self.begun = Begun {
                    kept,
                    seen: data.len() as u64,
                    length: found.unwrap_or(0),
                    t_ns,
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
        if layer(data).is_some_and(|layer| out.layer(layer)) {
            return &[];
        }
        out.malformed();
        out.lost();
        out.skipped(1);
        &data[1..]
    }

    /// The header of a message comes in pieces.
    fn complete_header<'a>(
        &mut self,
        data: &'a [u8],
        t_ns: u64,
        out: &mut impl Messages,
    ) -> &'a [u8] {
        self.begun.kept.push(data[0]);
        self.begun.seen += 1;
        self.begun.t_ns = self.begun.t_ns.max(t_ns);
        let Ok(found) = length(&self.begun.kept) else {
            out.skipped(self.begun.seen - 1);
            return self.out_of_step(data, out);
        };
        self.begun.length = found.unwrap_or(0);
        self.ended(out);
        &data[1..]
    }

    fn go_on<'a>(&mut self, data: &'a [u8], t_ns: u64, out: &mut impl Messages) -> &'a [u8] {
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
        begun.t_ns = begun.t_ns.max(t_ns);
        self.ended(out);
        &data[count..]
    }

    /// Hands a message on whose last byte was seen.
    fn ended(&mut self, out: &mut impl Messages) {
        if self.begun.length > 0 && self.begun.seen >= self.begun.length {
            let begun = std::mem::take(&mut self.begun);
            out.message(&begun.kept, begun.length, Some(begun.t_ns));
        }
    }

    /// Takes a hole: bytes that were cut off a frame of this time, or that were lost with their frames.
    pub fn hole(&mut self, count: u32, t_ns: Option<u64>, out: &mut impl Messages) {
        if out.is_opaque() {
            return;
        }
        if !self.in_step || self.begun.length == 0 {
            out.skipped(self.begun.kept.len() as u64);
            self.restart(out);
            return;
        }
        let begun = &mut self.begun;
        begun.holed = true;
        let (seen, end) = (begun.seen + u64::from(count), begun.length);
        begun.seen = seen.min(end);
        begun.t_ns = begun.t_ns.max(t_ns.unwrap_or(0));
        if seen < end {
            return;
        }
        let begun = std::mem::take(&mut self.begun);
        out.message(&begun.kept, begun.length, t_ns.map(|_| begun.t_ns));
        if seen > end {
            self.restart(out);
        }
    }

    /// Nothing is known of the next byte.
    pub fn restart(&mut self, out: &mut impl Messages) {
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

/// What begins here instead of a message.
fn layer(data: &[u8]) -> Option<Layer> {
    match data {
        [0x14..=0x17, 3, 0..=4, ..] => Some(Layer::Tls),
        [0, _, ..] => Some(Layer::Sasl),
        _ => None,
    }
}
