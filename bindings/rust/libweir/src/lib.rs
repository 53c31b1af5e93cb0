// SPDX-License-Identifier: MIT
#![doc = include_str!("../README.md")]

mod decision;
mod error;
mod lease;
mod limiter;
mod plan;
mod table;
#[cfg(feature = "tower")]
pub mod tower;

pub use decision::{Decision, Instant, Verdict};
pub use error::{Error, ErrorKind};
pub use lease::Lease;
pub use limiter::{Carry, Clock, Limiter, LimiterOptions};
pub use plan::{Plan, State, Use};
pub use table::{Ask, Sharing, Table, TableOptions, WhenFull};

/// Counts since a limiter was opened; weir_limiter(3) explains the fields.
pub use libweir_sys::weir_stats as Stats;
/// Counts of a table; weir_table(3) explains the fields.
pub use libweir_sys::weir_table_stats as TableStats;

use std::time::Duration;

/// No bound: for as long as it takes.
pub const FOREVER: Duration = Duration::MAX;

/// Longer than 584 years is forever.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
