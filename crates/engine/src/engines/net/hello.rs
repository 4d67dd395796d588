//! The first bytes of a connection: who it is, of which trial, and what both ends must agree on.

use super::settings::{Direction, Exchange, Settings, TOKEN};
use crate::block_data::{mix, mix_text};

/// Bytes of the first message, and of the answer.
pub const LENGTH: usize = 256;
const MAGIC: &[u8; 16] = b"assay-net 1\0\0\0\0\0";
const AGREED: usize = 96;
/// Room for the reason of a refusal.
const REASON: usize = 32;

/// What a load says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    pub client: u64,
    pub number: u64,
    /// The port of its datagrams; 0 for streams.
    pub port: u16,
}

/// Why a server serves nobody of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// Not this protocol, or no whole first message within 5 s.
    Stranger,
    Token,
    Settings,
    /// All connections of this server are taken.
    Full,
    /// A socket for its datagrams cannot be made.
    Socket,
}

impl Refusal {
    /// The word in results.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stranger => "stranger",
            Self::Token => "token",
            Self::Settings => "settings",
            Self::Full => "full",
            Self::Socket => "socket",
        }
    }
}

/// What both ends must have alike: exchange, direction, message, request, response.
fn agreed(settings: &Settings) -> [u64; 5] {
    let exchange = match settings.exchange {
        Exchange::Stream => 0,
        Exchange::Transaction => 1,
        Exchange::Datagram => 2,
    };
    let direction = match settings.direction {
        Direction::Send => 0,
        Direction::Receive => 1,
        Direction::Both => 2,
    };
    [
        exchange,
        direction,
        settings.message(),
        settings.request,
        settings.response,
    ]
}

/// The first message of a connection.
pub fn encode(settings: &Settings, hello: Hello) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..16].copy_from_slice(MAGIC);
    bytes[16..16 + settings.token.len()].copy_from_slice(settings.token.as_bytes());
    put(&mut bytes, 80, hello.client);
    put(&mut bytes, 88, hello.number << 16 | u64::from(hello.port));
    for (place, value) in agreed(settings).into_iter().enumerate() {
        put(&mut bytes, AGREED + 8 * place, value);
    }
    bytes
}

/// Who speaks, or why it is not served.
pub fn decode(settings: &Settings, bytes: &[u8; LENGTH]) -> Result<Hello, (Refusal, String)> {
    if &bytes[..16] != MAGIC {
        return Err((Refusal::Stranger, "another protocol".to_owned()));
    }
    let mut token = [0; TOKEN];
    token[..settings.token.len()].copy_from_slice(settings.token.as_bytes());
    if bytes[16..16 + TOKEN] != token {
        let reason = "found a token of another trial; expected the token of this server. Two servers have this address: correct one of them";
        return Err((Refusal::Token, reason.to_owned()));
    }
    let theirs: Vec<u64> = (0..5).map(|place| get(bytes, AGREED + 8 * place)).collect();
    let ours = agreed(settings);
    let names = ["exchange", "direction", "message", "request", "response"];
    let different = names.into_iter().zip(theirs.into_iter().zip(ours));
    let words: Vec<String> = different
        .filter(|(_, (theirs, ours))| theirs != ours)
        .map(|(name, (theirs, ours))| format!("found {name} {theirs}; the server has {ours}"))
        .collect();
    if !words.is_empty() {
        return Err((Refusal::Settings, words.join("; ")));
    }
    let number = get(bytes, 88);
    Ok(Hello {
        client: get(bytes, 80),
        number: number >> 16,
        port: number as u16,
    })
}

/// The server's answer: the port of its datagrams, or why it does not serve.
pub fn answer(outcome: &Result<u16, (Refusal, String)>) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..16].copy_from_slice(MAGIC);
    match outcome {
        Ok(port) => put(&mut bytes, 24, u64::from(*port)),
        Err((refusal, reason)) => {
            bytes[16] = *refusal as u8 + 1;
            let reason = reason.as_bytes();
            let length = reason.len().min(LENGTH - REASON);
            bytes[REASON..REASON + length].copy_from_slice(&reason[..length]);
        }
    }
    bytes
}

/// The port of the server's datagrams, or what it says instead.
pub fn understand(bytes: &[u8; LENGTH]) -> Result<u16, (&'static str, String)> {
    if &bytes[..16] != MAGIC {
        return Err(("hello", "another protocol answered".to_owned()));
    }
    if bytes[16] == 0 {
        return Ok(get(bytes, 24) as u16);
    }
    let reason = bytes[REASON..].split(|byte| *byte == 0).next();
    let reason = String::from_utf8_lossy(reason.unwrap_or_default()).into_owned();
    let is_token = bytes[16] == Refusal::Token as u8 + 1;
    Err((if is_token { "token" } else { "hello" }, reason))
}

/// What the datagrams of one connection begin with, so that no other is taken for one of them.
pub fn tag(token: &str, hello: Hello) -> u64 {
    mix(mix_text(token) ^ mix(hello.client << 32 | hello.number))
}

fn put(bytes: &mut [u8; LENGTH], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

fn get(bytes: &[u8; LENGTH], at: usize) -> u64 {
    let mut wide = [0; 8];
    wide.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(wide)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn settings(token: &str, request: u64) -> Settings {
        let settings =
            json!({"role": "load", "exchange": "transaction", "token": token, "request": request});
        serde_json::from_value(settings).expect("settings")
    }

    #[test]
    fn a_load_of_the_same_trial_is_understood() {
        let hello = Hello {
            client: 3,
            number: 7,
            port: 4_000,
        };
        let bytes = encode(&settings("t", 1), hello);
        assert_eq!(decode(&settings("t", 1), &bytes), Ok(hello));
        assert_eq!(understand(&answer(&Ok(9))), Ok(9));
    }

    #[test]
    fn every_other_one_learns_why_it_is_not_served() {
        let hello = Hello {
            client: 0,
            number: 0,
            port: 0,
        };
        let bytes = encode(&settings("t", 64), hello);
        let token = decode(&settings("tt", 64), &bytes).expect_err("another token");
        assert_eq!(token.0, Refusal::Token);
        assert_eq!(
            understand(&answer(&Err(token))).expect_err("refused").0,
            "token"
        );
        let other = decode(&settings("t", 1), &bytes).expect_err("another request");
        assert_eq!(
            other,
            (
                Refusal::Settings,
                "found request 64; the server has 1".to_owned()
            )
        );
        let stranger = decode(&settings("t", 1), &[b'G'; LENGTH]).expect_err("a stranger");
        assert_eq!(stranger.0, Refusal::Stranger);
    }
}
