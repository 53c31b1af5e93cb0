// SPDX-License-Identifier: MIT
#![doc = include_str!("../README.md")]

mod decision;
mod error;
mod hold;
mod latency;
mod lease;
mod limiter;
mod plan;
mod table;
mod tenants;
#[cfg(feature = "tower")]
pub mod tower;

pub use decision::{Decision, Instant, Verdict};
pub use error::{Error, ErrorKind};
pub use hold::{EachDecision, Hold};
pub use latency::{Measure, Operation};
pub use lease::Lease;
pub use limiter::{Carry, Clock, Limiter, LimiterOptions};
pub use plan::{Costs, Plan, State, Use};
pub use table::{Ask, Sharing, Table, TableOptions, WhenFull};
pub use tenants::{Taken, Tenants};

/// Times of a [`Latency`] that fall into one bucket of HdrHistogram, and the longest of these times.
pub use libweir_sys::weir_bucket as Bucket;
/// How long operations took: from when they were due (`response`), and from their start (`service`).
pub use libweir_sys::weir_latency as Latency;
/// Counts since a limiter was opened; weir_limiter(3) explains the fields.
pub use libweir_sys::weir_stats as Stats;
/// Counts of a table; weir_table(3) explains the fields.
pub use libweir_sys::weir_table_stats as TableStats;
/// A percentile is never below the true one, and at most 0.1 % above it.
pub use libweir_sys::weir_times as Times;

use std::time::Duration;

/// No bound: for as long as it takes.
pub const FOREVER: Duration = Duration::MAX;

/// Longer than 584 years is forever.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
