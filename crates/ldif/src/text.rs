//! How values stand in LDIF (RFC 2849).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Digits of a key in a name: `u00000042`.
const KEY_DIGITS: usize = 8;
/// Digits of the largest number.
const MOST_DIGITS: usize = 20;

/// Appends one attribute; a value that is no plain text goes as base64.
pub fn attribute(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    if is_plain(value) {
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
    } else {
        out.extend_from_slice(b":: ");
        base64(out, value);
    }
    out.push(b'\n');
}

/// SAFE-STRING of RFC 2849, and no blank at the end.
pub fn is_plain(value: &[u8]) -> bool {
    let first = value.first().copied().unwrap_or(b'a');
    !matches!(first, b' ' | b':' | b'<')
        && value.last() != Some(&b' ')
        && value.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

fn base64(out: &mut Vec<u8>, value: &[u8]) {
    for group in value.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * place)) as usize & 63];
            out.push(if place > group.len() { b'=' } else { letter });
        }
    }
}

/// A whole number in digits.
pub struct Digits {
    digits: [u8; MOST_DIGITS],
    first: usize,
}

impl Digits {
    /// The digits of this number.
    pub fn of(number: u64) -> Digits {
        let mut digits = [b'0'; MOST_DIGITS];
        let (mut first, mut rest) = (MOST_DIGITS, number);
        while rest > 0 {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        Digits { digits, first }
    }

    /// As a number is written.
    pub fn number(&self) -> &[u8] {
        &self.digits[self.first.min(MOST_DIGITS - 1)..]
    }

    /// As a key: at least eight digits.
    pub fn key(&self) -> &[u8] {
        &self.digits[self.first.min(MOST_DIGITS - KEY_DIGITS)..]
    }
}

/// Appends a name as the part of a mail address: small letters without accents.
pub fn address(out: &mut Vec<u8>, name: &str) {
    for letter in name.chars() {
        match letter {
            'ä' | 'Ä' => out.extend_from_slice(b"ae"),
            'ö' | 'Ö' | 'ø' | 'Ø' => out.extend_from_slice(b"oe"),
            'ü' | 'Ü' => out.extend_from_slice(b"ue"),
            'ß' => out.extend_from_slice(b"ss"),
            'é' | 'è' | 'ë' | 'É' => out.push(b'e'),
            'á' | 'ã' | 'å' | 'Å' => out.push(b'a'),
            'í' => out.push(b'i'),
            'ó' => out.push(b'o'),
            'ñ' => out.push(b'n'),
            'ç' => out.push(b'c'),
            _ if letter.is_ascii_alphanumeric() => out.push(letter.to_ascii_lowercase() as u8),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(act: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        act(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_as_rfc_2849_wants_them() {
        assert_eq!(written(|out| attribute(out, "cn", b"Ann")), "cn: Ann\n");
        assert_eq!(
            written(|out| attribute(out, "sn", "Müller".as_bytes())),
            "sn:: TcO8bGxlcg==\n"
        );
        assert_eq!(written(|out| attribute(out, "x", b" a")), "x:: IGE=\n");
        assert_eq!(written(|out| attribute(out, "x", b"a\nb")), "x:: YQpi\n");
    }

    #[test]
    fn keys_and_numbers() {
        assert_eq!(Digits::of(0).key(), b"00000000");
        assert_eq!(Digits::of(42).key(), b"00000042");
        assert_eq!(Digits::of(1_234_567_890).key(), b"1234567890");
        assert_eq!(Digits::of(0).number(), b"0");
        assert_eq!(Digits::of(70).number(), b"70");
        assert_eq!(Digits::of(u64::MAX).key(), b"18446744073709551615");
    }

    #[test]
    fn addresses_have_plain_letters() {
        assert_eq!(written(|out| address(out, "Jörg-René")), "joergrene");
    }
}
