// SPDX-License-Identifier: MIT
//! What a call costs: libweir beside governor, in one run, as lines of cost<TAB>SETTING<TAB>WHO<TAB>NS.
//!
//! The contenders take turns, and the least of 9 rounds counts. It is the processor's time, of one thread: two that
//! contend for a limit cost what the machine and its other work make of them.
use governor::clock::MonotonicClock;
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use libweir::{Ask, Clock, Instant, Limiter, LimiterOptions, Plan, Table};
use std::hint::black_box;
use std::num::NonZeroU32;

const ROUNDS: usize = 9;
const CALLS: u64 = 300_000;
const KEYS: u64 = 10_000;

fn used_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to what is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn compare(setting: &str, contenders: &[(&str, &dyn Fn())]) {
    let mut least = vec![f64::INFINITY; contenders.len()];
    for _ in 0..ROUNDS {
        for (least, (_, work)) in least.iter_mut().zip(contenders) {
            let before = used_ns();
            work();
            *least = least.min((used_ns() - before) / CALLS as f64);
        }
    }
    for (least, (who, _)) in least.into_iter().zip(contenders) {
        println!("cost\t{setting}\t{who}\t{least:.1}");
    }
}

fn repeat<T>(call: impl Fn(u64) -> T) {
    (0..CALLS).for_each(|number| drop(black_box(call(number))));
}

fn one_limit(setting: &str, text: &str, quota: Quota) -> Result<(), libweir::Error> {
    let governor: DefaultDirectRateLimiter = RateLimiter::direct(quota);
    let monotonic = RateLimiter::direct_with_clock(quota, MonotonicClock);
    let with = |clock| Limiter::open(text, LimiterOptions { clock, ..LimiterOptions::default() });
    let (weir, tsc, ticker, leased) =
        (Limiter::new(text)?, with(Clock::Tsc)?, with(Clock::Ticker)?, Limiter::new(text)?);
    let lease = || leased.lease().map(|mut lease| (0..CALLS).for_each(|_| drop(black_box(lease.take(1)))));
    compare(
        setting,
        &[
            ("libweir Limiter::take", &|| repeat(|_| weir.take(1))),
            ("libweir Limiter::take, Clock::Tsc", &|| repeat(|_| tsc.take(1))),
            ("libweir Limiter::take, Clock::Ticker", &|| repeat(|_| ticker.take(1))),
            ("libweir Lease::take", &|| drop(lease())),
            ("governor check", &|| repeat(|_| governor.check())),
            ("governor check, MonotonicClock", &|| repeat(|_| monotonic.check())),
            ("floor: reading CLOCK_MONOTONIC", &|| repeat(|_| Instant::now())),
        ],
    );
    Ok(())
}

fn many_keys(quota: Quota) -> Result<(), libweir::Error> {
    let governor: DefaultKeyedRateLimiter<[u8; 8]> = RateLimiter::keyed(quota);
    let plan: Plan = "1000000/s".parse()?;
    let path = std::env::temp_dir().join(format!("libweir-bench-{}.weir", std::process::id()));
    let (table, shared) = (Table::private(KEYS * 2)?, Table::shared(&path, KEYS * 2)?);
    let keys: Vec<[u8; 8]> = (0..KEYS).map(|key| (key * 0x9e37_79b9_7f4a_7c15).to_ne_bytes()).collect();
    let key_of = |call: u64| &keys[(call * 7919 % KEYS) as usize];
    compare(
        "one process, 10,000 keys",
        &[
            ("libweir Table::take", &|| repeat(|call| table.take(&plan, key_of(call), 1))),
            ("governor check_key", &|| repeat(|call| governor.check_key(key_of(call)))),
        ],
    );
    compare(
        "shared by processes, 10,000 keys",
        &[
            ("libweir Table::take", &|| repeat(|call| shared.take(&plan, key_of(call), 1))),
            ("libweir Table::take_batch of 32", &|| {
                for first in (0..CALLS).step_by(32) {
                    let mut asks: [Ask; 32] = std::array::from_fn(|i| Ask::new(&plan, key_of(first + i as u64), 1));
                    shared.take_batch(&mut asks, Instant::now());
                    black_box(&asks);
                }
            }),
        ],
    );
    std::fs::remove_file(path).ok();
    Ok(())
}

fn main() -> Result<(), libweir::Error> {
    let quota = |per_second, burst| {
        let number = |n| NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN);
        Quota::per_second(number(per_second)).allow_burst(number(burst))
    };
    let (much, little) = (quota(100_000_000, 1_000_000_000), quota(1, 1));
    one_limit("one process", "100000000/s burst=1000000000", much)?;
    one_limit("one process, refused", "1/s burst=1", little)?;
    many_keys(quota(1_000_000, 1_000_000))
}
