// SPDX-License-Identifier: MIT
//! Tenants of one limit.
use crate::error::{checked, invalid};
use crate::{nanos, Ask, Decision, Error, Instant, Plan, Table};
use libweir_sys as sys;
use std::collections::BTreeMap;
use std::ops::Deref;

/// Tenants of one limit, by name: each is guaranteed its own rate, and borrows what the others leave.
///
/// A guaranteed limit is what a tenant has whatever others do; the limits behind it are its ceiling, up to which it
/// borrows what is idle. `*` is everybody else's, who only borrow; without it they have no ceiling but the parent's.
/// Give each a weight, `*` too, or none (`20/min guaranteed weight=3`, `unlimited weight=1`): what is idle is shared by it.
///
/// The state is in the table, by `key` and the tenant's name: other `Tenants` of the same key change the limits, and
/// what was taken stays taken.
///
/// ```
/// use libweir::{Table, Tenants};
/// let table = Table::private(1000)?;
/// let tenants = [("acme", "20/min guaranteed; 80/min"), ("*", "50/min")];
/// let tenants = Tenants::new(&table, "api", "100/min", tenants)?;
/// assert!(tenants.take("eve", 50).allowed() && tenants.take("dan", 50).borrowed());
/// assert!(!tenants.take("tom", 1).allowed()); // nothing is left to borrow
/// let call = tenants.take("acme", 20); // and this is guaranteed
/// assert!(call.allowed() && !call.borrowed());
/// tenants.cancel(call);
/// # Ok::<(), libweir::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tenants {
    table: Table,
    key: String,
    parent: Plan,
    plans: BTreeMap<String, Plan>,
}

/// What a tenant's call was told. It has the methods of a [`Decision`]: that of the tenant's own limits or, of a
/// refusal, that which refuses for longest.
#[derive(Debug)]
#[must_use = "a decision may be a refusal"]
pub struct Taken {
    main: Decision,
    /// The others, by their place; the place of the main one is missing.
    others: Vec<(usize, Decision)>,
    place: usize,
    tenant: String,
    borrowed: bool,
}

impl Taken {
    /// It passed, but not by the tenant's guarantee.
    pub fn borrowed(&self) -> bool {
        self.borrowed
    }
}

impl Deref for Taken {
    type Target = Decision;

    fn deref(&self) -> &Decision {
        &self.main
    }
}

impl Tenants {
    /// Fails if the texts are wrong, or guarantee more than the parent's rate in total.
    pub fn new<'a>(
        table: &Table,
        key: &str,
        parent: &str,
        tenants: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Tenants, Error> {
        let parent = Plan::new(parent)?;
        let parsed = tenants.into_iter().map(|(name, text)| Ok((name.to_owned(), Plan::new(text)?)));
        let plans: BTreeMap<String, Plan> = parsed.collect::<Result<_, Error>>()?;
        if key.contains('}') {
            return Err(invalid(format!("the key {key} has a brace, which ends it")));
        }
        if plans.get("*").is_some_and(Plan::guarantees) {
            return Err(invalid("\"*\" guarantees nothing: nobody knows how many they are".to_owned()));
        }
        if !plans.contains_key("*") && plans.values().any(|plan| plan.to_string().contains(" weight=")) {
            return Err(invalid("\"*\" has no weight and others have one; for example unlimited weight=1".to_owned()));
        }
        plans.values().chain([&parent]).try_for_each(|plan| table.fits(plan))?;
        check_sum(&parent, &plans)?;
        Ok(Tenants { table: table.clone(), key: key.to_owned(), parent, plans })
    }

    /// Takes from the tenant and its parent if the permits are available now, and else none.
    pub fn take(&self, tenant: &str, cost: u64) -> Taken {
        let [own_key, parent_key] = self.keys(tenant);
        let own = self.plan_of(tenant).map(|plan| Ask::new(plan, own_key.as_bytes(), cost));
        let parent = Ask::new(&self.parent, parent_key.as_bytes(), cost);
        let mut asks: Vec<Ask<'_>> = own.into_iter().chain([parent]).collect();
        let allowed = self.table.take_all(&mut asks, Instant::now());
        let mut parts: Vec<(usize, Decision)> = asks.into_iter().map(Ask::into_decision).enumerate().collect();
        let refuses = |(_, part): &&(usize, Decision)| !part.allowed();
        let longest = parts.iter().filter(refuses).max_by_key(|(_, part)| part.retry().map_or(u64::MAX, nanos));
        let place = longest.map_or(0, |(place, _)| *place);
        let (_, main) = parts.remove(place);
        let guaranteed = self.plan_of(tenant).is_some_and(Plan::guarantees) && !main.borrowed();
        Taken { main, others: parts, place, tenant: tenant.to_owned(), borrowed: allowed && !guaranteed }
    }

    /// Charges or refunds the difference to the actual cost.
    pub fn settle(&self, taken: Taken, actual: u64) {
        let Taken { main, others, place, tenant, .. } = taken;
        let [own_key, parent_key] = self.keys(&tenant);
        let own = self.plan_of(&tenant).map(|plan| (plan, own_key));
        let places: Vec<_> = own.into_iter().chain([(&self.parent, parent_key)]).collect();
        for (index, decision) in others.into_iter().chain([(place, main)]) {
            if let Some((plan, key)) = places.get(index) {
                self.table.settle(plan, key, decision, actual);
            }
        }
    }

    /// Gives back what was taken for an operation that never ran.
    pub fn cancel(&self, taken: Taken) {
        self.settle(taken, 0);
    }

    fn plan_of(&self, tenant: &str) -> Option<&Plan> {
        self.plans.get(tenant).or_else(|| self.plans.get("*"))
    }

    /// As engines have them: of one hash tag.
    fn keys(&self, tenant: &str) -> [String; 2] {
        [format!("{{{}}}:{tenant}", self.key), format!("{{{}}}", self.key)]
    }
}

fn check_sum(parent: &Plan, plans: &BTreeMap<String, Plan>) -> Result<(), Error> {
    let tenants: Vec<_> = plans.values().map(Plan::raw).collect();
    // SAFETY: as many plans, which live for the call.
    let check = |error| unsafe { sys::weir_plan_check_tenants(parent.raw(), tenants.as_ptr(), tenants.len(), error) };
    let named = |message: &str| {
        let by_name = |text: String, (index, name): (usize, &String)| {
            text.replace(&format!("tenants[{index}]"), &format!("{name:?}"))
        };
        plans.keys().enumerate().fold(message.to_owned(), by_name)
    };
    checked(check).map_err(|error| error.with_message(named))
}
