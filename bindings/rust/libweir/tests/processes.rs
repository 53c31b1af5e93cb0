// SPDX-License-Identifier: MIT
//! Four processes take from one table file while some of them are killed: exactly as many pass as the limit has.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
use libweir::{Plan, Table};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

/// A permit comes back each 9 minutes: none does while the test runs.
const LIMIT: &str = "5000/30d burst=5000";
const PASS: u64 = 5000;

/// Not a test: what a child does. It announces each take, so that one that a kill cut off is known.
#[test]
fn child() {
    let Ok(path) = std::env::var("LIBWEIR_TEST_TABLE") else { return };
    let table = Table::shared(path, 1000).unwrap();
    let plan: Plan = LIMIT.parse().unwrap();
    let mut out = std::io::stderr(); // without a buffer
    loop {
        out.write_all(b"?").unwrap();
        let allowed = table.take(&plan, "user:42", 1).allowed();
        out.write_all(if allowed { b"+" } else { b"-" }).unwrap();
        if !allowed {
            return;
        }
    }
}

struct Worker {
    process: Child,
    /// Passed, and whether the last take has no answer.
    reader: JoinHandle<(u64, bool)>,
}

fn start(path: &str, passed: &Arc<AtomicU64>) -> Worker {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env("LIBWEIR_TEST_TABLE", path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut words = process.stderr.take().unwrap();
    let passed = passed.clone();
    let reader = std::thread::spawn(move || {
        let (mut own, mut last, mut bytes) = (0, b'-', [0; 256]);
        loop {
            let count = words.read(&mut bytes).unwrap();
            if count == 0 {
                return (own, last == b'?');
            }
            let allowed = bytes[..count].iter().filter(|byte| **byte == b'+').count() as u64;
            own += allowed;
            passed.fetch_add(allowed, Ordering::Relaxed);
            last = bytes[count - 1];
        }
    });
    Worker { process, reader }
}

#[test]
fn exactly_as_many_pass() {
    let folder = std::env::temp_dir().join(format!("libweir-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("table.weir").to_str().unwrap().to_owned();
    let passed = Arc::new(AtomicU64::new(0));
    let mut workers: Vec<_> = (0..4).map(|_| start(&path, &passed)).collect();
    for (index, share) in [(0, 5), (1, 3), (2, 2)] {
        while passed.load(Ordering::Relaxed) < PASS / share && workers[index].process.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        workers[index].process.kill().unwrap(); // SIGKILL
        workers.push(start(&path, &passed));
    }
    let mut sum = 0;
    let mut cut_off = 0;
    for mut worker in workers {
        let (own, open) = worker.reader.join().unwrap();
        worker.process.wait().unwrap();
        sum += own;
        cut_off += u64::from(open);
    }
    let table = Table::shared(&path, 1000).unwrap();
    let plan: Plan = LIMIT.parse().unwrap();
    let left = table.peek(&plan, "user:42", 0).remaining();
    std::fs::remove_dir_all(&folder).unwrap();
    println!("{sum} passed and answered, {cut_off} cut off by a kill, {left} left, of {PASS}");
    assert_eq!(left, 0);
    assert!(sum <= PASS && sum + cut_off >= PASS);
}
