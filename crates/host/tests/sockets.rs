//! Against the real kernel, with connections over the loopback.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::Command;

use assay_host::socket_peers;

const ENOSYS: i32 = 38;

#[test]
fn connected_sockets_alone_have_a_peer() {
    let own = std::process::id().cast_signed();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = UdpSocket::bind("127.0.0.1:0").unwrap();
    let pair = UnixStream::pair().unwrap();
    let before = match socket_peers(own) {
        Err(error) if error.raw_os_error() == Some(ENOSYS) => return,
        other => other.unwrap(),
    };
    assert!(before.is_empty(), "{before:?}");
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let second = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let found = socket_peers(own).unwrap();
    let ends: Vec<_> = found
        .iter()
        .map(|one| (one.peer, one.own, one.device.as_str()))
        .collect();
    assert_eq!(
        ends,
        [(Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into(), "")]
    );
    drop((client, second, open, pair, listener));
    assert!(socket_peers(own).unwrap().is_empty());
}

#[test]
fn a_process_that_has_ended_is_not_found() {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let error = socket_peers(child.id().cast_signed()).unwrap_err();
    let gone = error.raw_os_error() == Some(3) || error.kind() == ErrorKind::NotFound;
    assert!(gone || error.raw_os_error() == Some(ENOSYS), "{error:?}");
    assert!(socket_peers(0).is_err());
}
