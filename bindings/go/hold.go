// SPDX-License-Identifier: MIT

package libweir

/*
#cgo noescape libweir_table_hold
#cgo nocallback libweir_table_hold
#cgo noescape libweir_table_reserve_each
#cgo nocallback libweir_table_reserve_each
#cgo noescape libweir_table_settle_each
#cgo nocallback libweir_table_settle_each
#include "libweir.h"
*/
import "C"

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// ---- waiting for slots ----

// lookAgain is how often the first in a line asks whether another process has given a slot back.
const lookAgain = 10 * time.Millisecond

// lines are who waits for slots of a key, in the order of their calls. The first one tries: when this process gives a
// slot back, when a lease is over and, of a file, now and then.
type lines struct {
	again   time.Duration
	count   atomic.Int64 // of those who wait
	mu      sync.Mutex
	waiting map[string][]chan struct{}
}

func (l *lines) join(key string) chan struct{} {
	bell := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		l.waiting = make(map[string][]chan struct{})
	}
	l.waiting[key] = append(l.waiting[key], bell)
	l.count.Add(1)
	return bell
}

func (l *lines) isFirst(key string, bell chan struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting[key][0] == bell
}

func (l *lines) leave(key string, bell chan struct{}) {
	l.mu.Lock()
	line := l.waiting[key]
	if len(line) == 1 {
		delete(l.waiting, key)
	} else {
		l.waiting[key] = slices.Delete(line, slices.Index(line, bell), slices.Index(line, bell)+1)
	}
	l.count.Add(-1)
	l.mu.Unlock()
	l.ring(key)
}

// ring says that a slot may be free.
func (l *lines) ring(key string) {
	if l.count.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if line := l.waiting[key]; len(line) > 0 {
		select {
		case line[0] <- struct{}{}:
		default: // it has not heard the last one yet
		}
	}
}

func (l *lines) wait(ctx context.Context, key string, take func() Decision) (d Decision, err error) {
	bell := l.join(key)
	defer l.leave(key, bell)
	for ctx.Err() == nil {
		again := InfDuration
		if l.isFirst(key, bell) {
			if d = take(); d.Allowed() {
				return d, nil
			}
			if d.verdict != C.WEIR_DENY {
				return d, &Refused{d, ErrLimited}
			}
			again = min(d.Retry(), l.again)
		}
		timer := time.NewTimer(again)
		select {
		case <-bell:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return d, &Refused{d, ctx.Err()}
}

// Refused is why nothing is held: the context has ended first, or errors.Is(err, ErrLimited).
type Refused struct {
	Decision Decision // the last one; none if others were ahead of this call
	cause    error
}

func (r *Refused) Error() string { return fmt.Sprintf("%v (%v)", r.cause, r.Decision) }

func (r *Refused) Unwrap() error { return r.cause }

// Retry returns after which time the call would pass, at the latest, if no other comes first; 0: never, or not known.
func (r *Refused) Retry() time.Duration { return r.Decision.Retry() }

// ---- holding ----

// A Hold is of slots of a concurrent limit. Release it, by defer say; what runs for longer than a lease renews it. A
// hold whose process dies is free when the lease is over; of a table in a file at once when the process has ended.
type Hold struct {
	table    *Table
	plan     *Plan
	key      string
	decision Decision
	released atomic.Bool
	over     chan struct{}
}

// ID returns what renews and releases it elsewhere, too: in another process, of a table.
func (h *Hold) ID() uint64 { return h.decision.ID() }

// Decision returns the decision by which it is held.
func (h *Hold) Decision() Decision { return h.decision }

// Renew holds it for a whole lease from now on; false: it is not held any more, and nothing is done.
func (h *Hold) Renew() bool { return h.table.Renew(h.plan, h.key, h.ID()) }

// Release ends it now; false: it was not held any more, and others may have had the slots meanwhile.
func (h *Hold) Release() bool {
	if h.released.Swap(true) {
		return false
	}
	close(h.over)
	return h.table.Release(h.plan, h.key, h.ID())
}

// Keep renews it for each third of a lease until it is released or the context ends: go hold.Keep(ctx). It returns
// false if the lease was over before.
func (h *Hold) Keep(ctx context.Context) bool {
	ticker := time.NewTicker(max(h.plan.Lease()/3, 1))
	defer ticker.Stop()
	for {
		select {
		case <-h.over:
			return true
		case <-ctx.Done():
			return true
		case <-ticker.C:
			if !h.Renew() {
				return h.released.Load()
			}
		}
	}
}

func (t *Table) hold(ctx context.Context, plan *Plan, key string, take func() Decision) (*Hold, error) {
	if plan.Lease() == 0 {
		return nil, &Error{Invalid, 0,
			fmt.Sprintf("no limit of %q is concurrent; for example 20 concurrent lease=30s", plan)}
	}
	d, err := t.lines.wait(ctx, key, take)
	if err != nil {
		return nil, err
	}
	return &Hold{table: t, plan: plan, key: key, decision: d, over: make(chan struct{})}, nil
}

// Hold holds slots of a concurrent limit, for all processes. It waits until they are free, in the order of the calls,
// or until the context ends; the error is then a [*Refused].
func (t *Table) Hold(ctx context.Context, plan *Plan, key string, cost uint64) (*Hold, error) {
	return t.hold(ctx, plan, key, func() Decision { return t.Take(plan, key, cost) })
}

// HoldEach is Hold by costs of each limit.
func (t *Table) HoldEach(ctx context.Context, plan *Plan, key string, costs Costs) (*Hold, error) {
	return t.hold(ctx, plan, key, func() Decision { return t.TakeEach(plan, key, costs).Decision })
}

// TryHold is Hold without waiting.
func (t *Table) TryHold(plan *Plan, key string, cost uint64) (*Hold, error) {
	d := Decision{verdict: C.WEIR_NEVER}
	if plan.Lease() != 0 {
		d = t.Take(plan, key, cost)
	}
	if !d.Allowed() {
		return nil, &Refused{d, ErrLimited}
	}
	return &Hold{table: t, plan: plan, key: key, decision: d, over: make(chan struct{})}, nil
}

func (t *Table) renewOrRelease(plan *Plan, key string, id uint64, renew bool) bool {
	return bool(C.libweir_table_hold(t.raw(), plan.raw(), (*C.uchar)(unsafe.StringData(key)), C.size_t(len(key)),
		C.uint64_t(id), C.bool(renew)))
}

// Renew holds the slots with this id for a whole lease from now on; false: they are not held any more.
func (t *Table) Renew(plan *Plan, key string, id uint64) bool {
	return t.renewOrRelease(plan, key, id, true)
}

// Release ends them now; false: they are not held any more.
func (t *Table) Release(plan *Plan, key string, id uint64) bool {
	released := t.renewOrRelease(plan, key, id, false)
	t.lines.ring(key)
	return released
}

// A Semaphore is a concurrent limit of this process, and what else its text says: "20 concurrent lease=30s; 100/s".
type Semaphore struct {
	table *Table
	plan  *Plan
}

// NewSemaphore returns a semaphore for the text of a limit.
func NewSemaphore(limits string) (*Semaphore, error) {
	plan, err := Parse(limits)
	if err != nil {
		return nil, err
	}
	table, err := OpenTable(TableOptions{Plan: plan, Keys: 1})
	if err != nil {
		return nil, err
	}
	return &Semaphore{table, plan}, nil
}

// Close frees it, after all holds are released and all other calls have returned.
func (s *Semaphore) Close() error { return s.table.Close() }

// Hold holds slots. It waits until they are free, in the order of the calls, or until the context ends; the error is
// then a [*Refused].
func (s *Semaphore) Hold(ctx context.Context, cost uint64) (*Hold, error) {
	return s.table.Hold(ctx, s.plan, "", cost)
}

// TryHold is Hold without waiting.
func (s *Semaphore) TryHold(cost uint64) (*Hold, error) { return s.table.TryHold(s.plan, "", cost) }

// ---- costs by unit ----

// An EachDecision is a decision by costs of each limit, which is settled by such costs.
type EachDecision struct {
	Decision
	costs Costs
	ends  [C.WEIR_LIMITS_MAX]C.uint64_t
}

// TakeEach takes what the call costs of each limit if that is available now, and else nothing.
func (t *Table) TakeEach(plan *Plan, key string, costs Costs) EachDecision {
	return t.ReserveEach(plan, key, costs, 0)
}

// ReserveEach takes what becomes available within that time. It does not block: wait for Delay, or CancelEach.
func (t *Table) ReserveEach(plan *Plan, key string, costs Costs, delayMax time.Duration) EachDecision {
	d := EachDecision{costs: costs}
	C.libweir_table_reserve_each(t.raw(), plan.raw(), (*C.uchar)(unsafe.StringData(key)), C.size_t(len(key)),
		&d.costs.each[0], &d.ends[0], nsOf(delayMax), d.raw())
	return d
}

// WaitEach is Wait by costs of each limit.
func (t *Table) WaitEach(ctx context.Context, plan *Plan, key string, costs Costs) (each EachDecision, _ error) {
	_, err := waitFor(ctx, func(delayMax time.Duration) Decision {
		each = t.ReserveEach(plan, key, costs, delayMax)
		return each.Decision
	}, func(*Decision) { t.CancelEach(plan, key, &each) })
	return each, err
}

// SettleEach charges or refunds the difference to the actual costs; it works once per decision.
func (t *Table) SettleEach(plan *Plan, key string, d *EachDecision, actual Costs) {
	C.libweir_table_settle_each(t.raw(), plan.raw(), (*C.uchar)(unsafe.StringData(key)), C.size_t(len(key)),
		&d.costs.each[0], &actual.each[0], &d.ends[0], d.raw())
	t.lines.ring(key)
}

// CancelEach gives back what was taken for an operation that never ran.
func (t *Table) CancelEach(plan *Plan, key string, d *EachDecision) {
	t.SettleEach(plan, key, d, Costs{})
}
