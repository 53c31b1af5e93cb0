// SPDX-License-Identifier: MIT
//! The shared vectors: what other limiters answer, through a limit's text and a state. ../../../../test/vectors has the
//! whole of them for the C code; here are those that a text alone says.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
use libweir::{Decision, Instant, State, Verdict};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

fn number(value: &Value) -> i128 {
    value.to_string().parse().unwrap()
}

fn whole(value: &Value) -> Option<u64> {
    value.to_string().parse().ok()
}

/// The limit in weir's words, and which answers weir gives in the same words.
fn limit(system: &str, limiter: &Value) -> Option<(String, &'static [&'static str])> {
    let of = |key: &str| limiter[key].to_string().trim_matches('"').to_owned();
    let plus_1 = |key: &str| number(&limiter[key]) + 1;
    Some(match system {
        "governor (GCRA)" => (
            format!("1/{}ns burst={} algorithm=gcra", of("emission_interval_ns"), of("burst")),
            &["allowed", "never", "remaining", "retry_after_ns"],
        ),
        "throttled (GCRA)" => (
            format!("1/{}ns burst={} algorithm=gcra", of("emission_interval_ns"), plus_1("max_burst")),
            &["allowed", "never", "retry_after_ns"],
        ),
        "redis-cell CL.THROTTLE" => (
            // A whole number of ns, as there.
            format!(
                "1/{}ns burst={} algorithm=gcra",
                number(&limiter["period_s"]) * 1_000_000_000 / number(&limiter["count"]).max(1),
                plus_1("max_burst")
            ),
            &["allowed", "never"],
        ),
        "envoy ratelimit fixed window (aligned)" => (
            format!("{}/{}ns algorithm=fixed-window align=clock count-refused", of("limit"), of("window_ns")),
            &["allowed", "remaining"],
        ),
        "limits (Python) fixed window" => (
            format!("{}/{}ns algorithm=fixed-window align=first count-refused", of("limit"), of("window_ns")),
            &["allowed"],
        ),
        "limits (Python) moving window" => {
            (format!("{}/{}ns algorithm=sliding-log edge=closed", of("limit"), of("window_ns")), &["allowed"])
        }
        "limits (Python) sliding window counter" => {
            (format!("{}/{}ns algorithm=sliding-window", of("limit"), of("window_ns")), &["allowed", "remaining"])
        }
        "khenidak/Throttling sliding log (collection variant)" => {
            (format!("{}/{}ns algorithm=sliding-log edge=closed", of("max_in_period"), of("period_ns")), &["allowed"])
        }
        "golang.org/x/time/rate" => {
            (format!("{}/s burst={} algorithm=gcra", of("rate_per_s"), of("burst")), &["allowed", "wait_ns"])
        }
        _ => return None,
    })
}

/// Why no text says it.
fn beyond(case: &Value) -> Option<&'static str> {
    let steps = case["steps"].as_array().unwrap();
    if case["name"] == "ten billion per second: ten tokens a nanosecond" {
        return Some("the peer takes a wait of a part of a ns for none");
    }
    let known = ["try", "reserve", "acquire"];
    if case.get("peer_quirk").is_some() || case.get("clock_goes_back").is_some() {
        return Some("the peer's own way with clocks and overflows");
    }
    if !steps.iter().all(|step| known.contains(&step["op"].as_str().unwrap())) {
        return Some("another operation");
    }
    if steps.iter().any(|step| whole(&step["t_ns"]).is_none() || step.get("n").is_some_and(|n| whole(n).is_none())) {
        return Some("a number over 64 bits, or below 0");
    }
    None
}

fn ask(state: &mut State, step: &Value) -> Decision {
    let now = Instant::from_nanos(whole(&step["t_ns"]).unwrap());
    let cost = step.get("n").map_or(1, |n| whole(n).unwrap());
    let wait = match step["op"].as_str().unwrap() {
        "try" => step.get("max_wait_ns").map_or(0, |wait| whole(wait).unwrap_or(u64::MAX)),
        _ => u64::MAX,
    };
    state.reserve(now, cost, Duration::from_nanos(wait))
}

fn answer(key: &str, decision: &Decision) -> Value {
    match key {
        "allowed" => decision.allowed().into(),
        "never" => (decision.verdict() == Verdict::Never).into(),
        "remaining" => decision.remaining().into(),
        "wait_ns" => (decision.delay().as_nanos() as u64).into(),
        "retry_after_ns" => (decision.retry().unwrap_or_default().as_nanos() as u64).into(),
        _ => Value::Null,
    }
}

fn equal(expected: &Value, got: &Value, tolerance: i128) -> bool {
    match expected {
        Value::Number(_) => (number(expected) - number(got)).abs() <= tolerance,
        _ => expected == got,
    }
}

struct Tally {
    steps: u64,
    answers: u64,
    mismatches: Vec<String>,
    skipped: BTreeMap<String, u64>,
}

fn run(tally: &mut Tally, case: &Value, text: &str, keys: &[&str]) {
    let steps = case["steps"].as_array().unwrap();
    let state = text.parse().map(State::new);
    let refuses = steps.iter().any(|step| step["expect"].get("error").is_some());
    let Ok(mut state) = state else {
        let what = if refuses { "refused, as by the peer" } else { "a limit that no text says" };
        *tally.skipped.entry(what.to_owned()).or_default() += steps.len() as u64;
        return;
    };
    for (index, step) in steps.iter().enumerate() {
        let decision = ask(&mut state, step);
        tally.steps += 1;
        for (key, expected) in
            step["expect"].as_object().unwrap().iter().filter(|(key, _)| keys.contains(&key.as_str()))
        {
            // A refusal's wait is the peer's business: weir's is its retry.
            if key == "wait_ns" && !decision.allowed() {
                continue;
            }
            let got = answer(key, &decision);
            tally.answers += 1;
            if !equal(expected, &got, number(&case["tolerance_ns"])) {
                tally.mismatches.push(format!("{text}: {}, step {index}: {key} {got}, not {expected}", case["name"]));
            }
        }
    }
}

#[test]
fn vectors() {
    let folder = std::env::var("WEIR_VECTORS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../test/vectors/peers").to_owned());
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("vectors: none in {folder} (they are in weir's tree, not in the package)");
        return;
    };
    let mut tally = Tally { steps: 0, answers: 0, mismatches: vec![], skipped: BTreeMap::new() };
    for path in files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|it| it == "json")) {
        let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let system = file["system"].as_str().unwrap();
        for case in file["cases"].as_array().unwrap() {
            let steps = case["steps"].as_array().unwrap().len() as u64;
            let skipped = match limit(system, &case["limiter"]) {
                None => Some(format!("{system}: more than a text")),
                Some((text, keys)) => match beyond(case) {
                    Some(why) => Some(why.to_owned()),
                    None => {
                        run(&mut tally, case, &text, keys);
                        None
                    }
                },
            };
            if let Some(why) = skipped {
                *tally.skipped.entry(why).or_default() += steps;
            }
        }
    }
    println!("vectors: {} steps, {} answers, {} mismatches", tally.steps, tally.answers, tally.mismatches.len());
    for (why, steps) in &tally.skipped {
        println!("  skipped: {steps} steps, {why}");
    }
    assert!(tally.mismatches.is_empty(), "{:#?}", tally.mismatches);
    assert!(tally.steps > 2500, "too few steps: was a file renamed?");
}
