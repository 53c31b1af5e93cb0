// SPDX-License-Identifier: MIT
//! When operations of a limiter were due, and how long they took.
use crate::{Bucket, Decision, Instant, Latency, Limiter};
use libweir_sys as sys;
use std::mem::size_of;

/// One of the two times of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Measure {
    /// From when it was due to its end: if it waited for its turn, this says so.
    Response = sys::WEIR_RESPONSE,
    /// From its start to its end.
    Service = sys::WEIR_SERVICE,
}

/// An operation that has started; dropping it records its end. It may go to another thread or task.
#[derive(Debug)]
#[must_use = "dropping it ends the operation"]
pub struct Operation {
    limiter: Limiter,
    decision: Decision,
}

impl Operation {
    /// The decision by which it started.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        self.limiter.done(&self.decision);
    }
}

impl Limiter {
    /// When the nth permit of a decision, from 1, was due by the schedule of a limit that paces; else its start.
    pub fn due(&self, decision: &Decision, nth: u64) -> Instant {
        // SAFETY: open until the last clone is gone. So in all that follow.
        Instant::from_nanos(unsafe { sys::weir_due(self.raw(), &decision.0, nth) }.ns)
    }

    /// An operation that starts by this decision, and that is [`done`](Limiter::done) when it is dropped. Of a refusal
    /// nothing is recorded.
    pub fn operation(&self, decision: Decision) -> Operation {
        Operation { limiter: self.clone(), decision }
    }

    /// The operation of this decision has ended: records how long it took.
    pub fn done(&self, decision: &Decision) {
        // SAFETY: as in due.
        unsafe { sys::weir_done(self.raw(), &decision.0) }
    }

    /// The same in times that you know better.
    pub fn done_at(&self, due: Instant, start: Instant, now: Instant) {
        // SAFETY: as in due.
        unsafe { sys::weir_done_at(self.raw(), due.raw(), start.raw(), now.raw()) }
    }

    /// What was recorded.
    pub fn latency(&self) -> Latency {
        let mut latency = Latency::default();
        // SAFETY: as in due; weir writes at most the size given.
        unsafe { sys::weir_read_latency(self.raw(), &mut latency, size_of::<Latency>()) }
        latency
    }

    /// All that was recorded, the shortest times first, as `record_n` of HdrHistogram takes it.
    pub fn latency_buckets(&self, measure: Measure) -> Vec<Bucket> {
        let mut buckets = Vec::new();
        loop {
            // SAFETY: as in due; weir writes at most as many as there are.
            let count =
                unsafe { sys::weir_read_buckets(self.raw(), measure as u32, buckets.as_mut_ptr(), buckets.len()) };
            let fits = count <= buckets.len();
            buckets.resize(count, Bucket::default());
            if fits {
                return buckets;
            }
        }
    }
}
