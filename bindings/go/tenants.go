// SPDX-License-Identifier: MIT

package libweir

/*
#cgo noescape libweir_table_take_all
#cgo nocallback libweir_table_take_all
#include <stdlib.h>
#include "libweir.h"
*/
import "C"

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// Tenants of one limit, by name: each is guaranteed its own rate, and borrows what the others leave. Its methods may be
// called from any goroutine.
type Tenants struct {
	table  *Table
	key    string
	parent *Plan
	plans  map[string]*Plan
}

// NewTenants returns the tenants of a parent's limit, each with a limit of its own: "20/s guaranteed; 80/s". A
// guaranteed limit is what a tenant has whatever others do; the limits behind it are its ceiling, up to which it borrows
// what is idle. "*" is everybody else's, who only borrow; without it they have no ceiling but the parent's. Guarantees
// that are more than the parent's rate in total are an [*Error]. Give each a weight, "*" too, or none: "20/s guaranteed
// weight=3", "unlimited weight=1"; what is idle is then theirs by weight.
//
// The state is in the table, by key and the tenant's name: other Tenants of the same key change the limits, and what was
// taken stays taken.
func NewTenants(table *Table, key, parent string, tenants map[string]string) (*Tenants, error) {
	all := &Tenants{table: table, key: key, plans: make(map[string]*Plan)}
	if strings.Contains(key, "}") {
		return nil, &Error{Invalid, 0, fmt.Sprintf("the key %q has a brace, which ends it", key)}
	}
	parsed := func(text string) (*Plan, error) {
		plan, err := Parse(text)
		if err == nil {
			err = table.Fits(plan)
		}
		return plan, err
	}
	var err error
	if all.parent, err = parsed(parent); err != nil {
		return nil, err
	}
	for name, text := range tenants {
		if all.plans[name], err = parsed(text); err != nil {
			return nil, err
		}
	}
	if others := all.plans["*"]; others != nil && others.guarantees() {
		return nil, &Error{Invalid, 0, `"*" guarantees nothing: nobody knows how many they are`}
	}
	if _, ok := all.plans["*"]; !ok && slices.ContainsFunc(slices.Collect(maps.Values(all.plans)), (*Plan).isWeighed) {
		return nil, &Error{Invalid, 0, `"*" has no weight and others have one; for example "*": "unlimited weight=1"`}
	}
	return all, all.check()
}

func (t *Tenants) check() error {
	names := slices.Sorted(maps.Keys(t.plans))
	size := C.size_t(len(names))
	plans := (*C.weir_plan)(C.calloc(size+1, C.sizeof_weir_plan)) // C may not keep pointers to Go's memory
	defer C.free(unsafe.Pointer(plans))
	pointers := (**C.weir_plan)(C.calloc(size+1, C.size_t(unsafe.Sizeof(plans))))
	defer C.free(unsafe.Pointer(pointers))
	for i, name := range names {
		unsafe.Slice(plans, size)[i] = *t.plans[name].raw()
		unsafe.Slice(pointers, size)[i] = &unsafe.Slice(plans, size)[i]
	}
	var e C.weir_error
	err := errorOf(C.weir_plan_check_tenants(t.parent.raw(), pointers, size, &e), &e)
	if err, ok := err.(*Error); ok {
		for i, name := range names {
			err.Message = strings.Replace(err.Message, fmt.Sprintf("tenants[%d]", i), strconv.Quote(name), 1)
		}
	}
	return err
}

// Taken is what a tenant's call was told. It has the methods of a [Decision]: that of the tenant's own limits or, of a
// refusal, that which refuses for longest.
type Taken struct {
	Decision
	tenant   string
	borrowed bool
	parts    [2]Decision // the tenant's, unless it has no limit, and then its parent's
}

// Borrowed reports whether it passed, but not by the tenant's guarantee.
func (t *Taken) Borrowed() bool { return t.borrowed }

// keys are as engines have them: of one hash tag.
func (t *Tenants) keys(tenant string) (own, parent string) {
	return "{" + t.key + "}:" + tenant, "{" + t.key + "}"
}

func (t *Tenants) planOf(tenant string) *Plan {
	if plan := t.plans[tenant]; plan != nil {
		return plan
	}
	return t.plans["*"]
}

// Take takes from the tenant and its parent if the permits are available now, and else none.
func (t *Tenants) Take(tenant string, cost uint64) *Taken {
	own, parent := t.keys(tenant)
	plan := t.planOf(tenant)
	taken := &Taken{tenant: tenant}
	if plan == nil {
		taken.Decision = t.table.Take(t.parent, parent, cost)
		taken.parts[0] = taken.Decision
		taken.borrowed = taken.Allowed()
		return taken
	}
	if plan.mixed || t.parent.mixed {
		taken.Decision = Decision{verdict: C.WEIR_NEVER}
		return taken
	}
	sizes := [2]C.size_t{C.size_t(len(own)), C.size_t(len(parent))}
	bytes := own + parent
	C.libweir_table_take_all(t.table.raw(), plan.raw(), t.parent.raw(), (*C.uchar)(unsafe.StringData(bytes)), &sizes[0], 2,
		C.uint64_t(cost), taken.parts[0].raw())
	taken.Decision = taken.parts[0]
	if second := taken.parts[1]; !second.Allowed() && (taken.Allowed() || waitsLonger(second, taken.Decision)) {
		taken.Decision = second
	}
	taken.borrowed = taken.Allowed() && (!plan.guarantees() || taken.Decision.Borrowed())
	return taken
}

func waitsLonger(one, other Decision) bool {
	return other.verdict == C.WEIR_DENY && (one.verdict != C.WEIR_DENY || one.retryNs > other.retryNs)
}

// Settle charges or refunds the difference to the actual cost; it works once.
func (t *Tenants) Settle(taken *Taken, actual uint64) {
	own, parent := t.keys(taken.tenant)
	if plan := t.planOf(taken.tenant); plan != nil {
		t.table.Settle(plan, own, &taken.parts[0], actual)
		t.table.Settle(t.parent, parent, &taken.parts[1], actual)
	} else {
		t.table.Settle(t.parent, parent, &taken.parts[0], actual)
	}
}

// Cancel gives back what was taken for an operation that never ran.
func (t *Tenants) Cancel(taken *Taken) { t.Settle(taken, 0) }
