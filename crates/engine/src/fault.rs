//! Why a phase cannot be armed or run.

/// Why a phase cannot be armed or run.
#[derive(Debug)]
pub struct Fault {
    pub what: &'static str,
    pub path: Option<String>,
    pub errno: Option<i32>,
    pub message: String,
}

impl Fault {
    /// A system call that failed on a path.
    pub fn call(what: &'static str, path: &str, errno: rustix::io::Errno) -> Self {
        let code = errno.raw_os_error();
        Self {
            what,
            path: Some(path.to_owned()),
            errno: Some(code),
            message: errno_text(code),
        }
    }

    /// All that is wrong with settings, of what may be.
    pub fn of_settings(checks: &[(bool, &str)]) -> Result<(), Self> {
        let found: Vec<&str> = checks
            .iter()
            .filter(|(is_wrong, _)| *is_wrong)
            .map(|(_, text)| *text)
            .collect();
        if found.is_empty() {
            return Ok(());
        }
        Err(Self::settings(found.join("; ")))
    }

    /// Settings that do not fit.
    pub fn settings(message: impl Into<String>) -> Self {
        Self {
            what: "settings",
            path: None,
            errno: None,
            message: message.into(),
        }
    }
}

/// An error of errno(3) in words.
pub fn errno_text(code: i32) -> String {
    let text = std::io::Error::from_raw_os_error(code).to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
