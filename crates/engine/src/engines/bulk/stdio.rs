//! Records through a stream of the C library: copied to or from its buffer, which moves to or from the file when it is full or empty.

use super::Job;
use super::flushing::last_error;
use super::settings::Settings;
use crate::aligned::Aligned;
use crate::block_data::fill;
use crate::control::Stopped;
use crate::protocol::Fault;
use crate::recorder::Recorder;
use crate::work::Worker;
use rustix::fd::{AsRawFd, IntoRawFd, OwnedFd};
use rustix::io::Errno;

/// The buffer of a stream where none is asked for.
const BUFFER: u64 = 4096;

pub struct Stdio {
    job: Job,
    buffer_bytes: usize,
    ready: Option<(Stream, Aligned)>,
}

impl Stdio {
    pub fn new(job: Job, settings: &Settings) -> Self {
        Self {
            job,
            buffer_bytes: settings.stdio_buffer.unwrap_or(BUFFER) as usize,
            ready: None,
        }
    }

    /// All that the stream still holds goes to the file; what then fails was written before and is lost.
    fn end(&mut self, recorder: &mut Recorder, mut stream: Stream) {
        if recorder.stopped == Stopped::Error {
            return;
        }
        let job = &mut self.job;
        let mut lost = None;
        if job.flushing.is_left() {
            let (flushing, file) = (&mut job.flushing, &job.file);
            recorder.follow(flushing.slot, || {
                stream.flush().and_then(|_| flushing.flush(file))
            });
        } else {
            let from = recorder.now();
            lost = stream.flush().err();
            recorder.prolong(job.write_slot, from);
        }
        let unclosed = stream.close().err();
        if let Some(errno) = lost.or(unclosed) {
            recorder.fail(job.write_slot, errno.raw_os_error(), recorder.now());
        }
    }
}

impl Worker for Stdio {
    fn prepare(&mut self) -> Result<(), Fault> {
        let no_room = || Fault::settings("the record_size or the stdio_buffer is too large");
        let mut block = Aligned::new(self.job.record_size).ok_or_else(no_room)?;
        let mut buffer = Aligned::new(self.buffer_bytes).ok_or_else(no_room)?;
        fill(&mut block, self.job.seed);
        fill(&mut buffer, self.job.seed);
        let mode = if self.job.pattern.writes() {
            c"w"
        } else {
            c"r"
        };
        let stream = Stream::new(&self.job.file, mode, buffer);
        let fault = |errno| Fault::call("fdopen", &self.job.path, errno);
        self.ready = Some((stream.map_err(fault)?, block));
        Ok(())
    }

    fn run(&mut self, recorder: &mut Recorder) {
        let Some((mut stream, mut block)) = self.ready.take() else {
            return;
        };
        let job = &mut self.job;
        recorder.path.clone_from(&job.path);
        while let Some(step) = job.pattern.next() {
            let block = &mut block[..step.shape.length()];
            let goes_on = if step.shape.writes() {
                job.make(block, step.offset);
                recorder.measure(job.write_slot, || stream.write(block, step.offset))
                    && (!job.flushing.is_due(step.offset, block.len())
                        || recorder.follow(job.flushing.slot, || {
                            stream.flush().and_then(|_| job.flushing.flush(&job.file))
                        }))
            } else {
                let read = recorder.tallies[0].count;
                let goes_on = recorder.measure(0, || stream.read(block, step.offset));
                if recorder.tallies[0].count > read {
                    job.check(recorder, block, step.offset);
                }
                goes_on
            };
            if !goes_on {
                break;
            }
        }
        if job.pattern.writes() {
            self.end(recorder, stream);
        }
    }
}

/// A stream on a descriptor of its own, fully buffered.
struct Stream {
    /// Null when it is closed.
    file: *mut libc::FILE,
    /// Where the stream is in the file; None where only a seek can tell.
    position: Option<u64>,
    /// What the stream was told to use: it lives as long as the stream.
    _buffer: Aligned,
}

// SAFETY: the stream belongs to this value alone.
unsafe impl Send for Stream {}

impl Stream {
    fn new(file: &OwnedFd, mode: &std::ffi::CStr, mut buffer: Aligned) -> rustix::io::Result<Self> {
        let own = rustix::io::fcntl_dupfd_cloexec(file, 0)?;
        // SAFETY: a descriptor that is open, and a mode that ends with a zero.
        let stream = unsafe { libc::fdopen(own.as_raw_fd(), mode.as_ptr()) };
        if stream.is_null() {
            return Err(last_error());
        }
        let _ = own.into_raw_fd(); // the stream closes it
        let start = buffer.as_mut_ptr().cast();
        // SAFETY: nothing was done with the stream yet, and its buffer is kept beside it.
        unsafe { libc::setvbuf(stream, start, libc::_IOFBF, buffer.len()) };
        Ok(Self {
            file: stream,
            position: None,
            _buffer: buffer,
        })
    }

    fn write(&mut self, block: &[u8], offset: u64) -> rustix::io::Result<usize> {
        self.seek(offset)?;
        // SAFETY: so many bytes are there to be read.
        let done = unsafe { libc::fwrite(block.as_ptr().cast(), 1, block.len(), self.file) };
        self.moved(offset, done, block.len(), Errno::NOSPC)
    }

    fn read(&mut self, block: &mut [u8], offset: u64) -> rustix::io::Result<usize> {
        self.seek(offset)?;
        // SAFETY: there is room for so many bytes.
        let done = unsafe { libc::fread(block.as_mut_ptr().cast(), 1, block.len(), self.file) };
        self.moved(offset, done, block.len(), Errno::NODATA)
    }

    /// What a transfer that moved `done` bytes comes to. A part is not completed: where a write failed, the library has thrown away what
    /// was in its buffer.
    #[inline]
    fn moved(
        &mut self,
        offset: u64,
        done: usize,
        wanted: usize,
        short: Errno,
    ) -> rustix::io::Result<usize> {
        if done == wanted {
            self.position = Some(offset + done as u64);
            return Ok(done);
        }
        // SAFETY: a stream that is open.
        let failed = unsafe { libc::ferror(self.file) } != 0;
        let errno = if failed { last_error() } else { short };
        // SAFETY: as above; the next call sets its own mark.
        unsafe { libc::clearerr(self.file) };
        Err(errno)
    }

    /// Goes to an offset unless the stream is there; where it then is not known, a transfer that fails leaves it so.
    fn seek(&mut self, offset: u64) -> rustix::io::Result<()> {
        if self.position.take() == Some(offset) {
            return Ok(());
        }
        // SAFETY: a stream that is open.
        match unsafe { libc::fseeko(self.file, offset as i64, libc::SEEK_SET) } {
            0 => Ok(()),
            _ => Err(last_error()),
        }
    }

    /// All that was written goes to the file.
    fn flush(&mut self) -> rustix::io::Result<usize> {
        // SAFETY: a stream that is open.
        match unsafe { libc::fflush(self.file) } {
            0 => Ok(0),
            _ => Err(last_error()),
        }
    }

    /// Closes it; some file systems say only now what they could not write.
    fn close(mut self) -> rustix::io::Result<()> {
        let file = std::mem::replace(&mut self.file, std::ptr::null_mut());
        // SAFETY: a stream that is open and is not used any more.
        match unsafe { libc::fclose(file) } {
            0 => Ok(()),
            _ => Err(last_error()),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.file.is_null() {
            // SAFETY: a stream that is open and is not used any more.
            unsafe { libc::fclose(self.file) };
        }
    }
}
