//! A foreign command.

use crate::engines::Armed;
use crate::protocol::{Config, Fault};

/// Later.
pub fn arm(_config: &Config) -> Result<Armed, Fault> {
    Err(Fault::settings("not yet"))
}
