//! Files of captures, byte by byte: pcap of both byte orders and precisions, pcapng, snoop.

/// Time, bytes that were captured, bytes on the wire.
pub type Captured = (u64, Vec<u8>, u32);

pub struct Writer {
    /// The number of the link layer.
    pub number: u32,
    pub swapped: bool,
}

impl Writer {
    fn word(&self, value: u32) -> [u8; 4] {
        if self.swapped {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn half(&self, value: u16) -> [u8; 2] {
        if self.swapped {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn words(&self, values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| self.word(*value)).collect()
    }

    /// Swapped ones have times in nanoseconds.
    pub fn pcap(&self, frames: impl Iterator<Item = Captured>) -> Vec<u8> {
        let magic = if self.swapped {
            0xa1b2_3c4d
        } else {
            0xa1b2_c3d4
        };
        let mut made = self.words(&[magic]);
        made.extend([self.half(2), self.half(4)].concat());
        made.extend(self.words(&[0, 0, 65_535, self.number]));
        for (t_ns, data, wire_bytes) in frames {
            let part = (t_ns % 1_000_000_000) as u32 / if self.swapped { 1 } else { 1000 };
            made.extend(self.words(&[
                (t_ns / 1_000_000_000) as u32,
                part,
                data.len() as u32,
                wire_bytes,
            ]));
            made.extend(data);
        }
        made
    }

    fn block(&self, kind: u32, body: &[u8]) -> Vec<u8> {
        let padded = body.len().next_multiple_of(4);
        let size = self.word(12 + padded as u32);
        let filling = vec![0; padded - body.len()];
        [&self.word(kind)[..], &size, body, &filling, &size].concat()
    }

    fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut made = [self.half(code), self.half(value.len() as u16)].concat();
        made.extend(value);
        made.resize(made.len().next_multiple_of(4), 0);
        made
    }

    /// Two interfaces in turn, with the number of frames that were dropped at the last frame and at the end.
    pub fn blocks(&self, frames: impl Iterator<Item = Captured>) -> Vec<u8> {
        let version = [self.half(1), self.half(0)].concat();
        let header = [&self.word(0x1a2b_3c4d)[..], &version, &[0xff; 8]].concat();
        let mut made = self.block(0x0a0d_0d0a, &header);
        for _ in 0..2 {
            let head = [self.half(self.number as u16), self.half(0)].concat();
            let options = [self.option(9, &[9]), self.option(0, &[])].concat();
            made.extend(self.block(1, &[&head[..], &self.word(0), &options].concat()));
        }
        let dropped = self.option(5, &[1; 8]);
        let end = self.option(0, &[]);
        for (at, (t_ns, data, wire_bytes)) in frames.enumerate() {
            let mut body = self.words(&[
                at as u32 % 2,
                (t_ns >> 32) as u32,
                t_ns as u32,
                data.len() as u32,
                wire_bytes,
            ]);
            body.extend(data);
            body.resize(body.len().next_multiple_of(4), 0);
            if at % 16 == 15 {
                body.extend([self.option(4, &[0; 8]), end.clone()].concat());
            }
            made.extend(self.block(6, &body));
        }
        let statistics = [self.words(&[0, 0, 0]), dropped, end].concat();
        made.extend(self.block(5, &statistics));
        made
    }

    pub fn snoop(frames: impl Iterator<Item = Captured>) -> Vec<u8> {
        let mut made = b"snoop\0\0\0\0\0\0\x02\0\0\0\x04".to_vec();
        for (t_ns, mut data, wire_bytes) in frames {
            let included = data.len() as u32;
            data.resize(data.len().next_multiple_of(4), 0);
            let times = [t_ns / 1_000_000_000, t_ns % 1_000_000_000 / 1000].map(|part| part as u32);
            for word in [
                wire_bytes,
                included,
                24 + data.len() as u32,
                0,
                times[0],
                times[1],
            ] {
                made.extend(word.to_be_bytes());
            }
            made.extend(data);
        }
        made
    }
}
