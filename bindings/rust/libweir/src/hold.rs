// SPDX-License-Identifier: MIT
//! Slots of a concurrent limit, and costs by unit.
use crate::table::key_of;
use crate::{nanos, Costs, Decision, Error, Limiter, Plan, Table, FOREVER};
use libweir_sys as sys;
use std::ops::Deref;
use std::time::Duration;

/// Slots of a concurrent limit that are held; dropping it releases them. It may go to another thread or task.
///
/// What runs for longer than a lease renews it. A hold that is leaked, or whose process dies, is free when the lease
/// is over; of a table in a file at once when the process has ended.
///
/// ```
/// let limiter = libweir::Limiter::new("2 concurrent lease=30s")?;
/// let hold = limiter.hold(1).unwrap(); // waits
/// let other = limiter.try_hold(1).unwrap();
/// let refused = limiter.try_hold(1).unwrap_err();
/// assert!(refused.retry() <= Some(std::time::Duration::from_secs(30)));
/// assert!(hold.renew());
/// drop(hold);
/// assert!(other.release() && limiter.try_hold(2).is_ok());
/// # Ok::<(), libweir::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping it releases the slots"]
pub struct Hold {
    of: Of,
    decision: Decision,
}

#[derive(Debug)]
enum Of {
    Limiter(Limiter),
    Table(Table, Plan, Box<[u8]>),
}

impl Hold {
    /// What renews and releases it elsewhere, too: in another process, of a table.
    pub fn id(&self) -> u64 {
        self.decision.id()
    }

    /// The decision by which it is held.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Held for a whole lease from now on; false: it is not held any more, and nothing is done.
    pub fn renew(&self) -> bool {
        match &self.of {
            Of::Limiter(limiter) => limiter.renew(self.id()),
            Of::Table(table, plan, key) => table.renew(plan, key, self.id()),
        }
    }

    /// Ended now; false: it was not held any more, and others may have had the slots meanwhile.
    pub fn release(mut self) -> bool {
        self.end()
    }

    /// Not released by this value: somebody who has the id does, or the end of the lease.
    pub fn into_id(mut self) -> u64 {
        let id = self.id();
        self.decision = Decision::never();
        id
    }

    fn end(&mut self) -> bool {
        let decision = std::mem::replace(&mut self.decision, Decision::never());
        decision.allowed()
            && match &self.of {
                Of::Limiter(limiter) => limiter.release(decision.id()),
                Of::Table(table, plan, key) => table.release(plan, key, decision.id()),
            }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.end();
    }
}

fn held(of: impl FnOnce() -> Of, decision: Decision) -> Result<Hold, Decision> {
    if decision.allowed() {
        Ok(Hold { of: of(), decision })
    } else {
        Err(decision)
    }
}

/// A decision by costs of each limit, which is settled by such costs. It has the methods of a [`Decision`].
#[derive(Debug)]
#[must_use = "a decision may be a refusal"]
pub struct EachDecision {
    decision: Decision,
    costs: Costs,
    ends: [u64; sys::WEIR_LIMITS_MAX],
}

impl EachDecision {
    fn of(costs: &Costs, take: impl FnOnce(*const u64, *mut u64) -> sys::weir_decision) -> EachDecision {
        let mut ends = [0; sys::WEIR_LIMITS_MAX];
        let decision = Decision(take(costs.0.as_ptr(), ends.as_mut_ptr()));
        EachDecision { decision, costs: *costs, ends }
    }
}

impl Deref for EachDecision {
    type Target = Decision;

    fn deref(&self) -> &Decision {
        &self.decision
    }
}

const NOTHING: Costs = Costs([0; sys::WEIR_LIMITS_MAX]);

impl Limiter {
    /// Holds slots of a concurrent limit; blocks until they are free, in the order of the calls. It refuses (Never) if
    /// so many can never be had, or no limit of the text is concurrent.
    pub fn hold(&self, cost: u64) -> Result<Hold, Decision> {
        self.hold_at_most(cost, FOREVER)
    }

    /// The same, but blocks for at most that time.
    pub fn hold_at_most(&self, cost: u64, wait_max: Duration) -> Result<Hold, Decision> {
        self.held(|| self.wait_at_most(cost, wait_max))
    }

    /// The same without blocking; a refusal says after which time to try again, at the latest.
    pub fn try_hold(&self, cost: u64) -> Result<Hold, Decision> {
        self.held(|| self.take(cost))
    }

    fn held(&self, take: impl FnOnce() -> Decision) -> Result<Hold, Decision> {
        if !self.leases() {
            return Err(Decision::never());
        }
        held(|| Of::Limiter(self.clone()), take())
    }

    /// The slots with this id are held for a whole lease from now on; false: they are not held any more.
    pub fn renew(&self, id: u64) -> bool {
        // SAFETY: open until the last clone is gone. So in all that follow.
        unsafe { sys::weir_renew(self.raw(), id) }
    }

    /// They end now; false: they are not held any more.
    pub fn release(&self, id: u64) -> bool {
        // SAFETY: as in renew.
        unsafe { sys::weir_release(self.raw(), id) }
    }

    /// [`Plan::costs`] under the limit in force.
    pub fn costs(&self, by_unit: &[(&str, u64)]) -> Result<Costs, Error> {
        Plan::new(&self.limit())?.costs(by_unit)
    }

    /// Takes what the call costs of each limit if that is available now, and else nothing.
    pub fn take_each(&self, costs: &Costs) -> EachDecision {
        // SAFETY: as in renew; both have a number for each limit.
        EachDecision::of(costs, |cost, end| unsafe { sys::weir_take_each(self.raw(), cost, end) })
    }

    /// Takes what becomes available within that time; it does not block.
    pub fn reserve_each(&self, costs: &Costs, delay_max: Duration) -> EachDecision {
        let max = nanos(delay_max);
        // SAFETY: as in take_each.
        EachDecision::of(costs, |cost, end| unsafe { sys::weir_reserve_each(self.raw(), cost, end, max) })
    }

    /// Blocks until the operation may start; refuses if that takes longer than the time.
    pub fn wait_each(&self, costs: &Costs, wait_max: Duration) -> EachDecision {
        let max = nanos(wait_max);
        // SAFETY: as in take_each.
        EachDecision::of(costs, |cost, end| unsafe { sys::weir_take_each_wait(self.raw(), cost, end, max) })
    }

    /// [`hold_at_most`](Limiter::hold_at_most) of costs by unit; no time does not block.
    pub fn hold_each(&self, costs: &Costs, wait_max: Duration) -> Result<Hold, Decision> {
        self.held(|| self.wait_each(costs, wait_max).decision)
    }

    /// Charges or refunds the difference to the actual costs.
    pub fn settle_each(&self, mut each: EachDecision, actual: &Costs) {
        let (cost, actual, end) = (each.costs.0.as_ptr(), actual.0.as_ptr(), each.ends.as_ptr());
        // SAFETY: as in take_each.
        unsafe { sys::weir_settle_each(self.raw(), &mut each.decision.0, cost, actual, end) }
    }

    /// Gives back what was taken for an operation that never ran.
    pub fn cancel_each(&self, each: EachDecision) {
        self.settle_each(each, &NOTHING);
    }
}

impl Table {
    /// Holds slots of a concurrent limit for all processes; blocks until they are free. It refuses (Never) if so many
    /// can never be had, or no limit of the plan is concurrent.
    pub fn hold(&self, plan: &Plan, key: impl AsRef<[u8]>, cost: u64) -> Result<Hold, Decision> {
        self.hold_at_most(plan, key, cost, FOREVER)
    }

    /// The same, but blocks for at most that time.
    pub fn hold_at_most(
        &self,
        plan: &Plan,
        key: impl AsRef<[u8]>,
        cost: u64,
        wait_max: Duration,
    ) -> Result<Hold, Decision> {
        self.held(plan, key.as_ref(), |key| self.wait_at_most(plan, key, cost, wait_max))
    }

    /// The same without blocking; a refusal says after which time to try again, at the latest.
    pub fn try_hold(&self, plan: &Plan, key: impl AsRef<[u8]>, cost: u64) -> Result<Hold, Decision> {
        self.held(plan, key.as_ref(), |key| self.take(plan, key, cost))
    }

    fn held(&self, plan: &Plan, key: &[u8], take: impl FnOnce(&[u8]) -> Decision) -> Result<Hold, Decision> {
        if plan.lease().is_none() {
            return Err(Decision::never());
        }
        held(|| Of::Table(self.clone(), plan.clone(), key.into()), take(key))
    }

    /// The slots with this id are held for a whole lease from now on; false: they are not held any more.
    pub fn renew(&self, plan: &Plan, key: impl AsRef<[u8]>, id: u64) -> bool {
        // SAFETY: open until the last clone is gone; the key is borrowed for the call. So in all that follow.
        unsafe { sys::weir_table_renew(self.raw(), plan.raw(), key_of(key.as_ref()), id) }
    }

    /// They end now; false: they are not held any more.
    pub fn release(&self, plan: &Plan, key: impl AsRef<[u8]>, id: u64) -> bool {
        // SAFETY: as in renew.
        unsafe { sys::weir_table_release(self.raw(), plan.raw(), key_of(key.as_ref()), id) }
    }

    /// Takes what the call costs of each limit if that is available now, and else nothing.
    pub fn take_each(&self, plan: &Plan, key: impl AsRef<[u8]>, costs: &Costs) -> EachDecision {
        let key = key_of(key.as_ref());
        // SAFETY: as in renew; both have a number for each limit.
        let take = |cost, end| unsafe { sys::weir_table_take_each(self.raw(), plan.raw(), key, cost, end) };
        EachDecision::of(costs, take)
    }

    /// Takes what becomes available within that time; it does not block.
    pub fn reserve_each(&self, plan: &Plan, key: impl AsRef<[u8]>, costs: &Costs, delay_max: Duration) -> EachDecision {
        let (key, max) = (key_of(key.as_ref()), nanos(delay_max));
        // SAFETY: as in take_each.
        let take = |cost, end| unsafe { sys::weir_table_reserve_each(self.raw(), plan.raw(), key, cost, end, max) };
        EachDecision::of(costs, take)
    }

    /// Blocks until the operation may start; refuses if that takes longer than the time.
    pub fn wait_each(&self, plan: &Plan, key: impl AsRef<[u8]>, costs: &Costs, wait_max: Duration) -> EachDecision {
        let (key, max) = (key_of(key.as_ref()), nanos(wait_max));
        // SAFETY: as in take_each.
        let take = |cost, end| unsafe { sys::weir_table_take_each_wait(self.raw(), plan.raw(), key, cost, end, max) };
        EachDecision::of(costs, take)
    }

    /// [`hold_at_most`](Table::hold_at_most) of costs by unit; no time does not block.
    pub fn hold_each(
        &self,
        plan: &Plan,
        key: impl AsRef<[u8]>,
        costs: &Costs,
        wait_max: Duration,
    ) -> Result<Hold, Decision> {
        self.held(plan, key.as_ref(), |key| self.wait_each(plan, key, costs, wait_max).decision)
    }

    /// Charges or refunds the difference to the actual costs.
    pub fn settle_each(&self, plan: &Plan, key: impl AsRef<[u8]>, mut each: EachDecision, actual: &Costs) {
        let key = key_of(key.as_ref());
        let (cost, actual, end) = (each.costs.0.as_ptr(), actual.0.as_ptr(), each.ends.as_ptr());
        let decision = &mut each.decision.0;
        // SAFETY: as in take_each.
        unsafe { sys::weir_table_settle_each(self.raw(), plan.raw(), key, decision, cost, actual, end) }
    }

    /// Gives back what was taken for an operation that never ran.
    pub fn cancel_each(&self, plan: &Plan, key: impl AsRef<[u8]>, each: EachDecision) {
        self.settle_each(plan, key, each, &NOTHING);
    }
}
