// SPDX-License-Identifier: MIT

// Package libweir is a rate limiter: may this operation start now, and if not, when?
//
// [Limiter] has the methods of golang.org/x/time/rate. [Table] has a limit for each key, in memory that several
// processes share. [Pacer] is for load tests. They are covers of weir, a library in C, whose manual pages say more;
// weir-limit(7) says how the text of a limit is written.
package libweir

//go:generate ../../tools/amalgamation .

/*
#cgo CFLAGS: -std=c11 -O2 -pthread -fvisibility=hidden -DWEIR_API=
#cgo LDFLAGS: -pthread
#cgo noescape libweir_decide
#cgo nocallback libweir_decide
#cgo noescape libweir_settle
#cgo nocallback libweir_settle
#cgo nocallback weir_decide_full_ns
#cgo noescape weir_decide_full_ns
#include <stdlib.h>
#include "libweir.h"
*/
import "C"

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// An Error is weir's: what is wrong, what was expected, and an example.
type Error struct {
	Code    Code
	Column  int // where the text of a limit is wrong, from 1; 0: the error is not in it
	Message string
}

// A Code is the kind of an [Error].
type Code int

const (
	Invalid     Code = C.WEIR_EINVAL
	Unsupported Code = C.WEIR_EUNSUPPORTED // valid, but not possible here
	Mismatch    Code = C.WEIR_EMISMATCH    // the file was made with other options
	Version     Code = C.WEIR_EVERSION     // the file is of another version of weir
	System      Code = C.WEIR_ESYSTEM      // the system refused
	NoMemory    Code = C.WEIR_ENOMEM
)

func (e *Error) Error() string {
	if e.Column > 0 {
		return fmt.Sprintf("libweir: column %d: %s", e.Column, e.Message)
	}
	return "libweir: " + e.Message
}

func errorOf(code C.int, e *C.weir_error) error {
	if code == 0 {
		return nil
	}
	return &Error{Code(code), int(e.column), C.GoString(&e.message[0])}
}

// A Plan is the text of a limit, parsed once: "10/s burst=20; 1000/h". It may be shared.
//
// Where its limits count several units ("60 requests/min; 100k tokens/min"), one number does not say of what: calls with
// such a cost return [Never], and those that end in Each take [Costs].
type Plan struct {
	plan   C.weir_plan
	parsed bool
	mixed  bool
}

// raw panics on the zero Plan, whose state would be no limit at all.
func (p *Plan) raw() *C.weir_plan {
	if !p.parsed {
		panic("libweir: a Plan that Parse has not made")
	}
	return &p.plan
}

// textForC is for the caller to free.
func textForC(limits string) (*C.char, error) {
	if at := strings.IndexByte(limits, 0); at >= 0 {
		return nil, &Error{Invalid, at + 1, "a NUL byte in a limit"}
	}
	return C.CString(limits), nil
}

// Parse parses the text of a limit; see weir-limit(7).
func Parse(limits string) (*Plan, error) {
	text, err := textForC(limits)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(text))
	plan := &Plan{parsed: true}
	var e C.weir_error
	if err := errorOf(C.weir_plan_parse(&plan.plan, text, C.WEIR_ADMIT, &e), &e); err != nil {
		return nil, err
	}
	units := plan.units()
	plan.mixed = slices.ContainsFunc(units, func(unit string) bool { return unit != units[0] })
	return plan, nil
}

// MustParse is Parse for texts that are known to be right: it panics on others.
func MustParse(limits string) *Plan {
	plan, err := Parse(limits)
	if err != nil {
		panic(err)
	}
	return plan
}

// String returns the text with all defaults written out.
func (p *Plan) String() string {
	return textOf(func(out *C.char, size C.size_t) C.size_t { return C.weir_plan_text(p.raw(), out, size) })
}

// Explain returns what the limit means in sentences, as `weir explain` prints it.
func (p *Plan) Explain() string {
	return textOf(func(out *C.char, size C.size_t) C.size_t { return C.weir_plan_explain(p.raw(), out, size) })
}

// Lease returns for how long its concurrent limit holds a slot that is not renewed; 0: it has no such limit.
func (p *Plan) Lease() time.Duration { return durationOf(uint64(C.weir_plan_lease_ns(p.raw()))) }

// guarantees reports whether it has a guaranteed limit, of a tenant.
func (p *Plan) guarantees() bool { return strings.Contains(p.String(), " guaranteed") }

func (p *Plan) isWeighed() bool { return strings.Contains(p.String(), " weight=") }

func (p *Plan) units() (units []string) {
	var unit [C.WEIR_UNIT_SIZE]C.char
	for i := C.int(0); bool(C.weir_plan_unit(p.raw(), i, &unit[0])); i++ {
		units = append(units, C.GoString(&unit[0]))
	}
	return units
}

// Costs are what a call costs of each limit of a plan.
type Costs struct {
	each [C.WEIR_LIMITS_MAX]C.uint64_t
}

// Costs returns what a call costs by unit: each is named, or costs 1 if it is "requests".
func (p *Plan) Costs(byUnit map[string]uint64) (costs Costs, err error) {
	units := p.units()
	for i, unit := range units {
		number, named := byUnit[unit]
		if !named && unit != "requests" {
			return costs, errorOfUnits(units, 1)
		}
		if !named {
			number = 1
		}
		costs.each[i] = C.uint64_t(number)
	}
	for unit, number := range byUnit {
		if !slices.Contains(units, unit) {
			return costs, &Error{Invalid, 0, "no limit counts " + unit + ": " + errorOfUnits(units, number).Message}
		}
	}
	return costs, nil
}

func errorOfUnits(units []string, number uint64) *Error {
	var known []string
	example := units[0]
	for _, unit := range units {
		if !slices.Contains(known, unit) {
			known = append(known, unit)
		}
		if example == "requests" {
			example = unit
		}
	}
	return &Error{Invalid, 0, fmt.Sprintf("limits count %s: write Costs(map[string]uint64{%q: %d})",
		strings.Join(known, " and "), example, number)}
}

func textOf(write func(*C.char, C.size_t) C.size_t) string {
	size := write(nil, 0) + 1
	text := (*C.char)(C.malloc(size))
	defer C.free(unsafe.Pointer(text))
	write(text, size)
	return C.GoString(text)
}

// A Verdict is a decision in one word.
type Verdict uint32

const (
	Allow Verdict = C.WEIR_ALLOW
	Deny  Verdict = C.WEIR_DENY  // not now
	Never Verdict = C.WEIR_NEVER // so many permits can never be had at once
)

func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	case Never:
		return "never"
	default:
		return "none"
	}
}

// A Decision is the answer to a take. The zero Decision allows nothing.
type Decision struct { // a weir_decision, whose layout is frozen
	verdict, limit                                                     uint32
	startNs, delayNs, retryNs, end, remaining, charged, reservedByWeir uint64
}

var _ = [1]struct{}{}[unsafe.Sizeof(Decision{})-C.sizeof_weir_decision]

func (d *Decision) raw() *C.weir_decision { return (*C.weir_decision)(unsafe.Pointer(d)) }

// Allowed reports whether the operation may start, after Delay.
func (d Decision) Allowed() bool { return d.verdict == C.WEIR_ALLOW }

func (d Decision) String() string {
	return fmt.Sprintf("%v, delay %v, retry %v, %d remaining", d.Verdict(), d.Delay(), d.Retry(), d.remaining)
}

// Verdict returns the answer in one word.
func (d Decision) Verdict() Verdict { return Verdict(d.verdict) }

// Delay returns how long to wait before an allowed operation starts; only a reservation has one.
func (d Decision) Delay() time.Duration { return durationOf(d.delayNs) }

// Retry returns after which time a denied call would pass, and no sooner, if no other comes first; else 0.
func (d Decision) Retry() time.Duration {
	if d.verdict != C.WEIR_DENY {
		return 0
	}
	return durationOf(d.retryNs)
}

// RetryAfter returns the same in whole seconds, rounded up, as the header Retry-After has it.
func (d Decision) RetryAfter() int64 {
	retry := d.Retry()
	return int64(retry/time.Second) + int64((retry%time.Second+time.Second-1)/time.Second)
}

// Remaining returns how many further permits are available now.
func (d Decision) Remaining() uint64 { return d.remaining }

// Borrowed reports, of a tenant, whether it took, but not from its guaranteed limit.
func (d Decision) Borrowed() bool { return d.Allowed() && d.reservedByWeir>>34&1 != 0 } // weir_borrowed of weir.h

// ID returns, under a concurrent limit, what renews and releases the slots that the decision holds.
func (d Decision) ID() uint64 { return d.end }

// Charged returns how many permits were taken from the first limit; 0 once settled.
func (d Decision) Charged() uint64 { return d.charged }

// Limit returns the index of the limit that refused, that set the start, or else that has the least remaining.
func (d Decision) Limit() int { return int(d.limit) }

// InfDuration is longer than any wait.
const InfDuration = time.Duration(math.MaxInt64)

func durationOf(ns uint64) time.Duration {
	return time.Duration(min(ns, math.MaxInt64))
}

// forever is WEIR_FOREVER.
func nsOf(wait time.Duration) C.uint64_t {
	if wait == InfDuration {
		return math.MaxUint64
	}
	return C.uint64_t(max(wait, 0))
}

// A State is the state of one subject under a plan, with a clock of your own, in ns from any beginning. It takes no
// lock: one goroutine at a time.
type State struct {
	plan  *Plan
	words []C.uint64_t
}

// NewState returns a state with all permits available.
func NewState(plan *Plan) *State {
	return &State{plan, make([]C.uint64_t, C.weir_state_size(plan.raw())/8)}
}

// Take takes permits if they are available now, and else none.
func (s *State) Take(nowNs, cost uint64) Decision {
	return s.Reserve(nowNs, cost, 0)
}

// Reserve takes permits that become available within that time.
func (s *State) Reserve(nowNs, cost uint64, delayMax time.Duration) (d Decision) {
	C.libweir_decide(&s.plan.plan, &s.words[0], C.uint64_t(nowNs), C.uint64_t(cost), nsOf(delayMax),
		d.raw())
	return d
}

// Renew holds the slots of a concurrent limit for a whole lease from then on; false: they are not held any more.
func (s *State) Renew(nowNs, id uint64) bool {
	now := C.weir_instant{ns: C.uint64_t(nowNs)}
	return bool(C.weir_decide_renew(&s.plan.plan, unsafe.Pointer(&s.words[0]), now, C.uint64_t(id)))
}

// Release ends them then; false: they are not held any more.
func (s *State) Release(nowNs, id uint64) bool {
	now := C.weir_instant{ns: C.uint64_t(nowNs)}
	return bool(C.weir_decide_release(&s.plan.plan, unsafe.Pointer(&s.words[0]), now, C.uint64_t(id)))
}

// Settle corrects a decision to the actual cost; it works once.
func (s *State) Settle(nowNs uint64, d *Decision, actual uint64) {
	C.libweir_settle(&s.plan.plan, &s.words[0], C.uint64_t(nowNs), d.raw(), C.uint64_t(actual))
}

// Full returns the time from a decision until all permits are back.
func (s *State) Full(d Decision) time.Duration {
	return durationOf(uint64(C.weir_decide_full_ns(&s.plan.plan, d.raw())))
}
