// SPDX-License-Identifier: MIT
//! governor on the work of bench/take.c: one limiter for all threads, which never refuses or always does.
//!
//! Prints one round, a line each: who, work, threads, M/s; every call's answer is counted and checked.
use governor::clock::{Clock, MonotonicClock, QuantaClock};
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Barrier;
use std::time::{Duration, Instant};

const CALLS: u64 = 1024;
const RUN: Duration = Duration::from_millis(100);
const RUN_SMALL: Duration = Duration::from_micros(500);

type Limiter<C> = RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<<C as Clock>::Instant>>;

/// CALLS calls; how many were granted.
fn ask<C: Clock>(limiter: &Limiter<C>) -> u64 {
    (0..CALLS).filter(|_| limiter.check().is_ok()).count() as u64
}

struct Done {
    granted: u64,
    calls: u64,
    begin: Instant,
    end: Instant,
}

fn ask_until_stopped<C: Clock>(limiter: &Limiter<C>, start: &Barrier, stop: &AtomicBool) -> Done {
    ask(limiter); // warm
    start.wait();
    let begin = Instant::now();
    let (mut granted, mut calls) = (0, 0);
    loop {
        granted += ask(limiter);
        calls += CALLS;
        if stop.load(Ordering::Relaxed) {
            return Done {
                granted,
                calls,
                begin,
                end: Instant::now(),
            };
        }
    }
}

/// Million calls a second, all threads together.
fn measure<C: Clock + Sync>(
    limiter: &Limiter<C>,
    threads: usize,
    run: Duration,
    grants: bool,
) -> f64
where
    C::Instant: Send + Sync,
{
    let (start, stop) = (Barrier::new(threads + 1), AtomicBool::new(false));
    let done: Vec<Done> = std::thread::scope(|scope| {
        let crew: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| ask_until_stopped(limiter, &start, &stop)))
            .collect();
        start.wait();
        std::thread::sleep(run);
        stop.store(true, Ordering::Relaxed);
        crew.into_iter()
            .map(|member| member.join().unwrap())
            .collect()
    });
    let calls: u64 = done.iter().map(|d| d.calls).sum();
    let granted: u64 = done.iter().map(|d| d.granted).sum();
    assert_eq!(
        granted,
        if grants { calls } else { 0 },
        "granted of {calls} calls"
    );
    let begin = done.iter().map(|d| d.begin).min().unwrap();
    let end = done.iter().map(|d| d.end).max().unwrap();
    calls as f64 * 1e3 / (end - begin).as_nanos() as f64
}

fn measure_all<C: Clock + Clone + Sync>(clock: C, name: &str, run: Duration)
where
    C::Instant: Send + Sync,
{
    let never_refuses = Quota::with_period(Duration::from_nanos(1))
        .unwrap()
        .allow_burst(NonZeroU32::MAX);
    let refuses = Quota::with_period(Duration::from_secs(86400)).unwrap();
    let open = RateLimiter::direct_with_clock(never_refuses, clock.clone());
    let shut = RateLimiter::direct_with_clock(refuses, clock);
    assert!(shut.check().is_ok());
    for threads in [1, 2, 8] {
        println!(
            "governor, {name}\tgrant\t{threads}\t{:.3}",
            measure(&open, threads, run, true)
        );
        println!(
            "governor, {name}\tdeny\t{threads}\t{:.3}",
            measure(&shut, threads, run, false)
        );
    }
}

fn main() {
    let small = std::env::args().any(|argument| argument == "--small");
    let run = if small { RUN_SMALL } else { RUN };
    measure_all(QuantaClock::default(), "quanta", run);
    measure_all(MonotonicClock, "MONOTONIC", run);
}
