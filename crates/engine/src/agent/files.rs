//! Small files and directories, one by one or many in one look.

use super::answer::Failure;
use super::calls;
use super::request::{Fields, Look, Request};
use assay_clock::monotonic_ns;
use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

/// Read at once: a file of /proc that fits is of one moment.
const PIECE: usize = 64 << 10;
/// The largest file that is read: 16 MiB.
const LARGEST: usize = 16 << 20;
/// Links that are followed, as by the kernel.
const MOST_LINKS: usize = 40;

/// Answers what concerns files and directories; nothing where the request is another.
pub fn answer(request: &Request) -> Option<Result<Value, Failure>> {
    let failed = |error: io::Error, path: &String| Failure::of_path(&error, path);
    let answer = match request {
        Request::Read { path } => read(path, &mut vec![0; PIECE])
            .map(|text| json!({"text": text}))
            .map_err(|error| failed(error, path)),
        Request::Write { path, text } => fs::write(path, text)
            .map(|()| json!({}))
            .map_err(|error| failed(error, path)),
        Request::List { path } => Ok(json!({"names": names(path)})),
        Request::Exists { path } => Ok(json!({"there": fs::exists(path).unwrap_or(false)})),
        Request::RealPath { path } => Ok(json!({"path": real_path(path)})),
        _ => return None,
    };
    Some(answer)
}

/// Everything that was asked, with the clock before and after.
pub fn look(look: &Look) -> Value {
    let mut buffer = vec![0; PIECE];
    let before_ns = monotonic_ns();
    let texts = look.read.iter();
    let read: Vec<Value> = texts.map(|path| text(path, &mut buffer)).collect();
    let list: Vec<Vec<String>> = look.list.iter().map(|path| names(path)).collect();
    let paths = look.exists.iter();
    let exists: Vec<bool> = paths
        .map(|path| fs::exists(path).unwrap_or(false))
        .collect();
    let calls: Vec<Value> = look.calls.iter().map(call).collect();
    json!({
        "before_ns": before_ns,
        "after_ns": monotonic_ns(),
        "read": read,
        "list": list,
        "exists": exists,
        "calls": calls,
    })
}

fn text(path: &str, buffer: &mut [u8]) -> Value {
    match read(path, buffer) {
        Ok(text) => Value::String(text),
        Err(error) => json!({"errno": error.raw_os_error()}),
    }
}

fn call(fields: &Fields) -> Value {
    let found = match Request::of(fields.clone()) {
        Ok(request) => answer(&request).unwrap_or_else(|| calls::answer(&request)),
        Err(error) => Err(Failure::of_text(error.to_string())),
    };
    found.unwrap_or_else(|failure| json!({"error": failure}))
}

/// The text of a file, its beginning in one call; bytes that are no text are replaced.
fn read(path: &str, buffer: &mut [u8]) -> io::Result<String> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut found = Vec::new();
    loop {
        match rustix::io::read(&file, &mut *buffer) {
            Ok(0) => break,
            Ok(length) if found.len() + length > LARGEST => {
                return Err(io::Error::from_raw_os_error(libc::EFBIG));
            }
            Ok(length) => found.extend_from_slice(&buffer[..length]),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(String::from_utf8(found)
        .unwrap_or_else(|bytes| String::from_utf8_lossy(bytes.as_bytes()).into_owned()))
}

/// The names in a directory, sorted; none where there is none or we may not look.
fn names(path: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(path) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    names.sort_unstable();
    names
}

/// The path without symbolic links; what is missing stays as it is.
fn real_path(path: &str) -> String {
    let mut real = PathBuf::from("/");
    let mut links = 0;
    let whole = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    let mut todo: Vec<PathBuf> = parts(&whole);
    while let Some(part) = todo.pop() {
        if part == Path::new("..") {
            real.pop();
            continue;
        }
        let next = real.join(part);
        match fs::read_link(&next) {
            Ok(target) if links < MOST_LINKS => {
                links += 1;
                todo.extend(parts(&target));
            }
            _ => real = next,
        }
    }
    real.to_string_lossy().into_owned()
}

/// The parts of a path, the last one first; the root is one.
fn parts(path: &Path) -> Vec<PathBuf> {
    let mut parts: Vec<PathBuf> = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| PathBuf::from(part.as_os_str()))
        .collect();
    parts.reverse();
    parts
}
