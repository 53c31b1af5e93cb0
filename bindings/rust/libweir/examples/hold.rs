// SPDX-License-Identifier: MIT
//! At most so many at once, whatever they are written in: `hold PATH LIMIT KEY`
//!
//! ```text
//! cargo run --example hold /dev/shm/backups.weir "3 concurrent lease=30s" nightly
//! ```
//!
//! waits for a slot of the key, says "held", and holds it until its input ends. Killed, it frees the slot at once.
use libweir::{Plan, Table, TableOptions};
use std::io::Read;
use std::sync::mpsc::{channel, RecvTimeoutError};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, limit, key] = arguments.as_slice() else { return Err("usage: hold PATH LIMIT KEY".into()) };
    let plan: Plan = limit.parse()?;
    let options = TableOptions { path: Some(path.into()), keys: 1000, plan: Some(plan.clone()), ..Default::default() };
    let table = Table::open(options)?;
    let hold = table.hold(&plan, key, 1).map_err(|refused| format!("{refused:?}"))?;
    println!("held");

    let (ended, end) = channel();
    std::thread::spawn(move || {
        let read = std::io::stdin().read_to_end(&mut Vec::new()); // what takes its time
        ended.send(read)
    });
    let third = plan.lease().unwrap_or_default() / 3;
    while matches!(end.recv_timeout(third), Err(RecvTimeoutError::Timeout)) {
        hold.renew();
    }
    println!("{}", if hold.release() { "released" } else { "lost" });
    Ok(())
}
