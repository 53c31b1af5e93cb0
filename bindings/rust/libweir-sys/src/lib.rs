// SPDX-License-Identifier: MIT
//! weir.h in Rust, line by line. The manual pages (`weir_limiter(3)`, `weir_table(3)`, ...) say what each function
//! does; the crate `libweir` is the safe form.
#![allow(non_camel_case_types, missing_docs)]
#![no_std]

use core::ffi::{c_char, c_int, c_uint, c_void};

pub const WEIR_FOREVER: u64 = u64::MAX;
pub const WEIR_LIMITS_MAX: usize = 8;
pub const WEIR_UNIT_SIZE: usize = 24;
pub const WEIR_ASKS_MAX: usize = 16;

pub const WEIR_EUNSUPPORTED: c_int = -6;
pub const WEIR_EMISMATCH: c_int = -5;
pub const WEIR_EVERSION: c_int = -4;
pub const WEIR_ESYSTEM: c_int = -3;
pub const WEIR_ENOMEM: c_int = -2;
pub const WEIR_EINVAL: c_int = -1;

#[repr(C)]
pub struct weir_error {
    pub code: c_int,
    pub column: c_int,
    pub message: [c_char; 248],
}

#[repr(C)]
#[derive(Clone)]
pub struct weir_plan {
    pub opaque: [u64; 256],
}

pub type weir_use = c_uint;
pub const WEIR_ADMIT: weir_use = 0;
pub const WEIR_PACE: weir_use = 1;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct weir_instant {
    pub ns: u64,
}

pub const WEIR_ALLOW: u32 = 1;
pub const WEIR_DENY: u32 = 2;
pub const WEIR_NEVER: u32 = 3;
pub const WEIR_STOPPED: u32 = 4;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct weir_decision {
    pub verdict: u32,
    pub limit: u32,
    pub start: weir_instant,
    pub delay_ns: u64,
    /// `retry_ns` of a refusal; of a permission `due`.
    pub retry_ns: u64,
    pub end: u64,
    pub remaining: u64,
    pub charged: u64,
    pub reserved: u64,
}
const _: () = assert!(core::mem::size_of::<weir_decision>() == 64);

pub type weir_clock = c_uint;
pub const WEIR_CLOCK_SYSTEM: weir_clock = 0;
pub const WEIR_CLOCK_COARSE: weir_clock = 1;
pub const WEIR_CLOCK_TICKER: weir_clock = 2;
pub const WEIR_CLOCK_MANUAL: weir_clock = 3;
pub const WEIR_CLOCK_TSC: weir_clock = 4;

#[repr(C)]
pub struct weir_options {
    pub size: usize,
    pub use_: weir_use,
    pub clock: weir_clock,
    pub min_sleep_ns: u64,
    pub spin_ns: u64,
    pub tick_ns: u64,
    pub spin_processors: u64,
}

#[repr(C)]
#[derive(Debug)]
pub struct weir_limiter {
    opaque: [u8; 0],
}

pub type weir_carry = c_uint;
pub const WEIR_KEEP: weir_carry = 0;
pub const WEIR_SCALE: weir_carry = 1;
pub const WEIR_RESET: weir_carry = 2;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct weir_stats {
    pub calls: u64,
    pub granted: u64,
    pub denied: u64,
    pub delayed: u64,
    pub waiting_ns: u64,
    pub late_now_ns: u64,
    pub late_max_ns: u64,
    pub allocated_ns: u64,
    pub idle_ns: u64,
    pub begun_ns: u64,
    pub elapsed_ns: u64,
    pub due: u64,
    pub missed: u64,
    pub backlog: u64,
    pub ahead: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct weir_times {
    pub count: u64,
    pub total_ns: u64,
    pub min_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct weir_latency {
    pub response: weir_times,
    pub service: weir_times,
}

pub type weir_measure = c_uint;
pub const WEIR_RESPONSE: weir_measure = 0;
pub const WEIR_SERVICE: weir_measure = 1;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct weir_bucket {
    pub most_ns: u64,
    pub count: u64,
}

/// All zero is closed.
#[repr(C)]
#[derive(Debug)]
pub struct weir_lease {
    pub left: u64,
    pub last_ns: u64,
    pub step: u64,
    pub end: u64,
    pub scale: u64,
    pub calls: u64,
    pub reserved: u64,
    pub inside: *mut c_void,
}
const _: () = assert!(core::mem::size_of::<weir_lease>() == 64);

pub type weir_when_full = c_uint;
pub const WEIR_FULL_INHERIT: weir_when_full = 0;
pub const WEIR_FULL_EVICT: weir_when_full = 1;
pub const WEIR_FULL_DENY: weir_when_full = 2;
pub const WEIR_FULL_ALLOW: weir_when_full = 3;

pub type weir_sharing = c_uint;
pub const WEIR_JOIN_OR_CREATE: weir_sharing = 0;
pub const WEIR_JOIN: weir_sharing = 1;
pub const WEIR_CREATE: weir_sharing = 2;
pub const WEIR_PRIVATE: weir_sharing = 3;

#[repr(C)]
pub struct weir_table_options {
    pub size: usize,
    pub keys_max: u64,
    pub path: *const c_char,
    pub sharing: weir_sharing,
    pub when_full: weir_when_full,
    pub clock: weir_clock,
    pub mode: c_uint,
    pub refill_max_ns: u64,
    pub plan: *const weir_plan,
    pub top: u32,
    pub lock_wait_ns: u64,
    pub holds_for_others: bool,
}

#[repr(C)]
#[derive(Debug)]
pub struct weir_table {
    opaque: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct weir_key {
    pub bytes: *const c_void,
    pub size: usize,
}

#[repr(C)]
pub struct weir_ask {
    pub plan: *const weir_plan,
    pub key: weir_key,
    pub cost: u64,
    pub decision: weir_decision,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct weir_table_stats {
    pub keys_live: u64,
    pub keys_max: u64,
    pub bytes: u64,
    pub granted: u64,
    pub denied: u64,
    pub reclaimed: u64,
    pub full: u64,
    pub displaced: u64,
    pub moved: u64,
    pub stuck: u64,
}

#[rustfmt::skip] // as the header: a function in a line or two
extern "C" {
    pub fn weir_version() -> *const c_char;

    pub fn weir_plan_parse(plan: *mut weir_plan, limits: *const c_char, r#use: weir_use, error: *mut weir_error)
        -> c_int;
    pub fn weir_plan_text(plan: *const weir_plan, out: *mut c_char, size: usize) -> usize;
    pub fn weir_plan_explain(plan: *const weir_plan, out: *mut c_char, size: usize) -> usize;
    pub fn weir_plan_headers(plan: *const weir_plan, decision: *const weir_decision, full_ns: u64, out: *mut c_char,
        size: usize) -> usize;
    pub fn weir_plan_limits(plan: *const weir_plan) -> c_int;
    pub fn weir_plan_unit(plan: *const weir_plan, limit: c_int, out: *mut c_char) -> bool;

    pub fn weir_plan_check_tenants(parent: *const weir_plan, tenants: *const *const weir_plan, count: usize,
        error: *mut weir_error) -> c_int;
    pub fn weir_plan_lease_ns(plan: *const weir_plan) -> u64;

    pub fn weir_now() -> weir_instant;
    pub fn weir_sleep_until(when: weir_instant);

    pub fn weir_state_size(plan: *const weir_plan) -> usize;
    pub fn weir_decide(plan: *const weir_plan, state: *mut c_void, now: weir_instant, cost: u64) -> weir_decision;
    pub fn weir_decide_within(plan: *const weir_plan, state: *mut c_void, now: weir_instant, cost: u64,
        wait_max_ns: u64) -> weir_decision;
    pub fn weir_decide_full_ns(plan: *const weir_plan, decision: *const weir_decision) -> u64;
    pub fn weir_decide_settle(plan: *const weir_plan, state: *mut c_void, now: weir_instant,
        decision: *mut weir_decision, actual: u64);
    pub fn weir_decide_renew(plan: *const weir_plan, state: *mut c_void, now: weir_instant, id: u64) -> bool;
    pub fn weir_decide_release(plan: *const weir_plan, state: *mut c_void, now: weir_instant, id: u64) -> bool;

    pub fn weir_open(owned: *mut *mut weir_limiter, limits: *const c_char, options: *const weir_options,
        error: *mut weir_error) -> c_int;
    pub fn weir_stop(limiter: *mut weir_limiter);
    pub fn weir_close(limiter: *mut weir_limiter);
    pub fn weir_manual_set(limiter: *mut weir_limiter, now: weir_instant);
    pub fn weir_take(limiter: *mut weir_limiter, cost: u64) -> weir_decision;
    pub fn weir_take_at(limiter: *mut weir_limiter, now: weir_instant, cost: u64) -> weir_decision;
    pub fn weir_take_some(limiter: *mut weir_limiter, cost_max: u64) -> weir_decision;
    pub fn weir_take_each(limiter: *mut weir_limiter, cost: *const u64, end: *mut u64) -> weir_decision;
    pub fn weir_take_wait(limiter: *mut weir_limiter, cost: u64, wait_max_ns: u64) -> weir_decision;
    pub fn weir_take_each_wait(limiter: *mut weir_limiter, cost: *const u64, end: *mut u64, wait_max_ns: u64)
        -> weir_decision;
    pub fn weir_reserve_each(limiter: *mut weir_limiter, cost: *const u64, end: *mut u64, delay_max_ns: u64)
        -> weir_decision;
    pub fn weir_reserve(limiter: *mut weir_limiter, cost: u64, delay_max_ns: u64) -> weir_decision;
    pub fn weir_charge(limiter: *mut weir_limiter, cost: u64) -> weir_decision;
    pub fn weir_peek(limiter: *mut weir_limiter, cost: u64) -> weir_decision;
    pub fn weir_peek_limit(limiter: *mut weir_limiter, limit: c_int, cost: u64) -> weir_decision;
    pub fn weir_full_ns(limiter: *mut weir_limiter, decision: *const weir_decision) -> u64;
    pub fn weir_settle(limiter: *mut weir_limiter, decision: *mut weir_decision, actual: u64);
    pub fn weir_settle_each(limiter: *mut weir_limiter, decision: *mut weir_decision, cost: *const u64,
        actual: *const u64, end: *const u64);
    pub fn weir_cancel(limiter: *mut weir_limiter, decision: *mut weir_decision);
    pub fn weir_renew(limiter: *mut weir_limiter, id: u64) -> bool;
    pub fn weir_release(limiter: *mut weir_limiter, id: u64) -> bool;
    pub fn weir_set_limit(limiter: *mut weir_limiter, limits: *const c_char, carry: weir_carry,
        error: *mut weir_error) -> c_int;
    pub fn weir_limit_text(limiter: *mut weir_limiter, out: *mut c_char, size: usize) -> usize;
    pub fn weir_due(limiter: *const weir_limiter, decision: *const weir_decision, nth: u64) -> weir_instant;
    pub fn weir_skip(limiter: *mut weir_limiter, permits: u64);
    pub fn weir_read_stats(limiter: *mut weir_limiter, stats: *mut weir_stats, size: usize);
    pub fn weir_done(limiter: *mut weir_limiter, decision: *const weir_decision);
    pub fn weir_done_at(limiter: *mut weir_limiter, due: weir_instant, start: weir_instant, now: weir_instant);
    pub fn weir_read_latency(limiter: *mut weir_limiter, latency: *mut weir_latency, size: usize);
    pub fn weir_read_buckets(limiter: *mut weir_limiter, measure: weir_measure, buckets: *mut weir_bucket,
        count: usize) -> usize;

    pub fn weir_lease_open(lease: *mut weir_lease, limiter: *mut weir_limiter, error: *mut weir_error) -> c_int;
    pub fn weir_lease_close(lease: *mut weir_lease);
    pub fn weir_lease_renew(lease: *mut weir_lease, cost: u64) -> weir_decision;
    pub fn weir_lease_renew_wait(lease: *mut weir_lease, cost: u64, wait_max_ns: u64) -> weir_decision;

    pub fn weir_table_open(owned: *mut *mut weir_table, options: *const weir_table_options, error: *mut weir_error)
        -> c_int;
    pub fn weir_table_close(table: *mut weir_table);
    pub fn weir_table_grow(table: *mut weir_table, keys_max: u64, error: *mut weir_error) -> c_int;
    pub fn weir_table_fits(table: *const weir_table, plan: *const weir_plan, error: *mut weir_error) -> c_int;
    pub fn weir_table_take(table: *mut weir_table, plan: *const weir_plan, key: weir_key, cost: u64)
        -> weir_decision;
    pub fn weir_table_take_at(table: *mut weir_table, plan: *const weir_plan, key: weir_key, now: weir_instant,
        cost: u64) -> weir_decision;
    pub fn weir_table_take_each(table: *mut weir_table, plan: *const weir_plan, key: weir_key, cost: *const u64,
        end: *mut u64) -> weir_decision;
    pub fn weir_table_take_wait(table: *mut weir_table, plan: *const weir_plan, key: weir_key, cost: u64,
        wait_max_ns: u64) -> weir_decision;
    pub fn weir_table_take_each_wait(table: *mut weir_table, plan: *const weir_plan, key: weir_key,
        cost: *const u64, end: *mut u64, wait_max_ns: u64) -> weir_decision;
    pub fn weir_table_reserve_each(table: *mut weir_table, plan: *const weir_plan, key: weir_key, cost: *const u64,
        end: *mut u64, delay_max_ns: u64) -> weir_decision;
    pub fn weir_table_reserve(table: *mut weir_table, plan: *const weir_plan, key: weir_key, cost: u64,
        delay_max_ns: u64) -> weir_decision;
    pub fn weir_table_charge(table: *mut weir_table, plan: *const weir_plan, key: weir_key, cost: u64)
        -> weir_decision;
    pub fn weir_table_peek(table: *mut weir_table, plan: *const weir_plan, key: weir_key, limit: c_int, cost: u64)
        -> weir_decision;
    pub fn weir_table_full_ns(table: *const weir_table, plan: *const weir_plan, decision: *const weir_decision)
        -> u64;
    pub fn weir_table_settle(table: *mut weir_table, plan: *const weir_plan, key: weir_key,
        decision: *mut weir_decision, actual: u64);
    pub fn weir_table_settle_each(table: *mut weir_table, plan: *const weir_plan, key: weir_key,
        decision: *mut weir_decision, cost: *const u64, actual: *const u64, end: *const u64);
    pub fn weir_table_renew(table: *mut weir_table, plan: *const weir_plan, key: weir_key, id: u64) -> bool;
    pub fn weir_table_release(table: *mut weir_table, plan: *const weir_plan, key: weir_key, id: u64) -> bool;
    pub fn weir_table_forget(table: *mut weir_table, plan: *const weir_plan, key: weir_key);
    pub fn weir_table_take_batch(table: *mut weir_table, asks: *mut weir_ask, count: usize, now: weir_instant);
    pub fn weir_table_take_all(table: *mut weir_table, asks: *mut weir_ask, count: usize, now: weir_instant) -> bool;
    pub fn weir_table_read_stats(table: *mut weir_table, stats: *mut weir_table_stats, size: usize);
}
