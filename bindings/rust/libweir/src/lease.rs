// SPDX-License-Identifier: MIT
//! Permits of a limiter held for one thread.
use crate::error::checked;
use crate::{nanos, Decision, Error, Limiter, FOREVER};
use libweir_sys as sys;
use std::ptr::{null_mut, NonNull};
use std::time::Duration;

/// Permits of a limiter held for this thread. Taking one is a subtraction: no clock, no lock, nothing shared. When too
/// few are left the lease is refilled with what the thread uses in a few microseconds; weir_lease(3) says what else
/// differs. Dropping it gives unused permits back.
///
/// ```
/// let limiter = libweir::Limiter::new("1000000/s")?;
/// let mut lease = limiter.lease()?;
/// assert!(lease.take(1).allowed());
/// # Ok::<(), libweir::Error>(())
/// ```
///
/// It stays with its thread:
///
/// ```compile_fail
/// let mut lease = libweir::Limiter::new("1000000/s").unwrap().lease().unwrap();
/// std::thread::spawn(move || lease.take(1));
/// ```
#[derive(Debug)]
pub struct Lease {
    /// On the heap, because weir knows its address until it is closed or its thread ends. Not a Box, which would claim
    /// that nobody else does. It also makes the type stay with its thread.
    lease: NonNull<sys::weir_lease>,
    /// Keeps the limiter open, also when the lease is leaked.
    limiter: Limiter,
}

impl Lease {
    pub(crate) fn open(limiter: &Limiter) -> Result<Lease, Error> {
        let closed = sys::weir_lease {
            left: 0,
            last_ns: 0,
            step: 0,
            end: 0,
            scale: 0,
            calls: 0,
            reserved: 0,
            inside: null_mut(),
        };
        let lease = Lease { lease: NonNull::from(Box::leak(Box::new(closed))), limiter: limiter.clone() };
        // SAFETY: it does not move, and is closed by drop or stays for ever.
        checked(|error| unsafe { sys::weir_lease_open(lease.lease.as_ptr(), limiter.raw(), error) })?;
        Ok(lease)
    }

    /// The limiter that it belongs to.
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// Takes permits if they are available now, and else none.
    #[inline]
    pub fn take(&mut self, cost: u64) -> Decision {
        match self.spend(cost) {
            Some(decision) => decision,
            // SAFETY: open, of this thread.
            None => Decision(unsafe { sys::weir_lease_renew(self.lease.as_ptr(), cost) }),
        }
    }

    /// Blocks until the operation may start.
    #[inline]
    pub fn wait(&mut self, cost: u64) -> Decision {
        self.wait_at_most(cost, FOREVER)
    }

    /// Blocks until the operation may start; refuses at once if that is further away than the time.
    #[inline]
    pub fn wait_at_most(&mut self, cost: u64, wait_max: Duration) -> Decision {
        match self.spend(cost) {
            Some(decision) => decision,
            // SAFETY: open, of this thread.
            None => Decision(unsafe { sys::weir_lease_renew_wait(self.lease.as_ptr(), cost, nanos(wait_max)) }),
        }
    }

    /// The fast path, as `weir/lease.h` has it; that layout is frozen. A cost of 0 goes to the limiter.
    #[inline]
    fn spend(&mut self, cost: u64) -> Option<Decision> {
        // SAFETY: ours until drop, and weir writes to it only within calls of this thread and when the thread ends.
        let lease = unsafe { self.lease.as_mut() };
        if cost == 0 || cost > lease.left {
            return None;
        }
        let left = lease.left - cost;
        lease.left = left;
        lease.calls = lease.calls.wrapping_add(1);
        Some(Decision(sys::weir_decision {
            verdict: sys::WEIR_ALLOW,
            limit: 0,
            start: sys::weir_instant { ns: lease.last_ns.wrapping_sub(left.wrapping_mul(lease.step) >> 16) },
            delay_ns: 0,
            retry_ns: 0,
            end: lease.end.wrapping_sub(left << (lease.scale & 63)),
            remaining: left,
            charged: cost,
            reserved: lease.reserved,
        }))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // SAFETY: of this thread; after closing, nobody else knows the address, which came from a Box.
        unsafe {
            sys::weir_lease_close(self.lease.as_ptr());
            drop(Box::from_raw(self.lease.as_ptr()));
        }
    }
}
