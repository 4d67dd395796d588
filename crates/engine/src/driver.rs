//! One phase after another: arm, wait for go, run, answer.

use crate::control::Control;
use crate::engines;
use crate::phase::{Parked, Phase};
use crate::protocol::{Config, Fault, Reply, send, send_fault};
use assay_clock::{Anchor, Clock, Timebase};
use std::sync::Arc;

/// What the driver is asked to do.
pub enum Job {
    Arm(Box<Config>, Arc<Control>),
    Go(u64),
}

/// What outlives a phase: the first anchor of the clock, whether it is still believed, and the phase that is armed.
pub struct Driver {
    birth: Anchor,
    clock: Clock,
    armed: Option<Phase>,
    parked: Option<Parked>,
}

impl Driver {
    /// Nothing armed yet.
    pub fn new() -> Self {
        let clock = Clock::choose();
        Self {
            birth: Anchor::take(clock),
            clock,
            armed: None,
            parked: None,
        }
    }

    /// Does one job to its end.
    pub fn handle(&mut self, job: Job) {
        match job {
            Job::Arm(config, control) => self.arm(*config, control),
            Job::Go(at_ns) => self.go(at_ns),
        }
    }

    fn arm(&mut self, config: Config, control: Arc<Control>) {
        if let Some(phase) = self.armed.take() {
            phase.abandon();
        }
        self.parked = None;
        self.check_clock();
        let name = config.phase.clone();
        match Self::prepare(config, control, self.clock, self.birth) {
            Ok(phase) => {
                send(&Reply::Armed {
                    phase: &name,
                    mono_ns: phase.armed_ns,
                    address: phase.address().as_deref(),
                });
                self.armed = Some(phase);
            }
            Err(fault) => send_fault(&name, &fault),
        }
    }

    fn prepare(
        config: Config,
        control: Arc<Control>,
        clock: Clock,
        birth: Anchor,
    ) -> Result<Phase, Fault> {
        let armed = engines::find(&config.engine)?(&config)?;
        let calibrated = Timebase::between(clock, birth, Anchor::take_after(clock, birth));
        let beside = armed.beside.clone();
        Phase::arm(config, armed, control, (clock, calibrated)).inspect_err(|_| {
            if let Some(beside) = beside {
                beside.finish();
            }
        })
    }

    /// Takes over the kernel's present judgement of the cycle counter; what was once not believed stays so.
    fn check_clock(&mut self) {
        if self.clock.source() != Clock::choose().source()
            && self.clock.source() != Clock::gettime().source()
        {
            self.clock = Clock::gettime();
            self.birth = Anchor::take(self.clock);
        }
    }

    fn go(&mut self, at_ns: u64) {
        let Some(phase) = self.armed.take() else {
            let message = "no phase is armed; send config and wait for armed".to_owned();
            return send_fault(
                "",
                &Fault {
                    what: "go",
                    path: None,
                    errno: None,
                    message,
                },
            );
        };
        let (result, parked) = phase.run(at_ns);
        self.parked = Some(parked);
        let believed = self.clock.after_error(result.clock.error_ppm);
        if believed.source() != self.clock.source() {
            self.clock = believed;
            self.birth = Anchor::take(believed);
        }
        send(&Reply::Result(&result));
    }
}
