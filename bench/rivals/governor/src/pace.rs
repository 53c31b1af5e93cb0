// SPDX-License-Identifier: MIT
//! Pacing with governor, on its MONOTONIC clock only: check, and where that refuses sleep for as long as it says and
//! check again, as its own until_ready does.  The bucket holds 10 ms, so that it may make up what the machine took
//! away, and is emptied before the start.
use governor::clock::{Clock, MonotonicClock};
use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

const SLACK_PER_SECOND: u32 = 100; // a bucket of 1/100 s

type Limiter = RateLimiter<
    governor::state::NotKeyed,
    governor::state::InMemoryState,
    MonotonicClock,
    governor::middleware::NoOpMiddleware<<MonotonicClock as Clock>::Instant>,
>;

pub struct Wanted {
    rate: u32,
    threads: usize,
    duration: Duration,
}

pub fn read(rate: &str, threads: &str, seconds: &str) -> Option<Wanted> {
    let seconds = seconds
        .parse::<f64>()
        .ok()
        .filter(|s| (1e-3..=3600.0).contains(s))?;
    Some(Wanted {
        rate: rate
            .parse()
            .ok()
            .filter(|r| (1..=1_000_000_000).contains(r))?,
        threads: threads.parse().ok().filter(|t| (1..=1024).contains(t))?,
        duration: Duration::from_secs_f64(seconds),
    })
}

fn acquire(limiter: &Limiter, clock: &MonotonicClock) {
    while let Err(refused) = limiter.check() {
        std::thread::sleep(refused.wait_time_from(clock.now()));
    }
}

// ---- how late: buckets of which each is at most 1/64 of its value wide, on both sides of 0 ----

const STEP_BITS: u32 = 6;
const STEPS: usize = 1 << STEP_BITS;
const BUCKETS: usize = (64 - STEP_BITS as usize + 1) * STEPS;

struct Lateness {
    early: Vec<u64>,
    late: Vec<u64>,
}

fn bucket_of(ns: u64) -> usize {
    let shift = (64 - ns.leading_zeros()).saturating_sub(STEP_BITS + 1);
    shift as usize * STEPS + (ns >> shift) as usize
}

/// The middle of a bucket.
fn bucket_ns(bucket: usize) -> f64 {
    if bucket < 2 * STEPS {
        return bucket as f64;
    }
    let shift = bucket / STEPS - 1;
    ((bucket - shift * STEPS) as f64 + 0.5) * (1u64 << shift) as f64 - 0.5
}

impl Lateness {
    fn new() -> Self {
        Lateness {
            early: vec![0; BUCKETS],
            late: vec![0; BUCKETS],
        }
    }

    fn note(&mut self, ns: i64) {
        let side = if ns < 0 {
            &mut self.early
        } else {
            &mut self.late
        };
        side[bucket_of(ns.unsigned_abs())] += 1;
    }

    fn add(&mut self, part: &Lateness) {
        for i in 0..BUCKETS {
            self.early[i] += part.early[i];
            self.late[i] += part.late[i];
        }
    }

    fn quantile(&self, part: f64) -> f64 {
        let early = (0..BUCKETS).rev().map(|i| (self.early[i], -bucket_ns(i)));
        let late = (0..BUCKETS).map(|i| (self.late[i], bucket_ns(i)));
        let all: u64 = self.early.iter().chain(&self.late).sum();
        let mut seen = 0.0;
        for (count, ns) in early.chain(late) {
            seen += count as f64;
            if count > 0 && seen >= part * all as f64 {
                return ns;
            }
        }
        0.0
    }
}

// ---- running ----

fn processor_seconds() -> f64 {
    let mut usage = unsafe { std::mem::zeroed::<libc::rusage>() };
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) }, 0);
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Emptying the full bucket is the first permit, whose time is where the schedule begins.
fn take_first(limiter: &Limiter, burst: NonZeroU32) -> (Instant, f64) {
    let before = processor_seconds();
    assert!(
        matches!(limiter.check_n(burst), Ok(Ok(()))),
        "a fresh limiter is full"
    );
    (Instant::now(), before)
}

pub fn print(wanted: &Wanted) {
    let clock = MonotonicClock;
    let rate = NonZeroU32::new(wanted.rate).unwrap();
    let burst = NonZeroU32::new((wanted.rate / SLACK_PER_SECOND).max(1)).unwrap();
    let limiter =
        RateLimiter::direct_with_clock(Quota::per_second(rate).allow_burst(burst), clock.clone());
    let interval_ns = 1e9 / wanted.rate as f64;
    let (ready, start) = (Barrier::new(wanted.threads), Barrier::new(wanted.threads));
    let (given, first) = (AtomicU64::new(1), OnceLock::new());
    let pace = |index: usize| {
        let mut lateness = Lateness::new();
        ready.wait();
        if index == 0 {
            first.set(take_first(&limiter, burst)).unwrap();
        }
        start.wait();
        let begin = first.get().unwrap().0;
        loop {
            acquire(&limiter, &clock);
            let place = given.fetch_add(1, Ordering::Relaxed);
            let last = begin.elapsed();
            lateness.note(last.as_nanos() as i64 - (place as f64 * interval_ns) as i64);
            if last >= wanted.duration {
                return (lateness, last);
            }
        }
    };
    let mut sum = Lateness::new();
    let mut last = Duration::ZERO;
    std::thread::scope(|scope| {
        let pace = &pace;
        let crew: Vec<_> = (0..wanted.threads)
            .map(|index| scope.spawn(move || pace(index)))
            .collect();
        for member in crew {
            let (lateness, end) = member.join().unwrap();
            sum.add(&lateness);
            last = last.max(end);
        }
    });
    let seconds = last.as_secs_f64();
    println!(
        "governor, check and sleep\tpace {}\t{}\t{:.6}\t{:.0}\t{:.0}\t{:.4}",
        wanted.rate,
        wanted.threads,
        (given.load(Ordering::Relaxed) - 1) as f64 / seconds / wanted.rate as f64,
        sum.quantile(0.5),
        sum.quantile(0.99),
        (processor_seconds() - first.get().unwrap().1) / seconds
    );
}
