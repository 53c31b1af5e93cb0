// SPDX-License-Identifier: MIT
//! What a take returns.
use libweir_sys as sys;
use std::fmt;
use std::time::Duration;

/// A time in ns: for limiters and tables, of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The time now, of CLOCK_MONOTONIC.
    pub fn now() -> Instant {
        // SAFETY: reads a clock.
        Instant(unsafe { sys::weir_now() }.ns)
    }

    /// So many ns after the beginning of the clock.
    pub const fn from_nanos(nanos: u64) -> Instant {
        Instant(nanos)
    }

    /// The ns since the beginning of the clock.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    pub(crate) const fn raw(self) -> sys::weir_instant {
        sys::weir_instant { ns: self.0 }
    }
}

/// The answer in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Permits were taken: start, after [`Decision::delay`] if that is not 0.
    Allow,
    /// Not now: try again after [`Decision::retry`].
    Deny,
    /// So many permits can never be had at once.
    Never,
    /// The limiter was stopped.
    Stopped,
}

/// The answer to a take, with its numbers.
///
/// It is neither copied nor cloned: [`Limiter::settle`](crate::Limiter::settle) and
/// [`Limiter::cancel`](crate::Limiter::cancel) use it up, because a decision is settled once.
#[must_use = "a decision may be a refusal"]
pub struct Decision(pub(crate) sys::weir_decision);

impl Decision {
    /// Of a question that cannot be asked so.
    pub(crate) fn never() -> Decision {
        Decision(sys::weir_decision { verdict: sys::WEIR_NEVER, ..sys::weir_decision::default() })
    }

    /// Of a tenant: it took, but not from its guaranteed limit.
    pub fn borrowed(&self) -> bool {
        self.allowed() && self.0.reserved >> 34 & 1 != 0 // weir_borrowed of weir.h
    }

    /// Under a concurrent limit: what renews and releases the slots that it holds.
    pub fn id(&self) -> u64 {
        self.0.end
    }

    /// May the operation start, after [`delay`](Decision::delay)?
    #[inline]
    pub fn allowed(&self) -> bool {
        self.0.verdict == sys::WEIR_ALLOW
    }

    /// The answer in one word.
    pub fn verdict(&self) -> Verdict {
        match self.0.verdict {
            sys::WEIR_ALLOW => Verdict::Allow,
            sys::WEIR_DENY => Verdict::Deny,
            sys::WEIR_STOPPED => Verdict::Stopped,
            _ => Verdict::Never,
        }
    }

    /// If allowed by a `reserve`: how long to sleep before starting.
    pub fn delay(&self) -> Duration {
        Duration::from_nanos(self.0.delay_ns)
    }

    /// When the operation may start.
    pub fn start(&self) -> Instant {
        Instant(self.0.start.ns)
    }

    /// When it was due by the schedule of a limit that paces; else its start.
    pub fn due(&self) -> Instant {
        Instant(if self.allowed() && self.0.retry_ns != 0 { self.0.retry_ns } else { self.0.start.ns })
    }

    /// If denied: this call would pass after so long and no sooner, if no other comes first.
    pub fn retry(&self) -> Option<Duration> {
        (self.0.verdict == sys::WEIR_DENY).then(|| Duration::from_nanos(self.0.retry_ns))
    }

    /// The same in whole seconds, rounded up, as the header Retry-After has it.
    pub fn retry_after(&self) -> Option<u64> {
        self.retry().map(|retry| retry.as_secs() + u64::from(retry.subsec_nanos() > 0))
    }

    /// Further permits available now.
    pub fn remaining(&self) -> u64 {
        self.0.remaining
    }

    /// Permits taken from the first limit.
    pub fn charged(&self) -> u64 {
        self.0.charged
    }

    /// The index of the limit that refused, that set the start, or else that has the least remaining.
    pub fn limit(&self) -> usize {
        self.0.limit as usize
    }
}

impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verdict, delay, retry) = (self.verdict(), self.delay(), self.retry());
        write!(f, "Decision {{ {verdict:?}, delay: {delay:?}, retry: {retry:?}, remaining: {} }}", self.remaining())
    }
}
