//! Files of captures, byte by byte: pcap of both byte orders and precisions, pcapng, snoop.

/// The file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Pcap,
    /// The other byte order, in nanoseconds.
    PcapSwapped,
    NextGeneration,
    NextGenerationSwapped,
    Snoop,
}

const SECOND_NS: u64 = 1_000_000_000;

/// A file that is being written: whole in memory, each byte where it stays.
pub struct Writer {
    format: Format,
    made: Vec<u8>,
    frames: u32,
}

impl Writer {
    /// With the header, for frames of a link layer of this number.
    pub fn new(format: Format, link: u32) -> Self {
        let (made, frames) = (Vec::with_capacity(1 << 14), 0);
        let mut writer = Self {
            format,
            made,
            frames,
        };
        match format {
            Format::Pcap => writer.pcap(0xa1b2_c3d4, link),
            Format::PcapSwapped => writer.pcap(0xa1b2_3c4d, link),
            Format::NextGeneration | Format::NextGenerationSwapped => writer.section(link as u16),
            Format::Snoop => writer.made.extend(b"snoop\0\0\0\0\0\0\x02\0\0\0\x04"),
        }
        writer
    }

    fn is_swapped(&self) -> bool {
        matches!(
            self.format,
            Format::PcapSwapped | Format::NextGenerationSwapped
        )
    }

    fn put(&mut self, values: &[u32]) {
        for value in values {
            self.made.extend(self.word(*value));
        }
    }

    fn word(&self, value: u32) -> [u8; 4] {
        if self.is_swapped() || self.format == Format::Snoop {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn halves(&mut self, values: [u16; 2]) {
        for value in values {
            self.made.extend(if self.is_swapped() {
                value.to_be_bytes()
            } else {
                value.to_le_bytes()
            });
        }
    }

    fn set(&mut self, at: usize, values: &[u32]) {
        for (place, value) in values.iter().enumerate() {
            let word = self.word(*value);
            self.made[at + 4 * place..][..4].copy_from_slice(&word);
        }
    }

    fn pad(&mut self) {
        self.made.resize(self.made.len().next_multiple_of(4), 0);
    }

    fn pcap(&mut self, magic: u32, link: u32) {
        self.put(&[magic]);
        self.halves([2, 4]);
        self.put(&[0, 0, 65_535, link]);
    }

    /// A block of pcapng.
    fn block(&mut self, kind: u32, put: impl FnOnce(&mut Self)) {
        let at = self.made.len();
        self.put(&[kind, 0]);
        put(self);
        self.pad();
        let size = (self.made.len() + 4 - at) as u32;
        self.set(at + 4, &[size]);
        self.put(&[size]);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.halves([code, value.len() as u16]);
        self.made.extend(value);
        self.pad();
    }

    /// The begin of a pcapng file: two interfaces.
    fn section(&mut self, link: u16) {
        self.block(0x0a0d_0d0a, |one| {
            one.put(&[0x1a2b_3c4d]);
            one.halves([1, 0]);
            one.made.extend([0xff; 8]);
        });
        for _ in 0..2 {
            self.block(1, |one| {
                one.halves([link, 0]);
                one.put(&[0]);
                one.option(9, &[9]);
                one.option(0, &[]);
            });
        }
    }

    /// Adds a frame, of which so many bytes are captured.
    pub fn frame(&mut self, t_ns: u64, most: usize, put: impl FnOnce(&mut Vec<u8>)) {
        let number = self.frames;
        self.frames += 1;
        let (seconds, rest_ns) = ((t_ns / SECOND_NS) as u32, (t_ns % SECOND_NS) as u32);
        match self.format {
            Format::Pcap | Format::PcapSwapped => {
                let unit_ns = if self.is_swapped() { 1 } else { 1000 };
                let (at, sizes) = self.captured(16, most, put);
                self.set(at, &[seconds, rest_ns / unit_ns, sizes[0], sizes[1]]);
            }
            Format::Snoop => {
                let (at, [kept, wire]) = self.captured(24, most, put);
                self.pad();
                let size = (self.made.len() - at) as u32;
                self.set(at, &[wire, kept, size, 0, seconds, rest_ns / 1000]);
            }
            _ => self.block(6, |one| {
                let (at, [kept, wire]) = one.captured(20, most, put);
                let times = [(t_ns >> 32) as u32, t_ns as u32];
                one.set(at, &[number % 2, times[0], times[1], kept, wire]);
                one.pad();
                if number % 16 == 15 {
                    one.option(4, &[0; 8]);
                    one.option(0, &[]);
                }
            }),
        }
    }

    /// Room for a header, and the frame as far as it is captured: where the header is, bytes captured and on the wire.
    fn captured(
        &mut self,
        header: usize,
        most: usize,
        put: impl FnOnce(&mut Vec<u8>),
    ) -> (usize, [u32; 2]) {
        let at = self.made.len();
        let begin = at + header;
        self.made.resize(begin, 0);
        put(&mut self.made);
        let wire_bytes = self.made.len() - begin;
        let kept = wire_bytes.min(most);
        self.made.truncate(begin + kept);
        (at, [kept as u32, wire_bytes as u32])
    }

    /// The file; pcapng ends with how many frames an interface dropped.
    pub fn ended(mut self) -> Vec<u8> {
        if matches!(
            self.format,
            Format::NextGeneration | Format::NextGenerationSwapped
        ) {
            self.block(5, |one| {
                one.put(&[0, 0, 0]);
                one.option(5, &[1; 8]);
                one.option(0, &[]);
            });
        }
        self.made
    }
}
