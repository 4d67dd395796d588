//! An external command: started at T in a process group of its own, drained, and read out before it is reaped.
//! How far it has read a file can be followed, as its progress.

mod errands;
mod place;

pub use errands::arm as arm_errands;

use crate::control::Control;
use crate::cost::read_io;
use crate::drain::Drain;
use crate::lifetime;
use crate::load::Load;
use crate::protocol::{CommandResult, Config, Cost, Fault};
use crate::recorder::{Live, Recorder};
use crate::work::{Armed, Finished, Ran, Worker};
use place::{Follow, Follower};
use rustix::io::Errno;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// How long descendants may go on writing after the command itself has ended.
const GRACE: Duration = Duration::from_millis(200);
/// The operation whose count and bytes are the place in the file that is followed.
const PROGRESS: &str = "progress";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    argv: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    directory: String,
    #[serde(default = "word")]
    operation: String,
    follow: Option<Follow>,
}

fn word() -> String {
    "command".to_owned()
}

/// One worker that waits for the command.
pub fn arm(config: &Config) -> Result<Armed, Fault> {
    let settings: Settings = config.settings()?;
    let Some(name) = settings.argv.first() else {
        return Err(Fault::settings(
            "found an empty argv; expected a command and its arguments",
        ));
    };
    if !Path::new(&settings.directory).is_dir() {
        return Err(Fault::call("directory", &settings.directory, Errno::NOTDIR));
    }
    let program = find(name, &settings.directory, &settings.env)
        .ok_or_else(|| Fault::call("command", name, Errno::NOENT))?;
    let mut operations = vec![settings.operation.clone()];
    operations.extend(settings.follow.as_ref().map(|_| PROGRESS.to_owned()));
    let worker = External {
        settings,
        program,
        finished: None,
    };
    Ok(Armed {
        operations,
        workers: vec![Box::new(worker)],
        duration_ns: None,
        load: Load::default(),
        beside: None,
    })
}

/// The program that this name stands for, as a shell would find it.
fn find(name: &str, directory: &str, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    if name.contains('/') {
        return Some(Path::new(directory).join(name)).filter(runs);
    }
    let path = env
        .get("PATH")
        .cloned()
        .or_else(|| std::env::var("PATH").ok())
        .unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| Path::new(directory).join(folder).join(name))
        .find(runs)
}

struct External {
    settings: Settings,
    program: PathBuf,
    finished: Option<Ran>,
}

impl Worker for External {
    fn run(&mut self, recorder: &mut Recorder) {
        recorder.path = self.program.display().to_string();
        let settings = &self.settings;
        let words = (settings.argv.as_slice(), settings.directory.as_str());
        let mut command = prepared(&self.program, words, &settings.env);
        let mut finished = None;
        let (control, live) = (recorder.control(), recorder.live());
        let follow = self.settings.follow.as_ref().map(|follow| (follow, &live));
        recorder.measure(0, || {
            finished = Some(execute(&mut command, &control, follow)?);
            Ok(0)
        });
        if finished.is_none() {
            recorder.give_up();
        }
        self.finished = finished.map(Running::reap);
        recorder.recheck();
    }

    fn finish(&mut self) -> Finished {
        self.finished
            .take()
            .map_or(Finished::Nothing, |ran| Finished::Command(Box::new(ran)))
    }
}

/// The program with its arguments and its working directory, in a process group that dies with this process.
fn prepared(
    program: &Path,
    (argv, directory): (&[String], &str),
    env: &BTreeMap<String, String>,
) -> Command {
    let mut command = Command::new(program);
    command.arg0(&argv[0]).args(&argv[1..]).envs(env);
    command.current_dir(directory).process_group(0);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // SAFETY: prctl is a plain system call, allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    command
}

/// A child that has ended and has not been reaped.
struct Running {
    pid: i32,
    /// Whether its exit status was 0.
    succeeded: bool,
    stdout: Drain,
    stderr: Drain,
}

/// Starts the command and waits for its end; leaves it as a zombie, whose counters can still be read.
fn execute(
    command: &mut Command,
    control: &Control,
    follow: Option<(&Follow, &Arc<[Live]>)>,
) -> rustix::io::Result<Running> {
    let spawned = command.spawn();
    let mut child = spawned
        .map_err(|error| Errno::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO)))?;
    let pid = child.id() as i32;
    lifetime::set_child_group(pid);
    if control.reason().is_some() {
        lifetime::kill_child_group();
    }
    let mut running = Running {
        pid,
        succeeded: false,
        stdout: Drain::start(child.stdout.take().expect("piped").into()),
        stderr: Drain::start(child.stderr.take().expect("piped").into()),
    };
    let follower = follow.map(|(follow, live)| Follower::start(pid, follow, live, 1));
    running.succeeded = wait_for_end(pid);
    drop(follower);
    Ok(running)
}

/// Waits until the child has ended; whether it did so with status 0.
fn wait_for_end(pid: i32) -> bool {
    // SAFETY: siginfo is plain data, for which zero is a value.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: the pointer is to this frame; the child is ours and not reaped yet.
        let status = unsafe {
            libc::waitid(
                libc::P_PID,
                pid as libc::id_t,
                &raw mut info,
                libc::WEXITED | libc::WNOWAIT,
            )
        };
        if status == 0 {
            // SAFETY: waitid has filled it in for a child.
            return info.si_code == libc::CLD_EXITED && unsafe { info.si_status() } == 0;
        }
        if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return false;
        }
    }
}

impl Running {
    /// Ends what is left of the group, reads the counters of the zombie, reaps it.
    fn reap(self) -> Ran {
        self.stdout.wait(GRACE);
        self.stderr.wait(GRACE);
        lifetime::kill_child_group();
        lifetime::set_child_group(0);
        let io = read_io(&format!("/proc/{}/io", self.pid));
        let (status, cost) = wait4(self.pid);
        let (stdout, stdout_cut) = self.stdout.text();
        let (stderr, stderr_cut) = self.stderr.text();
        let command = CommandResult {
            status: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
            signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
            stdout,
            stderr,
            truncated: stdout_cut || stderr_cut,
        };
        Ran { command, cost, io }
    }
}

fn wait4(pid: i32) -> (i32, Cost) {
    let mut status = 0;
    // SAFETY: rusage is plain integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to this frame; the child is ours.
    unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    (status, Cost::from(&usage))
}
