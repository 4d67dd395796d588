//! Two mounts of one server: a writer acts at one of them, a reader looks at the other one, ordered by messages between them.
//!
//! Both ends are on one machine and meet at a name that no file system has. Each try goes: the writer sets up, the reader looks
//! (so that its caches hold the old state), the writer acts and says so, the reader looks until it sees it.

use crate::coherence_result::CoherenceResult;
use crate::load::Load;
use crate::protocol::{Config, Fault};
use crate::recorder::Recorder;
use crate::work::{Armed, Finished, Worker};
use files::Files;
use reader::Reader;
use rustix::fs::Mode;
use rustix::io::Errno;
use settings::{Role, Settings};
use std::os::unix::net::UnixListener;
use talk::{Talk, listen};
use writer::Writer;

mod files;
mod reader;
mod settings;
mod talk;
mod writer;

/// One end of the talk.
struct End {
    settings: Settings,
    /// Of the reader: the writer comes to it.
    listener: Option<UnixListener>,
    result: CoherenceResult,
}

/// Whether a step goes on to its next try.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Try,
    Step,
}

/// The writer makes the directory; the reader is there before the writer looks for it.
pub fn arm(config: &Config) -> Result<Armed, Fault> {
    let settings: Settings = config.settings()?;
    settings.check()?;
    let operations = settings.steps.iter().map(|step| step.name().to_owned());
    let operations = operations.collect();
    let listener = match settings.role {
        Role::Reader => Some(listen(&settings.meeting)?),
        Role::Writer => {
            let mode = Mode::from_raw_mode(0o755);
            match rustix::fs::mkdir(&settings.directory, mode) {
                Ok(()) | Err(Errno::EXIST) => None,
                Err(errno) => return Err(Fault::call("mkdir", &settings.directory, errno)),
            }
        }
    };
    let result = CoherenceResult {
        limit_ns: settings.within_ns,
        ..CoherenceResult::default()
    };
    let end = End {
        settings,
        listener,
        result,
    };
    Ok(Armed {
        operations,
        workers: vec![Box::new(end)],
        duration_ns: None,
        load: Load::default(),
        beside: None,
    })
}

impl Worker for End {
    fn run(&mut self, recorder: &mut Recorder) {
        recorder.path.clone_from(&self.settings.directory);
        let meeting = &self.settings.meeting;
        let Some(talk) = Talk::begin(self.listener.as_ref(), meeting, recorder) else {
            return lose(recorder);
        };
        let files = Files {
            directory: self.settings.directory.clone(),
            times: self.settings.times,
        };
        let ended = match self.settings.role {
            Role::Writer => Writer::new(&self.settings, files, talk).run(recorder),
            Role::Reader => {
                Reader::new(&self.settings, files, talk, &mut self.result).run(recorder)
            }
        };
        if ended.is_err() {
            lose(recorder);
        }
        if self.settings.role == Role::Writer {
            let _ = rustix::fs::rmdir(&self.settings.directory);
        }
    }

    fn finish(&mut self) -> Finished {
        match self.settings.role {
            Role::Writer => Finished::Nothing,
            Role::Reader => Finished::Coherence(std::mem::take(&mut self.result)),
        }
    }
}

/// The other end is not there: an error, unless the phase was ended.
fn lose(recorder: &mut Recorder) {
    let now = recorder.now();
    if recorder.goes_on(now) {
        recorder.excuse(0, Errno::HOSTDOWN.raw_os_error(), now);
        recorder.give_up();
    }
}
