//! `assay-engine ldif`: a population as LDIF on standard output, and what it was on standard error.

use assay_ldif::{Own, Population, Suffix, Template};
use std::io::Write;

const USAGE: &str =
    "found {}; expected ldif --template NAME --entries N --seed N --base DN --own d:N,r:N";
const OPTIONS: [&str; 5] = ["--template", "--base", "--entries", "--seed", "--own"];
const FAILED: i32 = 1;
const MISUSED: i32 = 2;

/// Writes a population and ends the process, where the first argument is `ldif`.
pub fn write_if_asked() {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() != Some("ldif") {
        return;
    }
    let words: Vec<String> = words.collect();
    match population(&words) {
        Ok(population) => std::process::exit(written(&population)),
        Err(mistakes) => {
            eprintln!("{}", mistakes.join("\n"));
            std::process::exit(MISUSED);
        }
    }
}

fn written(population: &Population) -> i32 {
    let mut out = std::io::stdout().lock();
    match population.write(&mut out) {
        Ok(written) => {
            let (entries, bytes) = (written.entries, written.bytes);
            let _ = writeln!(
                std::io::stderr(),
                "{{\"entries\": {entries}, \"bytes\": {bytes}}}"
            );
            0
        }
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            eprintln!("standard output: not written ({error}). Free some space.");
            FAILED
        }
    }
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
