//! The socket by which a line at work is spoken to: an abstract one with its process's number, for the same user alone.

use crate::line::Line;
use crate::{answer, as_line, life};
use std::io::{BufRead, BufReader, Result, Write};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(1);

fn address(pid: &str) -> Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("assay-line-{pid}"))
}

/// Answers whoever asks, one after another, in a thread of its own; `end` ends the process once it is answered.
pub fn listen(line: Arc<Line>) {
    let bound =
        address(&std::process::id().to_string()).and_then(|at| UnixListener::bind_addr(&at));
    match bound {
        Ok(listener) => {
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten().filter(is_ours) {
                    let _ = serve(&line, &stream);
                }
            });
        }
        Err(error) => life::end_with(&format!("no socket: {error}")),
    }
}

fn serve(line: &Line, stream: &UnixStream) -> Result<()> {
    let mut text = String::new();
    stream.set_read_timeout(Some(PATIENCE))?; // others wait
    BufReader::new(stream).read_line(&mut text)?;
    let (reply, last) = answer(line, &text);
    let said = writeln!(&*stream, "{}", as_line(&reply));
    if last {
        std::process::exit(0);
    }
    said
}

/// Whether the other side is a process of the same user.
fn is_ours(stream: &UnixStream) -> bool {
    let mut who = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: 0,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: a structure of this frame with its length.
    let known = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut who).cast(),
            &raw mut length,
        )
    };
    // SAFETY: asks for a number.
    known == 0 && who.uid == unsafe { libc::geteuid() }
}

/// Hands a message to a line at work and prints the answer; status 1 where it is an error or nobody answers.
pub fn ask(pid: &str, message: &str) {
    let asked = address(pid)
        .and_then(|at| UnixStream::connect_addr(&at))
        .and_then(|stream| {
            writeln!(&stream, "{message}")?;
            let mut text = String::new();
            BufReader::new(&stream).read_line(&mut text)?;
            Ok(text)
        });
    match asked {
        Ok(text) => {
            print!("{text}");
            if text.is_empty() || text.starts_with(r#"{"type":"error""#) {
                std::process::exit(1);
            }
        }
        Err(error) => life::end_with(&format!("line {pid} does not answer: {error}")),
    }
}
