//! `assay-engine ldif`: a population as LDIF on standard output, and what it was on standard error.

use crate::aligned::Aligned;
use assay_ldif::{Own, Population, Suffix, Template};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

const USAGE: &str =
    "found {}; expected ldif --template NAME --entries N --seed N --base DN --own d:N,r:N";
const OPTIONS: [&str; 7] = [
    "--template",
    "--base",
    "--entries",
    "--seed",
    "--own",
    OUTPUT,
    TO,
];
/// What standard output is, for its errors.
const OUTPUT: &str = "--output";
/// A file that is made or replaced, instead of standard output.
const TO: &str = "--to";
const FAILED: i32 = 1;
const MISUSED: i32 = 2;
/// Bytes of a write past the page cache, in whole pages.
const DIRECT: usize = 1 << 20;

/// Writes a population and ends the process, where the first argument is `ldif`.
pub fn write_if_asked() {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() != Some("ldif") {
        return;
    }
    let words: Vec<String> = words.collect();
    match population(&words) {
        Ok(population) => {
            let to = named(&words, TO);
            std::process::exit(written(&population, to.as_deref(), &output(&words)))
        }
        Err(mistakes) => {
            eprintln!("{}", mistakes.join("\n"));
            std::process::exit(MISUSED);
        }
    }
}

fn named(words: &[String], option: &str) -> Option<String> {
    let pair = words.chunks(2).find(|pair| pair[0] == option);
    pair.map(|pair| pair[1].clone())
}

fn output(words: &[String]) -> String {
    let named = named(words, OUTPUT).or_else(|| named(words, TO));
    named.unwrap_or_else(|| "standard output".to_owned())
}

fn written(population: &Population, to: Option<&str>, output: &str) -> i32 {
    let stdout = io::stdout();
    let done = match (to, PastCache::of(stdout.as_fd(), DIRECT)) {
        (Some(path), _) => std::fs::File::create(path)
            .and_then(|file| population.write(&mut io::BufWriter::with_capacity(DIRECT, file))),
        (None, Some(mut file)) => population.write(&mut file),
        (None, None) => population.write(&mut stdout.lock()),
    };
    match done {
        Ok(written) => {
            let (entries, bytes) = (written.entries, written.bytes);
            let _ = writeln!(
                io::stderr(),
                "{{\"entries\": {entries}, \"bytes\": {bytes}}}"
            );
            0
        }
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            eprintln!("assay: {output}: not written ({error}). Free some space.");
            FAILED
        }
    }
}

/// A file whose whole pages are written past the page cache, and whose end is written through it.
struct PastCache<'a> {
    file: BorrowedFd<'a>,
    gathered: Aligned,
    filled: usize,
}

impl<'a> PastCache<'a> {
    /// None where this is no file, or was not opened for that.
    fn of(file: BorrowedFd<'a>, length: usize) -> Option<Self> {
        let is_file = FileType::from_raw_mode(fstat(file).ok()?.st_mode) == FileType::RegularFile;
        (is_file && is_direct(file)).then_some(())?;
        let gathered = Aligned::new(length)?;
        Some(Self {
            file,
            gathered,
            filled: 0,
        })
    }

    fn pass_on(&mut self) -> io::Result<()> {
        let mut left = &self.gathered[..self.filled];
        while !left.is_empty() {
            match rustix::io::write(self.file, left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => left = &left[written..],
                Err(Errno::INTR) => {}
                // A file system that takes no such writes, or none at this place.
                Err(Errno::INVAL) if is_direct(self.file) => through_cache(self.file)?,
                Err(error) => return Err(error.into()),
            }
        }
        self.filled = 0;
        Ok(())
    }
}

impl Write for PastCache<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.gathered.len() - self.filled);
        self.gathered[self.filled..self.filled + taken].copy_from_slice(&bytes[..taken]);
        self.filled += taken;
        if self.filled == self.gathered.len() {
            self.pass_on()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        through_cache(self.file)?;
        self.pass_on()
    }
}

fn is_direct(file: BorrowedFd<'_>) -> bool {
    fcntl_getfl(file).is_ok_and(|flags| flags.contains(OFlags::DIRECT))
}

fn through_cache(file: BorrowedFd<'_>) -> io::Result<()> {
    Ok(fcntl_setfl(file, fcntl_getfl(file)? - OFlags::DIRECT)?)
}

/// The population that these words ask for, or every mistake in them.
fn population(words: &[String]) -> Result<Population, Vec<String>> {
    let mut mistakes = Vec::new();
    let known = |name: &str, otherwise: &str| {
        let at = words.iter().position(|word| word == name);
        at.and_then(|at| words.get(at + 1))
            .map_or(otherwise, String::as_str)
            .to_owned()
    };
    let template = Template::named(&known("--template", "person"));
    let suffix = Suffix::parse(&known("--base", "dc=example,dc=com"));
    let entries = number("--entries", &known("--entries", ""));
    let seed = number("--seed", &known("--seed", "0"));
    let own = own_entries(&known("--own", ""));
    let strange = words
        .chunks(2)
        .find(|pair| pair.len() < 2 || !OPTIONS.contains(&pair[0].as_str()));
    if let Some(pair) = strange {
        mistakes.push(USAGE.replace("{}", &pair.join(" ")));
    }
    let mut found = |text: Option<&String>| mistakes.extend(text.cloned());
    found(template.as_ref().err());
    found(suffix.as_ref().err());
    found(entries.as_ref().err());
    found(seed.as_ref().err());
    found(own.as_ref().err());
    match (template, suffix, entries, seed, own) {
        (Ok(template), Ok(suffix), Ok(entries), Ok(seed), Ok(own)) if mistakes.is_empty() => {
            Ok(Population {
                template,
                entries,
                seed,
                suffix,
                own,
            })
        }
        _ => Err(mistakes),
    }
}

/// Entries of a load: `d:1000,r:1000`.
fn own_entries(text: &str) -> Result<Vec<Own>, String> {
    let one = |part: &str| {
        let (letter, count) = part.split_once(':')?;
        let letter = letter.parse().ok().filter(char::is_ascii_lowercase)?;
        let entries = count.parse().ok()?;
        Some(Own { letter, entries })
    };
    let parts = text.split(',').filter(|part| !part.is_empty());
    let read: Option<Vec<Own>> = parts.map(one).collect();
    read.ok_or_else(|| format!("found --own {text:?}; expected LETTER:N,LETTER:N"))
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("found {name} {text:?}; expected a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, OpenOptions};
    use std::io::Seek;
    use std::os::unix::fs::OpenOptionsExt;

    /// A file that was opened for writes past the page cache, if this file system has them; its path.
    fn direct(name: &str) -> Option<(File, std::path::PathBuf)> {
        let path = std::env::temp_dir().join(format!("assay-ldif-{name}-{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let opened = options.custom_flags(libc::O_DIRECT).open(&path);
        opened.ok().map(|file| (file, path))
    }

    #[test]
    fn the_bytes_are_the_same_past_the_page_cache() {
        for entries in [0, 1, 15, 200, 1000] {
            let Some((file, path)) = direct("same") else {
                return;
            };
            let population = of(&format!("--entries {entries}")).unwrap();
            let mut plain = Vec::new();
            let wanted = population.write(&mut plain).unwrap();
            let mut out = PastCache::of(file.as_fd(), 8192).unwrap();
            assert_eq!(population.write(&mut out).unwrap(), wanted);
            assert!(!is_direct(file.as_fd()), "the end went through the cache");
            assert!(std::fs::read(&path).unwrap() == plain, "{entries} entries");
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn a_place_that_takes_no_direct_write_is_written_through_the_cache() {
        let Some((mut file, path)) = direct("place") else {
            return;
        };
        file.seek(io::SeekFrom::Start(1)).unwrap();
        let mut out = PastCache::of(file.as_fd(), 8192).unwrap();
        out.write_all(&vec![7; 20_000]).unwrap();
        out.flush().unwrap();
        let found = std::fs::read(&path).unwrap();
        assert_eq!((found[0], found.len()), (0, 20_001));
        assert!(found[1..].iter().all(|byte| *byte == 7));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn other_outputs_are_left_as_they_are() {
        let (_reader, writer) = std::io::pipe().unwrap();
        fcntl_setfl(&writer, OFlags::DIRECT).unwrap();
        assert!(PastCache::of(writer.as_fd(), 8192).is_none());
        let plain = File::open("/dev/null").unwrap();
        assert!(PastCache::of(plain.as_fd(), 8192).is_none());
    }

    fn of(line: &str) -> Result<Population, Vec<String>> {
        population(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn every_mistake_at_once() {
        let mistakes = of("--template x --base y --entries many --own d --what 1").unwrap_err();
        assert_eq!(mistakes.len(), 5, "{mistakes:?}");
        assert!(mistakes.iter().all(|one| one.contains("expected")));
    }

    #[test]
    fn a_call_with_defaults() {
        let found = of("--entries 5").unwrap();
        assert_eq!((found.entries, found.seed), (5, 0));
        assert_eq!(found.template, Template::Person);
        assert_eq!(found.own, []);
    }

    #[test]
    fn entries_of_a_load_are_asked_for_by_letter() {
        let own = |letter, entries| Own { letter, entries };
        let found = of("--entries 5 --own d:7,r:8").unwrap();
        assert_eq!(found.own, [own('d', 7), own('r', 8)]);
    }
}
