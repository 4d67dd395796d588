//! LDAP messages (RFC 4511): read, also where they are cut short, and written from templates that are patched.
//!
//! Nothing here waits, allocates for reading, or knows sockets: the load engine and the dissector share it.

pub mod ber;
pub mod build;
pub mod filter;
pub mod message;
pub mod op;
pub mod template;
