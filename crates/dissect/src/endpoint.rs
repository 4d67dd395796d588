//! An end of a connection.

/// An end of a connection; IPv4 addresses as IPv6 ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub address: [u8; 16],
    pub port: u16,
}
