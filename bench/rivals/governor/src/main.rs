// SPDX-License-Identifier: MIT
//! governor on the work of bench/take.c: one limiter for all threads, which never refuses or always does; on that of
//! `weir-bench`: a million keys, which never refuses (dashmap, the keyed store that governor itself chooses); and
//! pacing (pace.rs).
//!
//! Prints one round, a line each: who, work, threads, M/s; every call's answer is counted and checked.
mod pace;

use governor::clock::{Clock, MonotonicClock, QuantaClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
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
    for threads in [1, 2, 8, 64] {
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

// ---- keys ----

const KEYS: u64 = 1_000_000;
const KEYS_SMALL: u64 = 2_000;
const CHUNK: u64 = 128;
const AWAY: Duration = Duration::from_millis(1);

/// As in bench/weir-bench/table.c: 8 to 16 bytes, in place, so that the map follows no pointer to compare them.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Key {
    bytes: [u8; 16],
    size: u8,
}

impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        hasher.write(&self.bytes[..self.size as usize]);
    }
}

fn mix(mut number: u64) -> u64 {
    number = (number ^ number >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27).wrapping_mul(0x94d049bb133111eb);
    number ^ number >> 31
}

fn key(number: u64) -> Key {
    let (first, second) = (mix(number + 1), mix(!number));
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..].copy_from_slice(&second.to_le_bytes());
    let size = (8 + second % 9) as u8;
    bytes[size as usize..].fill(0); // equal keys are equal bytes
    Key { bytes, size }
}

type Keyed<C> = RateLimiter<Key, DashMapStateStore<Key>, C, NoOpMiddleware<<C as Clock>::Instant>>;

/// Calls a second of one thread on keys first, first + threads, ...; making the keys is not measured.
fn ask_keys<C: Clock>(
    limiter: &Keyed<C>,
    count: u64,
    first: u64,
    threads: u64,
    start: &Barrier,
    stop: &AtomicBool,
) -> f64 {
    let mut keys = [Key::default(); CHUNK as usize];
    let (mut place, mut calls, mut spent) = (0, 0, Duration::ZERO);
    start.wait();
    while calls == 0 || !stop.load(Ordering::Relaxed) {
        for slot in keys.iter_mut() {
            *slot = key(first + place % (count / threads) * threads);
            place += 1;
        }
        let begin = Instant::now();
        let granted = keys.iter().filter(|k| limiter.check_key(k).is_ok()).count() as u64;
        let took = begin.elapsed();
        assert_eq!(granted, CHUNK);
        if took < AWAY || calls == 0 {
            calls += CHUNK;
            spent += took;
        }
    }
    calls as f64 / spent.as_secs_f64()
}

fn measure_keys<C: Clock + Sync>(limiter: &Keyed<C>, count: u64, threads: u64, run: Duration) -> f64
where
    C::Instant: Send + Sync,
{
    let (start, stop) = (Barrier::new(threads as usize + 1), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let crew: Vec<_> = (0..threads)
            .map(|first| {
                let (start, stop) = (&start, &stop);
                scope.spawn(move || ask_keys(limiter, count, first, threads, start, stop))
            })
            .collect();
        start.wait();
        std::thread::sleep(run);
        stop.store(true, Ordering::Relaxed);
        crew.into_iter().map(|member| member.join().unwrap()).sum()
    })
}

fn measure_keyed<C: Clock + Clone + Sync>(clock: C, name: &str, count: u64, run: Duration)
where
    C::Instant: Send + Sync,
{
    let quota = Quota::with_period(Duration::from_micros(86_400))
        .unwrap()
        .allow_burst(NonZeroU32::new(1_000_000).unwrap());
    let limiter = RateLimiter::dashmap_with_clock(quota, clock);
    for number in 0..count {
        assert!(limiter.check_key(&key(number)).is_ok());
    }
    for threads in [1, 2] {
        println!(
            "governor dashmap, {name}\tkeyed\t{threads}\t{:.3}",
            measure_keys(&limiter, count, threads, run) / 1e6
        );
    }
}

fn lines(run: Duration, keys: u64) {
    measure_all(QuantaClock::default(), "quanta", run);
    measure_all(MonotonicClock, "MONOTONIC", run);
    measure_keyed(QuantaClock::default(), "quanta", keys, 5 * run);
    measure_keyed(MonotonicClock, "MONOTONIC", keys, 5 * run);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["lines"] => return lines(RUN, KEYS),
        ["lines", "--small"] => return lines(RUN_SMALL, KEYS_SMALL),
        ["pace", rate, threads, seconds] => {
            if let Some(wanted) = pace::read(rate, threads, seconds) {
                return pace::print(&wanted);
            }
        }
        _ => (),
    }
    eprintln!("usage: run lines [--small] | pace RATE THREADS SECONDS | version");
    std::process::exit(2);
}
