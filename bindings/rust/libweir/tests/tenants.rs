// SPDX-License-Identifier: MIT
//! Tenants by name: guarantees are kept whatever others do, and what is idle is borrowed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
use libweir::*;
use std::time::Duration;

const TEXTS: [(&str, &str); 3] = [("acme", "2/d guaranteed; 5/d"), ("bob", "3/d guaranteed"), ("*", "2/d")];

#[test]
fn guaranteed_and_borrowed() {
    let table = Table::private(100).unwrap();
    let tenants = Tenants::new(&table, "api", "6/d", TEXTS).unwrap();
    let mut told: Vec<_> = (0..6).map(|_| tenants.take("acme", 1)).collect();
    let seen: Vec<_> = told.iter().map(|each| (each.allowed(), each.borrowed())).collect();
    assert_eq!(seen, [(true, false), (true, false), (true, true), (true, true), (true, true), (false, false)]);
    assert!(told[5].verdict() == Verdict::Deny && told[5].retry() > Some(Duration::from_secs(3600)));
    for _ in 0..3 {
        let bob = tenants.take("bob", 1);
        assert!(bob.allowed() && !bob.borrowed(), "its guarantee, though others borrowed");
    }
    assert!(!tenants.take("bob", 1).allowed() && !tenants.take("eve", 1).allowed());
    tenants.cancel(told.remove(0));
    tenants.settle(told.remove(0), 0);
    let again = tenants.take("acme", 1);
    assert!(again.allowed() && !again.borrowed());
    let other = Tenants::new(&table, "another", "6/d", [("bob", "3/d guaranteed")]).unwrap();
    assert!(other.take("eve", 2).borrowed());
    assert_eq!(other.take("bob", 2).remaining(), 1);
}

#[test]
fn those_who_are_not_defined_only_borrow() {
    let tenants = Tenants::new(&Table::private(100).unwrap(), "t", "6/d", TEXTS).unwrap();
    assert!(tenants.take("eve", 2).borrowed() && !tenants.take("eve", 1).allowed());
    assert!(tenants.take("dan", 1).borrowed());
    assert!(tenants.take("bob", 3).allowed() && !tenants.take("dan", 1).allowed());
}

#[test]
fn what_is_idle_is_shared_by_weight() {
    let texts = [("one", "unlimited weight=1"), ("four", "1/d guaranteed weight=4"), ("*", "unlimited weight=1")];
    let tenants = Tenants::new(&Table::private(100).unwrap(), "t", "100/d", texts).unwrap();
    assert!(!tenants.take("four", 1).borrowed());
    let passed = (0..200).filter(|_| tenants.take("one", 1).allowed()).count();
    assert!(passed > 40 && passed < 80, "{passed}: who is in the lead leaves half of the burst to others");
    assert!(tenants.take("four", 1).borrowed() && tenants.take("eve", 1).borrowed());
    assert!(!tenants.take("one", 1).allowed());
}

#[test]
fn what_cannot_be_guaranteed_is_refused() {
    let table = Table::private(100).unwrap();
    let said = |key, tenants: &[(&'static str, &'static str)]| {
        Tenants::new(&table, key, "100/s", tenants.iter().copied()).unwrap_err().to_string()
    };
    assert_eq!(
        said("t", &[("a", "30/s guaranteed"), ("b", "80/s guaranteed; 90/s")]),
        "the guarantees are 110/s in total, more than the 100/s of their parent, with the 80/s of \"b\""
    );
    assert!(said("t", &[("*", "30/s guaranteed")]).contains("nobody knows how many"));
    let weights = [("a", "30/s weight=2"), ("b", "8/s"), ("*", "unlimited weight=1")];
    assert!(said("t", &weights).starts_with("\"b\" has no weight and others have one"));
    assert!(said("t", &[("a", "30/s weight=2")]).starts_with("\"*\" has no weight and others have one"));
    assert!(said("a}", &[]).contains("brace"));
    assert!(said("t", &[("a", "10/M")]).contains("M is a million"));
    assert!(said("t", &[("a", "5/s algorithm=sliding-log")]).contains("plan"));
}
