// SPDX-License-Identifier: MIT
//! The three hardest idioms of src/share, written again in Rust for the checker loom: a second opinion on their memory
//! orders, by people who do not know weir.
//!
//! Each idiom is the plain core of what the C source does, with its orders as parameters.  As shipped no execution
//! breaks it; each test with one order a step weaker finds an execution that does.  What both threads do is done by
//! threads that are spawned: loom leaves orders of its first thread out.

use loom::sync::atomic::{fence, AtomicU64, Ordering, Ordering::*};
use loom::sync::Arc;
use loom::thread;

/// A fence, or none where the order is relaxed.
fn perhaps_fence(order: Ordering) {
    if order != Relaxed {
        fence(order);
    }
}

/// A lease beside a call that is cancelled (share/word.c: word_trade, word_settle).
///
/// Permits that are out in leases are counted before the word says so, and looked for before any are given back: so
/// who gives back what was read before a lease is seen by its second look.  Then no lease is taken from a word that
/// was higher once: `high` is at most what it is taken from.
pub struct Lease {
    pub settle_fence: Ordering,
    pub trade_fence: Ordering,
    pub high_load: Ordering,
}

impl Lease {
    pub const SHIPPED: Lease = Lease {
        settle_fence: SeqCst,
        trade_fence: SeqCst,
        high_load: Acquire,
    };

    pub fn explore(self) {
        let orders = std::sync::Arc::new(self);
        loom::model(move || {
            let word = Arc::new([AtomicU64::new(10), AtomicU64::new(0), AtomicU64::new(0)]);
            let (other, its) = (word.clone(), orders.clone());
            let (third, own) = (word.clone(), orders.clone());
            let cancels = thread::spawn(move || take_and_cancel(&other, &its));
            let leases = thread::spawn(move || lease(&third, &own));
            cancels.join().unwrap();
            leases.join().unwrap();
        });
    }
}

fn take_and_cancel([value, out, high]: &[AtomicU64; 3], orders: &Lease) {
    if value.compare_exchange(10, 12, AcqRel, Acquire).is_err() {
        return;
    }
    let mut raw = value.load(Acquire);
    loop {
        perhaps_fence(orders.settle_fence);
        if out.load(Acquire) != 0 {
            return; // nothing is given back while permits are out
        }
        let mut highest = high.load(Relaxed);
        while highest < raw {
            match high.compare_exchange(highest, raw, AcqRel, Acquire) {
                Ok(_) => break,
                Err(seen) => highest = seen,
            }
        }
        match value.compare_exchange(raw, raw - 2, AcqRel, Acquire) {
            Ok(_) => return,
            Err(seen) => raw = seen,
        }
    }
}

fn lease([value, out, high]: &[AtomicU64; 3], orders: &Lease) {
    let mut raw = value.load(Acquire);
    let mut told = false;
    loop {
        if raw < high.load(orders.high_load) {
            return;
        }
        if !told {
            out.fetch_add(2, Relaxed);
            told = true;
            perhaps_fence(orders.trade_fence);
            raw = value.load(Acquire);
            continue;
        }
        match value.compare_exchange(raw, raw + 2, AcqRel, Acquire) {
            Ok(_) => {
                assert!(
                    high.load(Acquire) <= raw,
                    "leased from a word that was higher once"
                );
                return;
            }
            Err(seen) => raw = seen,
        }
    }
}

/// A rule that changes under a word (share/word.c: word_decide, word_close, word_open).
///
/// A rule is copied between two looks at the word, whose values under one rule never come under another.  So what a
/// call copied is whole, and in force when it commits.
pub struct Change {
    pub store: Ordering,
    pub open: Ordering,
    pub see: Ordering,
    pub again: Ordering,
}

const CLOSED: u64 = 1 << 63;
const SECOND: u64 = 100; // values from here on are of the second rule

impl Change {
    pub const SHIPPED: Change = Change {
        store: Release,
        open: Release,
        see: Acquire,
        again: Acquire,
    };

    pub fn explore(self) {
        let orders = std::sync::Arc::new(self);
        loom::model(move || {
            let word = Arc::new([AtomicU64::new(1), AtomicU64::new(1), AtomicU64::new(1)]);
            let (other, its) = (word.clone(), orders.clone());
            let (third, own) = (word.clone(), orders.clone());
            let changes = thread::spawn(move || change(&other, &its));
            let decides = thread::spawn(move || decide(&third, &own));
            changes.join().unwrap();
            decides.join().unwrap();
        });
    }
}

fn change([value, first, second]: &[AtomicU64; 3], orders: &Change) {
    let mut raw = value.load(Acquire);
    while let Err(seen) = value.compare_exchange(raw, CLOSED | raw, AcqRel, Acquire) {
        raw = seen;
    }
    first.store(2, orders.store);
    second.store(2, orders.store);
    value.store(SECOND, orders.open);
}

fn decide([value, first, second]: &[AtomicU64; 3], orders: &Change) {
    let raw = value.load(orders.see);
    if raw & CLOSED != 0 {
        return;
    }
    let rule = (first.load(Relaxed), second.load(Relaxed));
    let in_force = if raw >= SECOND { (2, 2) } else { (1, 1) };
    perhaps_fence(orders.again);
    if value.load(Relaxed) == raw {
        assert_eq!(rule, in_force, "refused by a rule that was not in force");
    }
    if value
        .compare_exchange(raw, raw + 1, AcqRel, Acquire)
        .is_ok()
    {
        assert_eq!(rule, in_force, "taken by a rule that was not in force");
    }
}

/// The ring of the sliding log (share/log.c), for one permit in any time: two slots, a head, and a caller that may die
/// between its two swaps.  However they come, one passes.
pub struct Log {
    pub head_load: Ordering,
    pub view_fence: Ordering,
    pub slot_swap: Ordering,
    pub head_swap: Ordering,
}

const NOW: u64 = 1000;

impl Log {
    pub const SHIPPED: Log = Log {
        head_load: Acquire,
        view_fence: Acquire,
        slot_swap: AcqRel,
        head_swap: AcqRel,
    };

    pub fn explore(self, dies: bool) {
        let orders = std::sync::Arc::new(self);
        loom::model(move || {
            // Head 3: the entry before it is one of long ago, and its own slot was written a lap before.
            let log = Arc::new([
                AtomicU64::new(3),
                AtomicU64::new(entry(2, 1)),
                AtomicU64::new(entry(1, 1)),
            ]);
            let passed = Arc::new(AtomicU64::new(0));
            let takers = [1, 2].map(|calls| {
                let (log, passed, orders) = (log.clone(), passed.clone(), orders.clone());
                thread::spawn(move || {
                    for _ in 0..calls {
                        if take(&log, &orders, dies && calls == 1) {
                            passed.fetch_add(1, Relaxed);
                        }
                    }
                })
            });
            for taker in takers {
                taker.join().unwrap();
            }
            assert_eq!(passed.load(Relaxed), 1, "one passes in any time");
        });
    }
}

/// Written at this position: the lowest bit is its lap.
fn entry(position: u64, stamp: u64) -> u64 {
    stamp << 1 | (position / 2) & 1
}

fn take([head, even, odd]: &[AtomicU64; 3], orders: &Log, dies: bool) -> bool {
    let slot = |position: u64| if position % 2 == 0 { even } else { odd };
    loop {
        let at = head.load(orders.head_load);
        let before = slot(at).load(Relaxed);
        if before & 1 == (at / 2) & 1 {
            let _ = head.compare_exchange(at, at + 1, orders.head_swap, Acquire); // by somebody who died
            continue;
        }
        let newest = slot(at - 1).load(Relaxed);
        perhaps_fence(orders.view_fence);
        if head.load(Relaxed) != at {
            continue;
        }
        if newest >> 1 == NOW {
            if slot(at).load(Relaxed) == before {
                return false;
            }
            continue;
        }
        if slot(at)
            .compare_exchange(before, entry(at, NOW), orders.slot_swap, Acquire)
            .is_err()
        {
            continue;
        }
        if !dies {
            let _ = head.compare_exchange(at, at + 1, orders.head_swap, Acquire);
        }
        return true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_as_shipped() {
        Lease::SHIPPED.explore();
    }

    #[test]
    #[should_panic(expected = "higher once")]
    fn lease_needs_the_fence_of_who_gives_back() {
        Lease {
            settle_fence: Relaxed,
            ..Lease::SHIPPED
        }
        .explore();
    }

    #[test]
    #[should_panic(expected = "higher once")]
    fn lease_needs_its_own_fence() {
        Lease {
            trade_fence: Relaxed,
            ..Lease::SHIPPED
        }
        .explore();
    }

    #[test]
    fn change_as_shipped() {
        Change::SHIPPED.explore();
    }

    #[test]
    #[should_panic(expected = "not in force")]
    fn change_needs_to_store_with_release() {
        Change {
            store: Relaxed,
            ..Change::SHIPPED
        }
        .explore();
    }

    #[test]
    #[should_panic(expected = "not in force")]
    fn change_needs_to_look_again_behind_a_fence() {
        Change {
            again: Relaxed,
            ..Change::SHIPPED
        }
        .explore();
    }

    #[test]
    #[should_panic(expected = "not in force")]
    fn change_needs_to_open_with_release() {
        Change {
            open: Relaxed,
            ..Change::SHIPPED
        }
        .explore();
    }

    #[test]
    #[should_panic(expected = "not in force")]
    fn change_needs_to_be_seen_with_acquire() {
        Change {
            see: Relaxed,
            ..Change::SHIPPED
        }
        .explore();
    }

    #[test]
    fn log_as_shipped() {
        Log::SHIPPED.explore(false);
        Log::SHIPPED.explore(true);
    }

    #[test]
    #[should_panic(expected = "one passes")]
    fn log_needs_to_see_its_head_with_acquire() {
        Log {
            head_load: Relaxed,
            ..Log::SHIPPED
        }
        .explore(false);
    }

    #[test]
    #[should_panic(expected = "one passes")]
    fn log_needs_to_swap_its_head_with_release() {
        Log {
            head_swap: Acquire,
            ..Log::SHIPPED
        }
        .explore(false);
    }
}
