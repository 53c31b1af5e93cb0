// SPDX-License-Identifier: MIT
//! libweir beside governor: ns for a call, in one run, and ours in parts of theirs (the rate: above 1 is faster).
//!
//! They take turns, 9 rounds each, and the median round counts. It is the processor's time: that of the clock on the
//! wall is also what others on the machine take.
use governor::clock::MonotonicClock;
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use libweir::{Ask, Clock, Instant, Limiter, LimiterOptions, Plan, Table};
use std::hint::black_box;
use std::num::NonZeroU32;

const ROUNDS: usize = 9;
const CALLS: u64 = 400_000;
const KEYS: u64 = 10_000;

fn used_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to what is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// ns for a call of what each of the threads does.
fn round(threads: u64, work: &(dyn Fn() + Sync)) -> f64 {
    let before = used_ns();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    (used_ns() - before) / (threads * CALLS) as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The first is governor's.
fn compare(what: &str, threads: u64, contenders: &[(&str, &(dyn Fn() + Sync))]) {
    let mut rounds = vec![Vec::new(); contenders.len()];
    for _ in 0..ROUNDS {
        for (times, (_, work)) in rounds.iter_mut().zip(contenders) {
            times.push(round(threads, *work));
        }
    }
    let theirs = median(rounds[0].clone());
    for (times, (name, _)) in rounds.into_iter().zip(contenders) {
        let ours = median(times);
        println!("{what:<34} {name:<28} {ours:7.1} ns   {:6.2}", theirs / ours);
    }
}

fn direct(what: &str, text: &str, per_second: u32, burst: u32) -> Result<(), libweir::Error> {
    let quota = Quota::per_second(NonZeroU32::new(per_second).unwrap()).allow_burst(NonZeroU32::new(burst).unwrap());
    let governor: DefaultDirectRateLimiter = RateLimiter::direct(quota);
    let monotonic = RateLimiter::direct_with_clock(quota, MonotonicClock);
    let weir = Limiter::new(text)?;
    let fast = Limiter::with(text, LimiterOptions { clock: Clock::Tsc, ..LimiterOptions::default() })?;
    let ticking = Limiter::with(text, LimiterOptions { clock: Clock::Ticker, ..LimiterOptions::default() })?;
    let leased = Limiter::new(text)?;
    for threads in [1, 2] {
        compare(
            &format!("{what}, {threads} thread(s)"),
            threads,
            &[
                ("governor check", &|| (0..CALLS).for_each(|_| drop(black_box(governor.check())))),
                ("the same, MonotonicClock", &|| (0..CALLS).for_each(|_| drop(black_box(monotonic.check())))),
                ("Limiter::take", &|| (0..CALLS).for_each(|_| drop(black_box(weir.take(1))))),
                ("Limiter::take, Clock::Tsc", &|| (0..CALLS).for_each(|_| drop(black_box(fast.take(1))))),
                ("Limiter::take, Clock::Ticker", &|| (0..CALLS).for_each(|_| drop(black_box(ticking.take(1))))),
                ("Lease::take", &|| {
                    if let Ok(mut lease) = leased.lease() {
                        (0..CALLS).for_each(|_| drop(black_box(lease.take(1))));
                    }
                }),
            ],
        );
    }
    Ok(())
}

fn keyed() -> Result<(), libweir::Error> {
    let quota = Quota::per_second(NonZeroU32::new(1_000_000).unwrap());
    let governor: DefaultKeyedRateLimiter<u64> = RateLimiter::keyed(quota);
    let plan: Plan = "1000000/s".parse()?;
    let table = Table::private(KEYS * 2)?;
    let path = std::env::temp_dir().join(format!("libweir-bench-{}.weir", std::process::id()));
    let shared = Table::shared(&path, KEYS * 2)?;
    let keys: Vec<[u8; 8]> = (0..KEYS).map(|key| (key * 0x9e37_79b9_7f4a_7c15).to_ne_bytes()).collect();
    let key_of = |call: u64| &keys[(call * 7919 % KEYS) as usize];
    compare(
        "10,000 keys, 1 thread",
        1,
        &[
            ("governor check_key", &|| {
                (0..CALLS).for_each(|call| drop(black_box(governor.check_key(&u64::from_ne_bytes(*key_of(call))))))
            }),
            ("Table::take", &|| (0..CALLS).for_each(|call| drop(black_box(table.take(&plan, key_of(call), 1))))),
            ("Table::take, in a shared file", &|| {
                (0..CALLS).for_each(|call| drop(black_box(shared.take(&plan, key_of(call), 1))))
            }),
            ("Table::take_batch of 32", &|| {
                for first in (0..CALLS).step_by(32) {
                    let mut asks: [Ask; 32] = std::array::from_fn(|i| Ask::new(&plan, key_of(first + i as u64), 1));
                    table.take_batch(&mut asks, Instant::now());
                    black_box(&asks);
                }
            }),
        ],
    );
    std::fs::remove_file(path).ok();
    Ok(())
}

fn main() -> Result<(), libweir::Error> {
    println!("{:<34} {:<28} {:>10}   of governor's rate", "", "", "CPU");
    direct("passes", "100000000/s burst=1000000000", 100_000_000, 1_000_000_000)?;
    direct("refused", "1/s burst=1", 1, 1)?;
    keyed()
}
