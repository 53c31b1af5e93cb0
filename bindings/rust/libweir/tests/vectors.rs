// SPDX-License-Identifier: MIT
//! What other limiters answered, call by call: test/vectors/calls.py of weir's tree writes the lines of WEIR_CALLS.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
use libweir::{Decision, Instant, Plan, State, Verdict};
use std::time::Duration;

fn answer(key: &str, state: &State, decision: &Decision) -> u64 {
    let ns = |time: Duration| time.as_nanos() as u64;
    match key {
        "allowed" => decision.allowed().into(),
        "never" => (decision.verdict() == Verdict::Never).into(),
        "remaining" => decision.remaining(),
        "delay_ns" => ns(decision.delay()),
        "retry_ns" => ns(decision.retry().unwrap_or_default()),
        "reset_ns" => ns(state.full(decision)),
        _ => panic!("an unknown key: {key}"),
    }
}

/// What follows the word `call`: NOW_NS, COST, DELAY_MAX_NS, and what the peer answered.
fn check(state: &mut State, call: &[&str], name: &str) {
    let numbers: Vec<u64> = call[..3].iter().map(|number| number.parse().unwrap()).collect();
    let decision = state.reserve(Instant::from_nanos(numbers[0]), numbers[1], Duration::from_nanos(numbers[2]));
    for said in &call[3..] {
        let (key, expected) = said.split_once('=').unwrap();
        let (least, most) = expected.split_once("..").unwrap_or((expected, expected));
        let got = answer(key, state, &decision);
        assert!((least.parse().unwrap()..=most.parse().unwrap()).contains(&got), "{name}, {call:?}: {said}: {got}");
    }
}

#[test]
fn vectors() {
    let Some(lines) = std::env::var("WEIR_CALLS").ok().and_then(|path| std::fs::read_to_string(path).ok()) else {
        println!("vectors: no WEIR_CALLS (they are in weir's tree, not in the package)");
        return;
    };
    let (mut steps, mut name, mut state) = (0, "", None);
    for line in lines.lines().map(|line| line.split('\t').collect::<Vec<_>>()) {
        match line[0] {
            "limit" => (state, name) = (Some(State::new(line[1].parse().unwrap())), line[2]),
            "refused" => assert!(line[1].parse::<Plan>().is_err(), "{}: {} is accepted", line[2], line[1]),
            "call" => {
                check(state.as_mut().unwrap(), &line[1..], name);
                steps += 1;
            }
            _ => println!("{}", line.join(" ")),
        }
    }
    println!("vectors: {steps} steps, 0 mismatches");
    assert!(steps > 2500, "too few steps: were the vectors moved?");
}
