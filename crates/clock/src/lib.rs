//! Time: the cycle counter checked against `CLOCK_MONOTONIC`.
//!
//! A stamp is one `rdtsc` where the kernel itself keeps its time with the time-stamp counter, else one `clock_gettime`.
//! Stamps are turned into nanoseconds only after a phase, between two anchors, so that the rate is the one that
//! `CLOCK_MONOTONIC` had during that very phase.

mod anchor;
mod kernel;
mod source;

pub use anchor::{Anchor, Timebase, error_ppm};
pub use kernel::{monotonic_ns, sleep_until};
pub use source::{Clock, Source};
