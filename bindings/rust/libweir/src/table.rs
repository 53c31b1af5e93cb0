// SPDX-License-Identifier: MIT
//! A state for each key, in memory that threads and processes share.
use crate::error::{c_text, checked, Owned};
use crate::{nanos, Clock, Decision, Error, Instant, Plan, TableStats, FOREVER};
use libweir_sys as sys;
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::null;
use std::sync::Arc;
use std::time::Duration;

/// What a new key gets when every slot open to it is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum WhenFull {
    /// The slot with the least debt, and that debt, so that no key gets too much.
    #[default]
    Inherit = sys::WEIR_FULL_INHERIT,
    /// The same slot, emptied.
    Evict = sys::WEIR_FULL_EVICT,
    /// A refusal.
    Deny = sys::WEIR_FULL_DENY,
    /// It passes uncounted.
    Allow = sys::WEIR_FULL_ALLOW,
}

/// Whether a table's file may exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Sharing {
    /// Joins the file, or creates it.
    #[default]
    JoinOrCreate = sys::WEIR_JOIN_OR_CREATE,
    /// Joins the file that exists.
    Join = sys::WEIR_JOIN,
    /// Creates the file, which must not exist.
    Create = sys::WEIR_CREATE,
    /// Without a file: not even shared with children made by fork.
    Private = sys::WEIR_PRIVATE,
}

/// How a table is opened; each default is weir's.
#[derive(Clone, Debug, Default)]
pub struct TableOptions {
    /// Keys in use at once; 0 is 1,000,000.
    pub keys: u64,
    /// The file that processes share and a restart keeps; none: this process and its children.
    pub path: Option<PathBuf>,
    /// Whether the file may exist.
    pub sharing: Sharing,
    /// What a new key gets when the table is full.
    pub when_full: WhenFull,
    /// System or Coarse.
    pub clock: Clock,
    /// Permissions of a new file, 0600 and others to read and write; 0 is 0600.
    pub mode: u32,
    /// The longest refill of a limit; zero is 32 days.
    pub refill_max: Duration,
    /// For algorithms other than gcra: slots as large as this plan's state.
    pub plan: Option<Plan>,
    /// With such slots in a file: how long to wait for another process's lock; zero is 50 ms.
    pub lock_wait: Duration,
    /// What this process holds under a concurrent limit stays held when it ends, until the lease is over.
    pub holds_for_others: bool,
}

/// A state for each key: a client, an account, an address. Clones are the same table.
///
/// Where the limits of a plan count several units, one number does not say of what: such calls return Never, and those
/// that end in `_each` take [`Plan::costs`].
///
/// ```
/// let table = libweir::Table::private(10_000)?;
/// let plan = "2/min".parse()?;
/// assert!(table.take(&plan, "alice", 2).allowed());
/// assert!(!table.take(&plan, "alice", 1).allowed());
/// assert!(table.take(&plan, "bob", 1).allowed());
/// # Ok::<(), libweir::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Table(Arc<Owned<sys::weir_table>>);

pub(crate) fn key_of(key: &[u8]) -> sys::weir_key {
    sys::weir_key { bytes: key.as_ptr().cast(), size: key.len() }
}

impl Table {
    /// A table in a file, which all processes that open it share.
    pub fn shared(path: impl AsRef<Path>, keys: u64) -> Result<Table, Error> {
        Table::open(TableOptions { keys, path: Some(path.as_ref().to_owned()), ..TableOptions::default() })
    }

    /// A table in the memory of this process.
    pub fn private(keys: u64) -> Result<Table, Error> {
        Table::open(TableOptions { keys, sharing: Sharing::Private, ..TableOptions::default() })
    }

    /// A table with options.
    pub fn open(options: TableOptions) -> Result<Table, Error> {
        let path = options.path.as_ref().map(|path| c_text("a path", path.as_os_str().as_bytes())).transpose()?;
        let raw = sys::weir_table_options {
            size: size_of::<sys::weir_table_options>(),
            keys_max: options.keys,
            path: path.as_ref().map_or(null(), |path| path.as_ptr()),
            sharing: options.sharing as u32,
            when_full: options.when_full as u32,
            clock: options.clock as u32,
            mode: options.mode,
            refill_max_ns: nanos(options.refill_max),
            plan: options.plan.as_ref().map_or(null(), Plan::raw),
            top: 0,
            lock_wait_ns: nanos(options.lock_wait),
            holds_for_others: options.holds_for_others,
        };
        // SAFETY: what is borrowed lives for the call.
        let open = |owned, error| unsafe { sys::weir_table_open(owned, &raw, error) };
        Ok(Table(Owned::open(sys::weir_table_close, open)?))
    }

    pub(crate) fn raw(&self) -> *mut sys::weir_table {
        self.0.raw()
    }

    /// Takes permits of a key if they are available now, and else none.
    pub fn take(&self, plan: &Plan, key: impl AsRef<[u8]>, cost: u64) -> Decision {
        if plan.mixed() {
            return Decision::never();
        }
        // SAFETY: open until the last clone is gone; the key is borrowed for the call. So in all that follow.
        Decision(unsafe { sys::weir_table_take(self.raw(), plan.raw(), key_of(key.as_ref()), cost) })
    }

    /// Takes permits of a key as of a time that was read already.
    pub fn take_at(&self, plan: &Plan, key: impl AsRef<[u8]>, now: Instant, cost: u64) -> Decision {
        if plan.mixed() {
            return Decision::never();
        }
        let key = key_of(key.as_ref());
        // SAFETY: as in take.
        Decision(unsafe { sys::weir_table_take_at(self.raw(), plan.raw(), key, now.raw(), cost) })
    }

    /// Takes permits that become available within that time; sleep for [`Decision::delay`].
    pub fn reserve(&self, plan: &Plan, key: impl AsRef<[u8]>, cost: u64, delay_max: Duration) -> Decision {
        if plan.mixed() {
            return Decision::never();
        }
        let key = key_of(key.as_ref());
        // SAFETY: as in take.
        Decision(unsafe { sys::weir_table_reserve(self.raw(), plan.raw(), key, cost, nanos(delay_max)) })
    }

    /// Blocks this thread until the operation may start.
    pub fn wait(&self, plan: &Plan, key: impl AsRef<[u8]>, cost: u64) -> Decision {
        self.wait_at_most(plan, key, cost, FOREVER)
    }

    /// Blocks this thread until the operation may start; refuses at once if that is further away than the time.
    pub fn wait_at_most(&self, plan: &Plan, key: impl AsRef<[u8]>, cost: u64, wait_max: Duration) -> Decision {
        if plan.mixed() {
            return Decision::never();
        }
        let key = key_of(key.as_ref());
        // SAFETY: as in take.
        Decision(unsafe { sys::weir_table_take_wait(self.raw(), plan.raw(), key, cost, nanos(wait_max)) })
    }

    /// Takes in any case; missing permits delay later calls.
    pub fn charge(&self, plan: &Plan, key: impl AsRef<[u8]>, cost: u64) -> Decision {
        if plan.mixed() {
            return Decision::never();
        }
        // SAFETY: as in take.
        Decision(unsafe { sys::weir_table_charge(self.raw(), plan.raw(), key_of(key.as_ref()), cost) })
    }

    /// What a take would return; takes nothing.
    pub fn peek(&self, plan: &Plan, key: impl AsRef<[u8]>, cost: u64) -> Decision {
        // SAFETY: as in take; -1 is all limits.
        Decision(unsafe { sys::weir_table_peek(self.raw(), plan.raw(), key_of(key.as_ref()), -1, cost) })
    }

    /// Charges or refunds the difference to the actual cost.
    pub fn settle(&self, plan: &Plan, key: impl AsRef<[u8]>, mut decision: Decision, actual: u64) {
        let key = key_of(key.as_ref());
        // SAFETY: as in take.
        unsafe { sys::weir_table_settle(self.raw(), plan.raw(), key, &mut decision.0, actual) }
    }

    /// Gives back what was taken for an operation that never ran.
    pub fn cancel(&self, plan: &Plan, key: impl AsRef<[u8]>, decision: Decision) {
        self.settle(plan, key, decision, 0);
    }

    /// Gives all permits of a key back.
    pub fn forget(&self, plan: &Plan, key: impl AsRef<[u8]>) {
        // SAFETY: as in take.
        unsafe { sys::weir_table_forget(self.raw(), plan.raw(), key_of(key.as_ref())) }
    }

    /// The time from a decision until its limit has all permits again.
    pub fn full(&self, plan: &Plan, decision: &Decision) -> Duration {
        // SAFETY: as in take.
        Duration::from_nanos(unsafe { sys::weir_table_full_ns(self.raw(), plan.raw(), &decision.0) })
    }

    /// Can this table enforce the plan? A take with one that does not fit returns Never.
    pub fn fits(&self, plan: &Plan) -> Result<(), Error> {
        // SAFETY: as in take.
        checked(|error| unsafe { sys::weir_table_fits(self.raw(), plan.raw(), error) })
    }

    /// Makes room for more keys while it is in use.
    pub fn grow(&self, keys: u64) -> Result<(), Error> {
        // SAFETY: as in take.
        checked(|error| unsafe { sys::weir_table_grow(self.raw(), keys, error) })
    }

    /// Independent takes, several times as fast as one by one; each ask has its decision afterwards.
    pub fn take_batch(&self, asks: &mut [Ask<'_>], now: Instant) {
        // SAFETY: as in take; Ask is a weir_ask whose plan and key are borrowed for longer than the call.
        unsafe { sys::weir_table_take_batch(self.raw(), asks.as_mut_ptr().cast(), asks.len(), now.raw()) }
    }

    /// Takes from all of up to 16 different keys, or from none and returns false; then some decision is a refusal.
    pub fn take_all(&self, asks: &mut [Ask<'_>], now: Instant) -> bool {
        // SAFETY: as in take_batch.
        unsafe { sys::weir_table_take_all(self.raw(), asks.as_mut_ptr().cast(), asks.len(), now.raw()) }
    }

    /// Counts, of this handle from `granted` on.
    pub fn stats(&self) -> TableStats {
        let mut stats = TableStats::default();
        // SAFETY: as in take; weir writes at most the size given.
        unsafe { sys::weir_table_read_stats(self.raw(), &mut stats, size_of::<TableStats>()) }
        stats
    }
}

/// One of several takes: [`Table::take_batch`], [`Table::take_all`].
#[repr(transparent)]
pub struct Ask<'a> {
    raw: sys::weir_ask,
    borrowed: PhantomData<&'a [u8]>,
}

impl<'a> Ask<'a> {
    /// What would be `table.take(plan, key, cost)`.
    pub fn new(plan: &'a Plan, key: &'a [u8], cost: u64) -> Ask<'a> {
        let none = sys::weir_decision::default(); // no verdict, and allows nothing
        Ask { raw: sys::weir_ask { plan: plan.raw(), key: key_of(key), cost, decision: none }, borrowed: PhantomData }
    }

    /// Was it asked, and allowed?
    pub fn allowed(&self) -> bool {
        self.raw.decision.verdict == sys::WEIR_ALLOW
    }

    /// The answer; Never if it was not asked.
    pub fn into_decision(self) -> Decision {
        Decision(self.raw.decision)
    }
}
