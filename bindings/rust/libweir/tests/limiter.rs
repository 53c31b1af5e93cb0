// SPDX-License-Identifier: MIT
//! Limiters, leases and tables within one process.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
use libweir::*;
use std::time::Duration;

const MS: u64 = 1_000_000;

fn manual(limits: &str) -> Limiter {
    Limiter::open(limits, LimiterOptions { clock: Clock::Manual, ..LimiterOptions::default() }).unwrap()
}

#[test]
fn takes_and_refuses() {
    let limiter = manual("10/s burst=2");
    assert!(limiter.take(2).allowed());
    let refused = limiter.take(1);
    assert_eq!(refused.verdict(), Verdict::Deny);
    assert_eq!(refused.retry(), Some(Duration::from_millis(100)));
    assert_eq!(refused.retry_after(), Some(1));
    assert_eq!(format!("{refused:?}"), "Decision { Deny, delay: 0ns, retry: Some(100ms), remaining: 0 }");
    assert_eq!(limiter.take(3).verdict(), Verdict::Never);
    assert_eq!(limiter.take(3).retry_after(), None);
    limiter.set_manual(Instant::from_nanos(100 * MS));
    assert_eq!(limiter.peek(0).remaining(), 1);
    assert!(limiter.take(1).allowed());
    assert_eq!(limiter.stats().granted, 3);
}

#[test]
fn reserves_and_gives_back() {
    let limiter = manual("10/s burst=1");
    assert!(limiter.take(1).allowed());
    let reserved = limiter.reserve(1, FOREVER);
    assert_eq!(reserved.delay(), Duration::from_millis(100));
    assert_eq!(reserved.start(), Instant::from_nanos(100 * MS));
    assert!(!limiter.reserve(1, Duration::from_millis(150)).allowed());
    limiter.cancel(reserved);
    assert_eq!(limiter.reserve(1, Duration::from_millis(150)).delay(), Duration::from_millis(100));
    assert_eq!(limiter.full(&limiter.peek(0)), Duration::from_millis(200));
}

#[test]
fn charges_and_takes_some() {
    let limiter = manual("10/s burst=10");
    assert_eq!(limiter.take_some(4).charged(), 4);
    assert_eq!(limiter.take_some(40).charged(), 6);
    let debt = limiter.charge(5);
    assert_eq!(debt.charged(), 5);
    assert_eq!(limiter.peek(1).retry(), Some(Duration::from_millis(600)));
    assert_eq!(limiter.peek_limit(1, 1).verdict(), Verdict::Never);
}

#[test]
fn changes_and_stops() {
    let limiter = manual("10/s burst=4");
    assert!(limiter.take(4).allowed());
    limiter.set_limit("100/s burst=4", Carry::Scale).unwrap();
    assert_eq!(limiter.limit(), "100/s burst=4 algorithm=gcra");
    assert_eq!(limiter.peek(4).retry(), Some(Duration::from_millis(40)));
    let error = limiter.set_limit("100/s bursts=4", Carry::Reset).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Invalid, Some(7)));
    let waiting = std::thread::spawn({
        let limiter = limiter.clone();
        move || limiter.wait(1).verdict()
    });
    limiter.stop();
    assert_eq!(waiting.join().unwrap(), Verdict::Stopped);
}

#[test]
fn errors_say_what_weir_says() {
    let error = Limiter::new("10/fortnight").unwrap_err();
    assert_eq!(error.to_string(), format!("column 4: {}", error.message()));
    assert!(error.message().len() > 20, "{error}");
    let error = Limiter::new("10/s\0").unwrap_err();
    assert_eq!(error.to_string(), "column 5: a NUL byte in a limit");
    let error = Table::shared("/nowhere/at/all.weir", 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::System);
    assert!(error.message().contains("/nowhere/at/all.weir"), "{error}");
}

#[test]
fn waits_in_threads() {
    let limiter = Limiter::pace("2000/s burst=1").unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let limiter = limiter.clone();
            std::thread::spawn(move || (0..20).filter(|_| limiter.wait(1).allowed()).count())
        })
        .collect();
    assert_eq!(threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>(), 80);
    assert_eq!(limiter.stats().granted, 80);
}

#[test]
fn says_when_operations_were_due_and_how_long_they_took() {
    let options = LimiterOptions { usage: Use::Pace, clock: Clock::Manual, ..LimiterOptions::default() };
    let limiter = Limiter::open("1000/s", options).unwrap();
    let at = |ms: u64| Instant::from_nanos((1000 + ms) * MS);
    limiter.set_manual(at(0));
    assert_eq!(limiter.take(1).due(), at(0));
    limiter.set_manual(at(5));
    let late = limiter.take(3);
    assert_eq!((late.due(), late.start()), (at(1), at(5)));
    assert_eq!([1, 2, 3].map(|nth| limiter.due(&late, nth)), [at(1), at(2), at(3)]);
    limiter.set_manual(at(7));
    limiter.done_at(limiter.due(&late, 3), late.start(), at(8));
    drop(limiter.operation(late));
    let Latency { response, service } = limiter.latency();
    assert_eq!((response.count, response.max_ns, service.min_ns, service.total_ns), (2, 6 * MS, 2 * MS, 5 * MS));
    let buckets = limiter.latency_buckets(Measure::Service);
    assert_eq!((buckets.len(), buckets[0].count, buckets[0].most_ns / 10_000), (2, 1, 200));
    drop(limiter.operation(limiter.peek(1_000_000)));
    assert_eq!(limiter.latency().response.count, 2, "a refusal has not run");
}

#[test]
fn paces_by_profiles_and_at_random() {
    let starts = |limits: &str| {
        let options = LimiterOptions { usage: Use::Pace, clock: Clock::Manual, ..LimiterOptions::default() };
        let limiter = Limiter::open(limits, options).unwrap();
        [(); 4].map(|()| limiter.reserve(1, FOREVER).start().as_nanos())
    };
    assert_eq!(starts("100/s..1000/s for 30s"), [0, 9985045, 19940358, 29866202]);
    assert_eq!(starts("1000/s arrivals=poisson seed=7"), [0, 645605, 1842473, 1903288]);
    let limiter = Limiter::pace("1000/s for 5ms then pause 5ms then 1000/s for 5ms").unwrap();
    assert_eq!(std::iter::repeat_with(|| limiter.wait(1)).take_while(Decision::allowed).count(), 10);
}

#[test]
fn operations_end_in_other_threads() {
    let limiter = Limiter::pace("10000/s").unwrap();
    let threads: Vec<_> = (0..100)
        .map(|_| {
            let operation = limiter.operation(limiter.wait(1));
            std::thread::spawn(move || assert!(operation.decision().start() <= Instant::now()))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let Latency { response, service } = limiter.latency();
    assert_eq!((response.count, service.count), (100, 100));
    assert!(service.min_ns > 0 && service.p50_ns <= service.max_ns && service.max_ns <= response.max_ns);
    assert_eq!(limiter.latency_buckets(Measure::Response).iter().map(|bucket| bucket.count).sum::<u64>(), 100);
}

#[test]
fn leases_hold_the_limit() {
    let limiter = Limiter::new("1/h burst=100000").unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let limiter = limiter.clone();
            std::thread::spawn(move || {
                let mut lease = limiter.lease().unwrap();
                (0..50_000).filter(|_| lease.take(1).allowed()).count()
            })
        })
        .collect();
    assert_eq!(threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>(), 100_000);
}

#[test]
fn a_lease_outlives_its_limiter_and_may_be_leaked() {
    let mut lease = Limiter::new("1000/s").unwrap().lease().unwrap();
    assert!(lease.take(1).allowed());
    assert_eq!(lease.limiter().stats().granted, 1);
    std::thread::spawn(|| {
        let mut leaked = Limiter::new("1000/s").unwrap().lease().unwrap();
        for _ in 0..100 {
            let _ = leaked.take(1);
        }
        // The limiter stays open, and the thread's end closes the lease.
        KEPT.lock().unwrap().push(std::ptr::from_ref(Box::leak(Box::new(leaked))) as usize);
    })
    .join()
    .unwrap();
}
/// So that LSan sees what was leaked on purpose.
static KEPT: std::sync::Mutex<Vec<usize>> = std::sync::Mutex::new(Vec::new());

#[test]
fn tables_have_a_state_for_each_key() {
    let table = Table::private(1000).unwrap();
    let plan: Plan = "1/h burst=3".parse().unwrap();
    for key in ["alice", "bob"] {
        assert_eq!((0..10).filter(|_| table.take(&plan, key, 1).allowed()).count(), 3);
    }
    let reserved = table.reserve(&plan, "carol", 3, Duration::ZERO);
    assert!(!table.take(&plan, "carol", 1).allowed());
    table.settle(&plan, "carol", reserved, 1);
    assert_eq!(table.peek(&plan, "carol", 0).remaining(), 2);
    let charged = table.charge(&plan, "carol", 5);
    assert!(table.full(&plan, &charged) > Duration::from_secs(5 * 3600));
    table.forget(&plan, "carol");
    assert_eq!(table.wait_at_most(&plan, "carol", 2, Duration::ZERO).charged(), 2);
    assert_eq!(table.wait(&plan, "carol", 1).charged(), 1);
    assert_eq!(table.stats().keys_live, 3);
    table.grow(5000).unwrap();
    assert!(table.stats().keys_max >= 5000);
}

#[test]
fn tables_take_several_at_once() {
    let table = Table::private(1000).unwrap();
    let (client, network): (Plan, Plan) = ("1/h burst=2".parse().unwrap(), "1/h burst=3".parse().unwrap());
    let now = Instant::now();
    let pair = |name: &'static str| [Ask::new(&client, name.as_bytes(), 2), Ask::new(&network, b"network", 2)];
    assert!(table.take_all(&mut pair("alice"), now));
    let mut second = pair("bob");
    assert!(!table.take_all(&mut second, now));
    assert_eq!(table.peek(&client, "bob", 0).remaining(), 2);
    let mut batch: Vec<_> = (0..4).map(|_| Ask::new(&client, b"carol", 1)).collect();
    table.take_batch(&mut batch, now);
    assert_eq!(batch.iter().filter(|ask| ask.allowed()).count(), 2);
    assert!(batch.pop().unwrap().into_decision().retry().is_some());
}

#[test]
fn other_algorithms_need_wide_slots() {
    let plan: Plan = "5/h algorithm=fixed-window align=first".parse().unwrap();
    let narrow = Table::private(100).unwrap();
    assert_eq!(narrow.fits(&plan).unwrap_err().kind(), ErrorKind::Unsupported);
    let options =
        TableOptions { keys: 100, sharing: Sharing::Private, plan: Some(plan.clone()), ..TableOptions::default() };
    let wide = Table::open(options).unwrap();
    wide.fits(&plan).unwrap();
    assert_eq!((0..10).filter(|_| wide.take(&plan, [7u8; 4], 1).allowed()).count(), 5);
}

#[test]
fn plans_explain_themselves() {
    let plan: Plan = "100k tokens/min; 60 requests/min".parse().unwrap();
    assert_eq!((plan.limits(), plan.unit(0), plan.unit(1)), (2, Some("tokens".into()), Some("requests".into())));
    assert_eq!(plan.unit(2), None);
    assert!(plan.explain().contains("tokens"));
}

#[test]
fn handles_go_anywhere() {
    fn anywhere<T: Send + Sync + 'static>() {}
    anywhere::<Limiter>();
    anywhere::<Table>();
    anywhere::<Plan>();
    anywhere::<State>();
    anywhere::<Decision>();
    anywhere::<Operation>();
    anywhere::<Error>();
}
