// SPDX-License-Identifier: MIT
//! A limit's text, parsed once; and a state of one's own for it.
use crate::error::{c_text, checked, invalid, text_of};
use crate::{nanos, Decision, Error, Instant};
use libweir_sys as sys;
use std::ffi::c_int;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What a limit is for, which sets its defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Use {
    /// To let calls in or refuse them; gcra.
    #[default]
    Admit = sys::WEIR_ADMIT,
    /// To start operations at a rate; hybrid, which makes up for delays.
    Pace = sys::WEIR_PACE,
}

/// A limit's text, parsed: what a [`Table`](crate::Table) takes beside the key.
///
/// ```
/// let plan: libweir::Plan = "10/s burst=20; 1000/h".parse()?;
/// assert_eq!(plan.to_string(), "10/s burst=20 algorithm=gcra; 1000/h burst=1000 algorithm=gcra");
/// let error = "10/fortnight".parse::<libweir::Plan>().unwrap_err();
/// assert_eq!(error.column(), Some(4));
/// # Ok::<(), libweir::Error>(())
/// ```
#[derive(Clone)]
pub struct Plan {
    plan: Box<sys::weir_plan>,
    mixed: bool,
}

/// What a call costs of each limit of a plan: [`Plan::costs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs(pub(crate) [u64; sys::WEIR_LIMITS_MAX]);

/// A unit of which a call costs 1 that does not say.
const REQUESTS: &str = "requests";

/// `limits count requests and tokens: write costs(&[("tokens", 812)])`
fn say_units(units: &[String], number: u64) -> Error {
    let mut known: Vec<&str> = Vec::new();
    units.iter().for_each(|unit| known.extend((!known.contains(&unit.as_str())).then_some(unit.as_str())));
    let example = known.iter().find(|unit| **unit != REQUESTS).unwrap_or(&REQUESTS);
    invalid(format!("limits count {}: write costs(&[(\"{example}\", {number})])", known.join(" and ")))
}

impl Plan {
    /// Parses a text such as `10/s burst=20; 1000/h` (weir-limit(7)) with the defaults of admitting.
    pub fn new(limits: &str) -> Result<Plan, Error> {
        Plan::with_use(limits, Use::Admit)
    }

    /// Parses a text with the defaults of that use.
    pub fn with_use(limits: &str, usage: Use) -> Result<Plan, Error> {
        let text = c_text("a limit", limits)?;
        let mut plan = Box::new(sys::weir_plan { opaque: [0; 256] });
        // SAFETY: the text ends in a NUL, and the plan is ours.
        checked(|error| unsafe { sys::weir_plan_parse(&mut *plan, text.as_ptr(), usage as u32, error) })?;
        let mut parsed = Plan { plan, mixed: false };
        let units = parsed.units();
        parsed.mixed = units.iter().any(|unit| Some(unit) != units.first());
        Ok(parsed)
    }

    /// What it means, in sentences, as `weir explain` prints it.
    pub fn explain(&self) -> String {
        // SAFETY: weir writes at most size bytes.
        text_of(|out, size| unsafe { sys::weir_plan_explain(self.raw(), out, size) })
    }

    /// Headers for an HTTP answer, names and values: RateLimit-Policy and RateLimit of the limit that the decision
    /// names and, if it refused, Retry-After. `full` is of [`Table::full`](crate::Table::full).
    ///
    /// ```
    /// let (table, plan) = (libweir::Table::private(10)?, libweir::Plan::new("10/min")?);
    /// let decision = table.take(&plan, "alice", 1);
    /// let headers = plan.headers(&decision, table.full(&plan, &decision));
    /// assert_eq!(headers[0].0, "RateLimit-Policy");
    /// # Ok::<(), libweir::Error>(())
    /// ```
    pub fn headers(&self, decision: &Decision, full: Duration) -> Vec<(String, String)> {
        let full_ns = nanos(full);
        // SAFETY: weir writes at most size bytes.
        let write = |out, size| unsafe { sys::weir_plan_headers(self.raw(), &decision.0, full_ns, out, size) };
        let lines = text_of(write);
        let pairs = lines.lines().filter_map(|line| line.split_once(": "));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// How many limits it has, from 1 to 8.
    pub fn limits(&self) -> usize {
        // SAFETY: the plan was parsed.
        usize::try_from(unsafe { sys::weir_plan_limits(self.raw()) }).unwrap_or(0)
    }

    /// The unit of a limit ("requests", "tokens"), by its index.
    pub fn unit(&self, limit: usize) -> Option<String> {
        let index = c_int::try_from(limit).ok()?;
        let mut unit = [0u8; sys::WEIR_UNIT_SIZE];
        // SAFETY: the buffer has the size that weir.h demands.
        let known = unsafe { sys::weir_plan_unit(self.raw(), index, unit.as_mut_ptr().cast()) };
        let bytes = unit.split(|byte| *byte == 0).next().unwrap_or_default();
        known.then(|| String::from_utf8_lossy(bytes).into_owned())
    }

    /// For how long its concurrent limit holds a slot that is not renewed; none: it has no such limit.
    pub fn lease(&self) -> Option<Duration> {
        // SAFETY: the plan was parsed.
        let lease_ns = unsafe { sys::weir_plan_lease_ns(self.raw()) };
        (lease_ns != 0).then(|| Duration::from_nanos(lease_ns))
    }

    /// What a call costs by unit, where the limits count several: each is named, or costs 1 if it is `requests`.
    ///
    /// ```
    /// let (table, plan) = (libweir::Table::private(10)?, libweir::Plan::new("60/min; 100k tokens/min")?);
    /// let costs = plan.costs(&[("tokens", 812)])?;
    /// let call = table.take_each(&plan, "alice", &costs);
    /// assert!(call.allowed());
    /// table.settle_each(&plan, "alice", call, &plan.costs(&[("tokens", 300)])?);
    /// assert!(!table.take(&plan, "alice", 812).allowed()); // of what?
    /// # Ok::<(), libweir::Error>(())
    /// ```
    pub fn costs(&self, by_unit: &[(&str, u64)]) -> Result<Costs, Error> {
        let mut costs = Costs([0; sys::WEIR_LIMITS_MAX]);
        let units = self.units();
        for (index, unit) in units.iter().enumerate() {
            let named = by_unit.iter().find(|(name, _)| name == unit).map(|(_, number)| *number);
            let number = named.or((unit == REQUESTS).then_some(1)).ok_or_else(|| say_units(&units, 1))?;
            costs.0.iter_mut().skip(index).take(1).for_each(|cost| *cost = number);
        }
        match by_unit.iter().find(|(name, _)| !units.iter().any(|unit| unit == name)) {
            Some((name, number)) => Err(invalid(format!("no limit counts {name}: {}", say_units(&units, *number)))),
            None => Ok(costs),
        }
    }

    /// Whether it has a guaranteed limit, of a tenant.
    pub(crate) fn guarantees(&self) -> bool {
        self.to_string().contains(" guaranteed")
    }

    fn units(&self) -> Vec<String> {
        (0..self.limits()).filter_map(|limit| self.unit(limit)).collect()
    }

    /// Whether its limits count several units, so that one number does not say of what.
    #[inline]
    pub(crate) fn mixed(&self) -> bool {
        self.mixed
    }

    pub(crate) fn raw(&self) -> *const sys::weir_plan {
        &*self.plan
    }
}

impl FromStr for Plan {
    type Err = Error;

    fn from_str(limits: &str) -> Result<Plan, Error> {
        Plan::new(limits)
    }
}

/// The text with all defaults written out.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: weir writes at most size bytes.
        f.write_str(&text_of(|out, size| unsafe { sys::weir_plan_text(self.raw(), out, size) }))
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan({self})")
    }
}

/// One state under a plan with a clock of your own: no lock, no system call; for simulations and for state that you
/// keep yourself.
///
/// ```
/// use libweir::{Instant, State};
/// let mut state = State::new("10/s burst=2".parse()?);
/// let now = Instant::from_nanos(0);
/// assert!(state.take(now, 2).allowed());
/// assert_eq!(state.take(now, 1).retry(), Some(std::time::Duration::from_millis(100)));
/// # Ok::<(), libweir::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct State {
    plan: Plan,
    words: Vec<u64>,
}

impl State {
    /// All permits available.
    pub fn new(plan: Plan) -> State {
        // SAFETY: the plan was parsed.
        let bytes = unsafe { sys::weir_state_size(plan.raw()) };
        State { plan, words: vec![0; bytes.div_ceil(8)] }
    }

    /// Takes permits if they are available at that time.
    pub fn take(&mut self, now: Instant, cost: u64) -> Decision {
        self.reserve(now, cost, Duration::ZERO)
    }

    /// Takes permits that become available within that time.
    pub fn reserve(&mut self, now: Instant, cost: u64, delay_max: Duration) -> Decision {
        let (plan, state) = (self.plan.raw(), self.words.as_mut_ptr().cast());
        // SAFETY: the state has the size that its plan demands.
        Decision(unsafe { sys::weir_decide_within(plan, state, now.raw(), cost, nanos(delay_max)) })
    }

    /// Corrects a decision to the actual cost.
    pub fn settle(&mut self, now: Instant, mut decision: Decision, actual: u64) {
        let (plan, state) = (self.plan.raw(), self.words.as_mut_ptr().cast());
        // SAFETY: as in reserve.
        unsafe { sys::weir_decide_settle(plan, state, now.raw(), &mut decision.0, actual) }
    }

    /// Slots of a concurrent limit are held for a whole lease from now on; false: they are not held any more.
    pub fn renew(&mut self, now: Instant, id: u64) -> bool {
        // SAFETY: as in reserve.
        unsafe { sys::weir_decide_renew(self.plan.raw(), self.words.as_mut_ptr().cast(), now.raw(), id) }
    }

    /// They end now; false: they are not held any more.
    pub fn release(&mut self, now: Instant, id: u64) -> bool {
        // SAFETY: as in reserve.
        unsafe { sys::weir_decide_release(self.plan.raw(), self.words.as_mut_ptr().cast(), now.raw(), id) }
    }

    /// The time from a decision until all permits are back.
    pub fn full(&self, decision: &Decision) -> Duration {
        // SAFETY: the plan was parsed.
        Duration::from_nanos(unsafe { sys::weir_decide_full_ns(self.plan.raw(), &decision.0) })
    }
}
