//! Why a request cannot be answered.

use serde::Serialize;
use std::io;

/// The error of an answer.
#[derive(Debug, Serialize)]
pub struct Failure {
    pub errno: Option<i32>,
    pub message: String,
    pub path: Option<String>,
}

impl Failure {
    /// A mistake that no system call made.
    pub fn of_text(message: String) -> Self {
        Self {
            errno: None,
            message,
            path: None,
        }
    }

    /// A system call that failed on a path.
    pub fn of_path(error: &io::Error, path: &str) -> Self {
        Self {
            path: Some(path.to_owned()),
            ..Self::of_error(error)
        }
    }

    fn of_error(error: &io::Error) -> Self {
        let text = error.to_string();
        Self {
            errno: error.raw_os_error(),
            message: text.split(" (os error").next().unwrap_or(&text).to_owned(),
            path: None,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::of_error(&error)
    }
}
