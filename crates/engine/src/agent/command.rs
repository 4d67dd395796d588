//! Commands of the far end: found as a shell would, in a group of their own, dying with the agent.

use super::AGENT;
use std::collections::BTreeMap;
use std::io;
use std::mem::zeroed;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The name that stands for the agent's own file.
const OWN_FILE: &str = "assay-engine";
/// Searched after PATH: an ordinary user's PATH often lacks them, yet losetup and mkfs are there.
const SYSTEM_PATHS: &str = "/usr/local/sbin:/usr/sbin:/sbin";
const USUAL_PATH: &str = "/usr/bin:/bin";
/// How often a process that has closed its output is looked for, on a kernel without descriptors of processes.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// What to start, and how.
pub struct Plan<'a> {
    pub argv: &'a [String],
    pub env: &'a BTreeMap<String, String>,
    pub cwd: Option<&'a str>,
    pub stdin: Stdio,
}

/// Starts a command from this thread, which has to live as long as it; nothing where there is no such command.
pub fn start(plan: Plan) -> io::Result<Option<Child>> {
    let Some(name) = plan.argv.first() else {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    };
    let path = search_path(plan.env);
    let Some(program) = find(name, &path, plan.cwd) else {
        return Ok(None);
    };
    let mut command = Command::new(program);
    command
        .arg0(name)
        .args(&plan.argv[1..])
        .env("LC_ALL", "C")
        .envs(plan.env)
        .env("PATH", path)
        .process_group(0)
        .stdin(plan.stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(cwd) = plan.cwd {
        command.current_dir(cwd);
    }
    let child = dying_with_us(&mut command).spawn()?;
    AGENT.groups.enter(child.id() as i32);
    Ok(Some(child))
}

/// Has the kernel kill the command when the thread that starts it ends; it does not begin where that has ended already.
/// Of the signals that the agent itself waits for it blocks none: what it starts would never end at them.
pub fn dying_with_us(command: &mut Command) -> &mut Command {
    let agent = std::process::id() as i32;
    // SAFETY: plain system calls, allowed between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let mut none: libc::sigset_t = zeroed();
            libc::sigemptyset(&raw mut none);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() == agent {
                return Ok(());
            }
            libc::_exit(125)
        })
    }
}

/// Reaps a command that has ended; its exit status, or less the number of its signal.
pub fn reap(mut child: Child) -> i32 {
    AGENT.groups.leave(child.id() as i32);
    let status = child.wait();
    status.map_or(-libc::SIGKILL, |status| {
        let signal = status.signal().map(|number| -number);
        status.code().or(signal).unwrap_or(-libc::SIGKILL)
    })
}

/// Waits for the end of a command and leaves it as a zombie; whether it came in time.
pub fn ended(child: &Child, until: Option<Instant>) -> bool {
    let how = until.map_or(0, |_| libc::WNOHANG);
    loop {
        // SAFETY: siginfo is plain data, for which zero is a value.
        let mut info: libc::siginfo_t = unsafe { zeroed() };
        let options = libc::WEXITED | libc::WNOWAIT | how;
        // SAFETY: the pointer is to this frame; the child is ours and not reaped yet.
        let status = unsafe { libc::waitid(libc::P_PID, child.id(), &raw mut info, options) };
        // SAFETY: waitid filled the record, or left it zero.
        if status == 0 && unsafe { info.si_pid() } != 0 {
            return true;
        }
        let interrupted = io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
        if status != 0 && !interrupted {
            return true;
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return false;
        }
        if status == 0 {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

/// Where commands are searched.
pub fn search_path(env: &BTreeMap<String, String>) -> String {
    let own = || std::env::var("PATH").unwrap_or_else(|_| USUAL_PATH.to_owned());
    format!(
        "{}:{SYSTEM_PATHS}",
        env.get("PATH").cloned().unwrap_or_else(own)
    )
}

fn find(name: &str, path: &str, cwd: Option<&str>) -> Option<PathBuf> {
    if name == OWN_FILE {
        let own = std::env::current_exe().ok().filter(|file| file.exists());
        return Some(own.unwrap_or_else(|| PathBuf::from("/proc/self/exe")));
    }
    if name.contains('/') {
        let there = Path::new(cwd.unwrap_or(".")).join(name).exists();
        return there.then(|| PathBuf::from(name));
    }
    let runs = |file: &PathBuf| {
        file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
    };
    std::env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(runs)
}
