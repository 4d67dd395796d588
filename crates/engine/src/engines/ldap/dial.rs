//! Connects while a phase is armed: TLS, bind, and whether the server answers LDAP and has the bases.

use super::address::Address;
use super::settings::{Binds, Kind, Settings};
use super::trust::{password, server_name, trust, untrusted};
use super::wire::{Wire, errno};
use crate::protocol::Fault;
use assay_ldap::ber::Flaw;
use assay_ldap::build::{self, Search};
use assay_ldap::message::{Message, Outcome};
use assay_ldap::op;
use assay_ldap::template::{FIRST_ID, Node, Template};
use rustix::fd::OwnedFd;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::collections::BTreeSet;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long a server may take for one answer while a phase is armed.
const ANSWER: Duration = Duration::from_secs(5);
/// Threads that connect at the same time.
const DIALLERS: usize = 16;
/// What a strange answer shows of itself.
const SHOWN: usize = 40;

/// What the engine itself asks a server while it arms and ends, beside the load.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    pub binds: u64,
    pub searches: u64,
    pub extended: u64,
}

/// How to reach a server and who to be there.
pub struct Dialler<'a> {
    settings: &'a Settings,
    address: Address,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    password: Vec<u8>,
}

impl<'a> Dialler<'a> {
    /// Reads what the files hold: the password, the trusted certificates.
    pub fn new(settings: &'a Settings, address: Address) -> Result<Self, Fault> {
        let tls = match &address {
            Address::Tcp(host, _, from_start) if *from_start || settings.starttls => {
                Some((trust(settings)?, server_name(host)?))
            }
            _ => None,
        };
        let password = match &settings.password_file {
            Some(path) => password(path)?,
            None => Vec::new(),
        };
        Ok(Self {
            settings,
            address,
            tls,
            password,
        })
    }

    /// A bind with the password of the file.
    pub fn bind(&self) -> Node {
        build::bind(&self.settings.bind_dn, &self.password)
    }

    /// All connections of all workers, and what was asked for them.
    pub fn connect(&self) -> Result<(Vec<Wire>, Own), Fault> {
        let count = (self.settings.workers * self.settings.connections) as usize;
        let mut own = Own::default();
        let mut first = self.reach(&mut own)?;
        self.look(&mut first, &mut own)?;
        let next = AtomicUsize::new(1);
        let dial = || -> Result<(Vec<Wire>, Own), Fault> {
            let (mut wires, mut own) = (Vec::new(), Own::default());
            while next.fetch_add(1, Ordering::Relaxed) < count {
                wires.push(self.reach(&mut own)?);
            }
            Ok((wires, own))
        };
        let dialled: Vec<Result<(Vec<Wire>, Own), Fault>> = std::thread::scope(|scope| {
            let threads = DIALLERS.min(count - 1);
            let begun: Vec<_> = (0..threads).map(|_| scope.spawn(dial)).collect();
            begun
                .into_iter()
                .map(|thread| thread.join().expect("a thread that dials never panics"))
                .collect()
        });
        let mut wires = vec![first];
        for one in dialled {
            let (more, asked) = one?;
            wires.extend(more);
            own.binds += asked.binds;
            own.extended += asked.extended;
        }
        for wire in &mut wires {
            wire.never_wait(matches!(self.address, Address::Tcp(..)))
                .map_err(|errno| self.failed("connect", errno))?;
        }
        Ok((wires, own))
    }

    fn failed(&self, what: &'static str, errno: rustix::io::Errno) -> Fault {
        Fault::call(what, &self.settings.address, errno)
    }

    fn refused(&self, what: &'static str, message: String) -> Fault {
        Fault {
            what,
            path: Some(self.settings.address.clone()),
            errno: None,
            message,
        }
    }

    fn socket(&self) -> std::io::Result<OwnedFd> {
        match &self.address {
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(ANSWER))?;
                Ok(stream.into())
            }
            Address::Tcp(host, port, _) => {
                let mut last = std::io::Error::from_raw_os_error(libc::ENOENT);
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, ANSWER) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            stream.set_read_timeout(Some(ANSWER))?;
                            return Ok(stream.into());
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    /// One connection as far as the load needs it.
    fn reach(&self, own: &mut Own) -> Result<Wire, Fault> {
        let socket = self
            .socket()
            .map_err(|error| self.failed("connect", errno(error)))?;
        let mut wire = Wire::new(socket);
        if let Some((config, name)) = &self.tls {
            if self.settings.starttls {
                own.extended += 1;
                let outcome = self.ask(&mut wire, &build::extended(op::START_TLS))?;
                self.insist("StartTLS", &outcome, "Use an address ldaps://, or no TLS")?;
            }
            let session = ClientConnection::new(Arc::clone(config), name.clone())
                .map_err(|error| self.refused("tls", error.to_string()))?;
            wire.start_tls(session)
                .map_err(|error| self.refused("tls", untrusted(&error.to_string())))?;
        }
        if self.settings.bind == Binds::Once {
            own.binds += 1;
            let outcome = self.ask(&mut wire, &self.bind())?;
            self.insist(
                &format!("the bind as {:?}", self.settings.bind_dn),
                &outcome,
                "Correct the bind DN, or the password in its file",
            )?;
        }
        Ok(wire)
    }

    /// Whether the server answers LDAP, and whether there are the entries below which is searched.
    fn look(&self, wire: &mut Wire, own: &mut Own) -> Result<(), Fault> {
        let searches = self
            .settings
            .operations
            .iter()
            .filter(|one| one.kind == Kind::Search);
        let fixed = searches
            .map(|one| one.dn.as_str())
            .filter(|dn| !dn.contains('{'));
        let mut bases: BTreeSet<&str> = fixed.collect();
        if bases.is_empty() {
            bases.insert("");
        }
        let mut missing = Vec::new();
        for base in bases {
            let search = Search {
                base,
                scope: 0,
                filter: "(objectClass=*)",
                attributes: &["1.1".to_owned()],
                size_limit: 0,
            };
            let node =
                build::search(&search).map_err(|mistake| Fault::settings(mistake.expected))?;
            own.searches += 1;
            let outcome = self.ask(wire, &node)?;
            // Who may not look is told so by the load itself, where it matters.
            if !base.is_empty() && outcome.code == NO_SUCH_OBJECT {
                missing.push(format!("a search below {base:?}: {}", outcome.name()));
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let message = format!(
            "the server refused {}. Use bases that it has, or bind as somebody who may see them",
            missing.join("; ")
        );
        Err(self.refused("ldap", message))
    }

    fn insist(&self, what: &str, answer: &Answer, remedy: &str) -> Result<(), Fault> {
        if answer.code == 0 {
            return Ok(());
        }
        let message = format!("the server refused {what}: {}. {remedy}", answer.name());
        Err(self.refused("ldap", message))
    }

    /// Sends a request and waits for the answer that ends it.
    fn ask(&self, wire: &mut Wire, node: &Node) -> Result<Answer, Fault> {
        let failed = |errno| self.failed("ldap", errno);
        let request = Template::new(node, 1);
        let mut rest = request.bytes();
        while !rest.is_empty() {
            let sent = wire.send(rest).map_err(failed)?;
            rest = &rest[sent..];
        }
        let (mut held, mut room) = (Vec::new(), vec![0; 16 << 10]);
        loop {
            match wire.receive(&mut room).map_err(failed)? {
                None => return Err(self.failed("ldap", rustix::io::Errno::TIMEDOUT)),
                Some(0) => {
                    let message = "the server closed the connection without an answer";
                    return Err(self.refused("ldap", message.to_owned()));
                }
                Some(received) => held.extend_from_slice(&room[..received]),
            }
            match ended(&held) {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => {}
                Err(_) => {
                    let shown =
                        String::from_utf8_lossy(&held[..held.len().min(SHOWN)]).into_owned();
                    let message = format!("the server answers no LDAP: found {shown:?}");
                    return Err(self.refused("ldap", message));
                }
            }
        }
    }
}

const NO_SUCH_OBJECT: u32 = 32;

/// The end of an answer.
struct Answer {
    code: u32,
    words: String,
}

impl Answer {
    /// Its result code by name and number, with the server's words.
    fn name(&self) -> String {
        let name = format!("{} ({})", op::code_name(self.code), self.code);
        if self.words.is_empty() {
            name
        } else {
            format!("{name}: {}", self.words)
        }
    }
}

/// The answer that ends the one request under way; None where it is not there yet.
fn ended(mut bytes: &[u8]) -> Result<Option<Answer>, Flaw> {
    loop {
        let message = match Message::read(bytes) {
            Err(Flaw::Cut) => return Ok(None),
            message => message?,
        };
        if !message.is_whole(bytes) {
            return Ok(None);
        }
        let op = message.op.ok_or(Flaw::Malformed)?;
        if message.id == Some(FIRST_ID) || message.id == Some(0) {
            let is_part = matches!(
                op.tag,
                op::SEARCH_ENTRY | op::SEARCH_REFERENCE | op::INTERMEDIATE
            );
            if !is_part {
                let outcome = Outcome::read(&op).ok_or(Flaw::Malformed)?;
                return Ok(Some(Answer {
                    code: outcome.code,
                    words: String::from_utf8_lossy(outcome.words).into_owned(),
                }));
            }
        }
        bytes = &bytes[message.length..];
    }
}
