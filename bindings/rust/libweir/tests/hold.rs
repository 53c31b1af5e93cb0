// SPDX-License-Identifier: MIT
//! Slots of a concurrent limit, and costs by unit.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
use libweir::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MS: u64 = 1_000_000;

fn wide(limits: &str) -> (Table, Plan) {
    let plan = Plan::new(limits).unwrap();
    let options = TableOptions { plan: Some(plan.clone()), sharing: Sharing::Private, keys: 100, ..Default::default() };
    (Table::open(options).unwrap(), plan)
}

#[test]
fn a_guard_holds_until_it_is_dropped() {
    let limiter = Limiter::new("2 concurrent lease=1h").unwrap();
    let (table, plan) = wide("2 concurrent lease=1h");
    let holds: [&dyn Fn(u64) -> Result<Hold, Decision>; 2] =
        [&|cost| limiter.try_hold(cost), &|cost| table.try_hold(&plan, "a", cost)];
    for hold in holds {
        let (first, second) = (hold(1).unwrap(), hold(1).unwrap());
        assert_ne!(first.id(), second.id());
        let refused = hold(1).unwrap_err();
        assert!(
            refused.retry() > Some(Duration::from_secs(3590)) && refused.retry() <= Some(Duration::from_secs(3600))
        );
        assert!(first.renew());
        drop(first);
        assert!(second.release());
        let both = hold(2).unwrap();
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _both = both;
            panic!("as planned");
        }));
        assert!(unwound.is_err());
        let id = hold(2).unwrap().into_id();
        assert!(hold(1).is_err());
        assert!(limiter.release(id) || table.release(&plan, "a", id));
        assert_eq!(hold(3).unwrap_err().verdict(), Verdict::Never);
    }
}

#[test]
fn a_stale_hold_does_nothing() {
    let options = LimiterOptions { clock: Clock::Manual, ..LimiterOptions::default() };
    let limiter = Limiter::open("1 concurrent lease=5s", options).unwrap();
    limiter.set_manual(Instant::from_nanos(MS));
    let late = limiter.try_hold(1).unwrap();
    limiter.set_manual(Instant::from_nanos(5001 * MS));
    let next = limiter.try_hold(1).unwrap();
    assert!(!late.renew());
    assert!(!late.release());
    assert!(limiter.try_hold(1).is_err());
    assert!(next.renew() && next.release());
}

#[test]
fn only_a_concurrent_limit_is_held() {
    let limiter = Limiter::new("10/s").unwrap();
    assert_eq!(limiter.hold(1).unwrap_err().verdict(), Verdict::Never);
    assert_eq!(limiter.peek(0).remaining(), 10);
    limiter.set_limit("2 concurrent lease=30s", Carry::Reset).unwrap();
    assert!(limiter.hold(1).is_ok());
    assert_eq!(Plan::new("5/s; 2 concurrent lease=30s").unwrap().lease(), Some(Duration::from_secs(30)));
    assert_eq!(Plan::new("5/s").unwrap().lease(), None);
}

#[test]
fn threads_wait_for_a_release() {
    let limiter = Limiter::new("2 concurrent lease=1h").unwrap();
    let (table, plan) = wide("2 concurrent lease=1h");
    let (running, most) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = |hold: Hold| {
        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(2));
        running.fetch_sub(1, Ordering::SeqCst);
        drop(hold);
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..5).for_each(|_| work(limiter.hold(1).unwrap())));
        }
    });
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..5).for_each(|_| work(table.hold(&plan, "a", 1).unwrap())));
        }
    });
    assert_eq!(most.load(Ordering::SeqCst), 2);
    let _both = limiter.hold(2).unwrap();
    assert_eq!(limiter.hold_at_most(1, Duration::from_millis(20)).unwrap_err().verdict(), Verdict::Deny);
}

#[test]
fn costs_by_unit() {
    let plan = Plan::new("60 requests/min; 1k tokens/min").unwrap();
    let (limiter, table) = (Limiter::new("60 requests/min; 1k tokens/min").unwrap(), Table::private(100).unwrap());
    let costs = |tokens| plan.costs(&[("tokens", tokens)]).unwrap();
    let call = limiter.take_each(&costs(800));
    assert!(call.allowed() && !limiter.take_each(&costs(300)).allowed());
    limiter.settle_each(call, &costs(300));
    let call = limiter.take_each(&costs(700));
    assert!(call.allowed());
    limiter.cancel_each(call);
    assert!(limiter.take_each(&limiter.costs(&[("tokens", 700), ("requests", 59)]).unwrap()).allowed());
    assert!(!limiter.take_each(&costs(0)).allowed());

    let call = table.take_each(&plan, "a", &costs(800));
    assert!(call.allowed() && !table.take_each(&plan, "a", &costs(300)).allowed());
    table.settle_each(&plan, "a", call, &costs(300));
    let call = table.take_each(&plan, "a", &costs(700));
    assert!(call.allowed());
    table.cancel_each(&plan, "a", call);
    assert!(table.take_each(&plan, "a", &plan.costs(&[("tokens", 700), ("requests", 59)]).unwrap()).allowed());
}

#[test]
fn one_number_does_not_say_of_what() {
    let plan = Plan::new("60 requests/min; 1k tokens/min").unwrap();
    let (limiter, table) = (Limiter::new("60 requests/min; 1k tokens/min").unwrap(), Table::private(100).unwrap());
    for decision in [
        limiter.take(5),
        limiter.reserve(5, FOREVER),
        limiter.wait(5),
        limiter.charge(5),
        limiter.take_some(5),
        table.take(&plan, "a", 5),
        table.wait(&plan, "a", 5),
        table.charge(&plan, "a", 5),
    ] {
        assert_eq!(decision.verdict(), Verdict::Never);
    }
    let said = |costs: &[(&str, u64)]| plan.costs(costs).unwrap_err().to_string();
    assert_eq!(said(&[]), "limits count requests and tokens: write costs(&[(\"tokens\", 1)])");
    assert_eq!(
        said(&[("tokens", 5), ("bytes", 7)]),
        "no limit counts bytes: limits count requests and tokens: write costs(&[(\"tokens\", 7)])"
    );
    limiter.set_limit("10 tokens/s", Carry::Reset).unwrap();
    assert!(limiter.reserve_each(&limiter.costs(&[("tokens", 3)]).unwrap(), FOREVER).allowed());
    limiter.set_limit("10 tokens/s", Carry::Reset).unwrap();
    assert!(limiter.take(5).allowed() && limiter.take_each(&limiter.costs(&[("tokens", 5)]).unwrap()).allowed());
}

#[test]
fn a_hold_has_a_cost_of_each_unit() {
    let (table, plan) = wide("2 concurrent lease=1h; 1k tokens/h");
    let limiter = Limiter::new("2 concurrent lease=1h; 1k tokens/h").unwrap();
    let costs = |tokens| plan.costs(&[("tokens", tokens)]).unwrap();
    let holds: [&dyn Fn(u64) -> Result<Hold, Decision>; 2] =
        [&|tokens| limiter.hold_each(&costs(tokens), Duration::ZERO), &|tokens| {
            table.hold_each(&plan, "a", &costs(tokens), Duration::ZERO)
        }];
    for hold in holds {
        let first = hold(600).unwrap();
        assert!(hold(600).is_err());
        assert!(hold(400).unwrap().release());
        assert!(first.renew());
    }
}
