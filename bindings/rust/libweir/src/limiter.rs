// SPDX-License-Identifier: MIT
//! One limit for all threads of a process.
use crate::error::{c_text, checked, text_of, Owned};
use crate::{nanos, Decision, Error, Instant, Lease, Plan, Stats, Use, FOREVER};
use libweir_sys as sys;
use std::ffi::c_int;
use std::mem::size_of;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::Duration;

/// Where a limiter reads the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Clock {
    /// CLOCK_MONOTONIC.
    #[default]
    System = sys::WEIR_CLOCK_SYSTEM,
    /// Cheaper, some ms behind.
    Coarse = sys::WEIR_CLOCK_COARSE,
    /// A thread reads the system's clock each [`LimiterOptions::tick`]; not for tables.
    Ticker = sys::WEIR_CLOCK_TICKER,
    /// 0 until [`Limiter::set_manual`]; for tests; not for tables.
    Manual = sys::WEIR_CLOCK_MANUAL,
    /// The processor's counter, where it is reliable, within 5 us of System; not for tables.
    Tsc = sys::WEIR_CLOCK_TSC,
}

/// What is kept of used permits when the limit changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Carry {
    /// The time until they are back.
    Keep = sys::WEIR_KEEP,
    /// Their number.
    Scale = sys::WEIR_SCALE,
    /// Nothing.
    Reset = sys::WEIR_RESET,
}

/// How a limiter works; each default is weir's.
#[derive(Clone, Copy, Debug, Default)]
pub struct LimiterOptions {
    /// The defaults of the limit.
    pub usage: Use,
    /// Where it reads the time.
    pub clock: Clock,
    /// The shortest sleep: a thread may wake so late, but never early; zero is 50 us.
    pub min_sleep: Duration,
    /// Spins instead of sleeping for the last part of a wait.
    pub spin: Duration,
    /// Period of [`Clock::Ticker`]; zero is 1 ms.
    pub tick: Duration,
    /// Threads of the process that may spin at once; 0 is half of its processors.
    pub spin_processors: u64,
}

/// One limit for all threads of this process. Clones are the same limiter.
///
/// Where its limits count several units, one number does not say of what: such calls return Never, and those that end
/// in `_each` take [`costs`](Limiter::costs) by unit.
#[derive(Clone, Debug)]
pub struct Limiter(Arc<Owned<sys::weir_limiter>>);

impl Limiter {
    /// A limiter that admits, of a text such as `10/s burst=20; 1000/h`; see weir-limit(7).
    pub fn new(limits: &str) -> Result<Limiter, Error> {
        Limiter::open(limits, LimiterOptions::default())
    }

    /// A limiter that paces: threads that [`wait`](Limiter::wait) start at the rate, or by a profile such as
    /// `100/s for 1min then ..1000/s for 30s`, or at random with `1000/s arrivals=poisson seed=7`.
    pub fn pace(limits: &str) -> Result<Limiter, Error> {
        Limiter::open(limits, LimiterOptions { usage: Use::Pace, ..LimiterOptions::default() })
    }

    /// A limiter with options.
    pub fn open(limits: &str, options: LimiterOptions) -> Result<Limiter, Error> {
        let text = c_text("a limit", limits)?;
        let raw = sys::weir_options {
            size: size_of::<sys::weir_options>(),
            use_: options.usage as u32,
            clock: options.clock as u32,
            min_sleep_ns: nanos(options.min_sleep),
            spin_ns: nanos(options.spin),
            tick_ns: nanos(options.tick),
            spin_processors: options.spin_processors,
        };
        // SAFETY: what is borrowed lives for the call.
        let open = |owned, error| unsafe { sys::weir_open(owned, text.as_ptr(), &raw, error) };
        let limiter = Limiter(Owned::open(sys::weir_close, open)?);
        limiter.remember(&Plan::with_use(limits, options.usage)?);
        Ok(limiter)
    }

    fn remember(&self, plan: &Plan) {
        self.0.mixed.store(plan.mixed(), Relaxed);
        self.0.leases.store(plan.lease().is_some(), Relaxed);
    }

    /// Whether one number does not say of what, since the limits count several units.
    #[inline]
    fn mixed(&self) -> bool {
        self.0.mixed.load(Relaxed)
    }

    pub(crate) fn leases(&self) -> bool {
        self.0.leases.load(Relaxed)
    }

    #[inline]
    pub(crate) fn raw(&self) -> *mut sys::weir_limiter {
        self.0.raw()
    }

    /// Takes permits if they are available now, and else none.
    #[inline]
    pub fn take(&self, cost: u64) -> Decision {
        if self.mixed() {
            return Decision::never();
        }
        // SAFETY: open until the last clone is gone. So in all that follow.
        Decision(unsafe { sys::weir_take(self.raw(), cost) })
    }

    /// Takes permits as of a time that was read already, so that one reading serves many calls.
    #[inline]
    pub fn take_at(&self, now: Instant, cost: u64) -> Decision {
        if self.mixed() {
            return Decision::never();
        }
        // SAFETY: as in take.
        Decision(unsafe { sys::weir_take_at(self.raw(), now.raw(), cost) })
    }

    /// Takes as many permits as are available now, from 1 to that many; [`Decision::charged`] says how many.
    pub fn take_some(&self, cost_max: u64) -> Decision {
        if self.mixed() {
            return Decision::never();
        }
        // SAFETY: as in take.
        Decision(unsafe { sys::weir_take_some(self.raw(), cost_max) })
    }

    /// Takes permits that become available within that time. It does not block: sleep for [`Decision::delay`], or
    /// [`cancel`](Limiter::cancel).
    pub fn reserve(&self, cost: u64, delay_max: Duration) -> Decision {
        if self.mixed() {
            return Decision::never();
        }
        // SAFETY: as in take.
        Decision(unsafe { sys::weir_reserve(self.raw(), cost, nanos(delay_max)) })
    }

    /// Blocks until the operation may start. Threads start in the order of their calls.
    pub fn wait(&self, cost: u64) -> Decision {
        self.wait_at_most(cost, FOREVER)
    }

    /// Blocks until the operation may start; refuses at once if that is further away than the time.
    pub fn wait_at_most(&self, cost: u64, wait_max: Duration) -> Decision {
        if self.mixed() {
            return Decision::never();
        }
        // SAFETY: as in take.
        Decision(unsafe { sys::weir_take_wait(self.raw(), cost, nanos(wait_max)) })
    }

    /// Takes in any case: for a cost that is known only afterwards. Missing permits delay later calls.
    pub fn charge(&self, cost: u64) -> Decision {
        if self.mixed() {
            return Decision::never();
        }
        // SAFETY: as in take.
        Decision(unsafe { sys::weir_charge(self.raw(), cost) })
    }

    /// What a take would return; takes nothing.
    pub fn peek(&self, cost: u64) -> Decision {
        // SAFETY: as in take.
        Decision(unsafe { sys::weir_peek(self.raw(), cost) })
    }

    /// The same of one limit of several, by its index.
    pub fn peek_limit(&self, limit: usize, cost: u64) -> Decision {
        // SAFETY: as in take; an index that is too large is answered by Never.
        Decision(unsafe { sys::weir_peek_limit(self.raw(), c_int::try_from(limit).unwrap_or(c_int::MAX), cost) })
    }

    /// Charges or refunds the difference to the actual cost.
    ///
    /// ```
    /// let limiter = libweir::Limiter::new("1000 tokens/min")?;
    /// let call = limiter.take(800); // the most that the response may have
    /// limiter.settle(call, 300); // what it had
    /// assert!(limiter.take(700).allowed());
    /// # Ok::<(), libweir::Error>(())
    /// ```
    pub fn settle(&self, mut decision: Decision, actual: u64) {
        // SAFETY: as in take.
        unsafe { sys::weir_settle(self.raw(), &mut decision.0, actual) }
    }

    /// Gives back what was taken for an operation that never ran.
    pub fn cancel(&self, mut decision: Decision) {
        // SAFETY: as in take.
        unsafe { sys::weir_cancel(self.raw(), &mut decision.0) }
    }

    /// The time from a decision until its limit has all permits again: the reset of response headers.
    pub fn full(&self, decision: &Decision) -> Duration {
        // SAFETY: as in take.
        Duration::from_nanos(unsafe { sys::weir_full_ns(self.raw(), &decision.0) })
    }

    /// Permits held for this thread, to take millions of times a second.
    pub fn lease(&self) -> Result<Lease, Error> {
        Lease::open(self)
    }

    /// Changes the limit while in use. Waiting threads keep their order.
    pub fn set_limit(&self, limits: &str, carry: Carry) -> Result<(), Error> {
        let text = c_text("a limit", limits)?;
        // SAFETY: as in take, and the text ends in a NUL.
        checked(|error| unsafe { sys::weir_set_limit(self.raw(), text.as_ptr(), carry as u32, error) })?;
        if let Ok(plan) = Plan::new(limits) {
            self.remember(&plan); // a pause keeps what is known of the limit before
        }
        Ok(())
    }

    /// The limit in force, with all defaults written out.
    pub fn limit(&self) -> String {
        // SAFETY: as in take; weir writes at most size bytes.
        text_of(|out, size| unsafe { sys::weir_limit_text(self.raw(), out, size) })
    }

    /// Wakes waiting threads; they and all later calls return [`Verdict::Stopped`](crate::Verdict::Stopped).
    pub fn stop(&self) {
        // SAFETY: as in take.
        unsafe { sys::weir_stop(self.raw()) }
    }

    /// Sets [`Clock::Manual`], and wakes the threads that are due.
    pub fn set_manual(&self, now: Instant) {
        // SAFETY: as in take.
        unsafe { sys::weir_manual_set(self.raw(), now.raw()) }
    }

    /// Counts since it was opened.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        // SAFETY: as in take; weir writes at most the size given.
        unsafe { sys::weir_read_stats(self.raw(), &mut stats, size_of::<Stats>()) }
        stats
    }
}
