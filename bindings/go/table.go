// SPDX-License-Identifier: MIT

package libweir

/*
#cgo noescape libweir_table_call
#cgo nocallback libweir_table_call
#cgo noescape libweir_table_take_batch
#cgo nocallback libweir_table_take_batch
#include <stdlib.h>
#include "libweir.h"
*/
import "C"

import (
	"context"
	"errors"
	"strings"
	"time"
	"unsafe"
)

// A WhenFull says what a new key gets when every slot open to it is in use.
type WhenFull uint32

const (
	FullInherit WhenFull = C.WEIR_FULL_INHERIT // the slot with the least debt, and that debt: no key gets too much
	FullEvict   WhenFull = C.WEIR_FULL_EVICT   // the same slot, emptied
	FullDeny    WhenFull = C.WEIR_FULL_DENY    // a refusal
	FullAllow   WhenFull = C.WEIR_FULL_ALLOW   // it passes uncounted
)

// TableOptions says how a table is opened; a zero field is weir's default.
type TableOptions struct {
	Path      string        // a file that processes share and a restart keeps; "": this process alone
	Keys      uint64        // in use at once; 0 = 1,000,000
	WhenFull  WhenFull      // what a new key gets then
	Mode      uint32        // permissions of a new file: 0600, and others to read and write; 0 = 0600
	RefillMax time.Duration // the longest refill of a limit; 0 = 32 days
	Plan      *Plan         // for algorithms other than gcra: slots as large as this plan's state
	Coarse    bool          // a cheaper clock, some ms behind
}

// A Table has a state for each key: a client, an account, an address. Its methods may be called from any goroutine.
type Table struct {
	table *C.weir_table
	lines lines
}

// OpenTable opens a table, and makes its file if there is none.
func OpenTable(options TableOptions) (*Table, error) {
	o := C.weir_table_options{
		size:          C.sizeof_weir_table_options,
		keys_max:      C.uint64_t(options.Keys),
		when_full:     C.weir_when_full(options.WhenFull),
		mode:          C.uint(options.Mode),
		refill_max_ns: nsOf(options.RefillMax),
		sharing:       C.WEIR_PRIVATE,
	}
	if options.Coarse {
		o.clock = C.WEIR_CLOCK_COARSE
	}
	if strings.Contains(options.Path, "\x00") {
		return nil, &Error{Invalid, 0, "a NUL byte in TableOptions.Path"}
	}
	if options.Path != "" {
		o.sharing = C.WEIR_JOIN_OR_CREATE
		o.path = C.CString(options.Path)
		defer C.free(unsafe.Pointer(o.path))
	}
	if options.Plan != nil { // C may not keep a pointer to Go's memory within its own
		copied := (*C.weir_plan)(C.malloc(C.sizeof_weir_plan))
		defer C.free(unsafe.Pointer(copied))
		*copied = *options.Plan.raw()
		o.plan = copied
	}
	table := &Table{lines: lines{again: InfDuration}}
	if options.Path != "" {
		table.lines.again = lookAgain
	}
	var e C.weir_error
	if err := errorOf(C.weir_table_open(&table.table, &o, &e), &e); err != nil {
		return nil, err
	}
	return table, nil
}

// Close frees the table, after all other calls have returned; a file stays.
func (t *Table) Close() error {
	C.weir_table_close(t.table)
	t.table = nil
	return nil
}

// raw panics where C would crash.
func (t *Table) raw() *C.weir_table {
	if t.table == nil {
		panic("libweir: the table is closed")
	}
	return t.table
}

func (t *Table) call(call C.int, plan *Plan, key string, cost uint64, wait time.Duration, d *Decision) {
	C.libweir_table_call(t.raw(), call, plan.raw(), (*C.uchar)(unsafe.StringData(key)), C.size_t(len(key)),
		C.uint64_t(cost), nsOf(wait), d.raw())
}

// Take takes permits of a key if they are available now, and else none.
func (t *Table) Take(plan *Plan, key string, cost uint64) (d Decision) {
	if plan.mixed {
		return Decision{verdict: C.WEIR_NEVER}
	}
	t.call(C.LIBWEIR_TAKE, plan, key, cost, 0, &d)
	return d
}

// Reserve takes permits that become available within that time. It does not block: wait for Delay, or Cancel.
func (t *Table) Reserve(plan *Plan, key string, cost uint64, delayMax time.Duration) (d Decision) {
	if plan.mixed {
		return Decision{verdict: C.WEIR_NEVER}
	}
	t.call(C.LIBWEIR_RESERVE, plan, key, cost, delayMax, &d)
	return d
}

// ErrLimited is returned where a wait would end after the context, or never.
var ErrLimited = errors.New("libweir: the limit does not allow it in time")

// Wait blocks until the operation may start. It returns at once with ErrLimited if that is after the deadline of the
// context, and with the context's error, giving the permits back, if that ends first.
func (t *Table) Wait(ctx context.Context, plan *Plan, key string, cost uint64) error {
	if plan.Lease() != 0 {
		return &Error{Invalid, 0, "a concurrent limit is held: Hold, not Wait"}
	}
	_, err := waitFor(ctx,
		func(delayMax time.Duration) Decision { return t.Reserve(plan, key, cost, delayMax) },
		func(d *Decision) { t.Cancel(plan, key, d) })
	return err
}

func waitFor(ctx context.Context, reserve func(time.Duration) Decision, cancel func(*Decision)) (d Decision, _ error) {
	if err := ctx.Err(); err != nil {
		return d, err
	}
	d = reserve(timeLeft(ctx, time.Now()))
	if !d.Allowed() {
		return d, ErrLimited
	}
	if d.delayNs == 0 {
		return d, nil
	}
	timer := time.NewTimer(d.Delay())
	defer timer.Stop()
	select {
	case <-timer.C:
		return d, nil
	case <-ctx.Done():
		cancel(&d)
		return Decision{}, ctx.Err()
	}
}

func timeLeft(ctx context.Context, now time.Time) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return deadline.Sub(now)
	}
	return InfDuration
}

// Charge takes in any case; missing permits delay later calls.
func (t *Table) Charge(plan *Plan, key string, cost uint64) (d Decision) {
	if plan.mixed {
		return Decision{verdict: C.WEIR_NEVER}
	}
	t.call(C.LIBWEIR_CHARGE, plan, key, cost, 0, &d)
	return d
}

// Peek returns what Take would, and takes nothing.
func (t *Table) Peek(plan *Plan, key string, cost uint64) (d Decision) {
	t.call(C.LIBWEIR_PEEK, plan, key, cost, 0, &d)
	return d
}

// Settle charges or refunds the difference to the actual cost; it works once per decision.
func (t *Table) Settle(plan *Plan, key string, d *Decision, actual uint64) {
	t.call(C.LIBWEIR_SETTLE, plan, key, actual, 0, d)
	t.lines.ring(key)
}

// Cancel gives back what was taken for an operation that never ran.
func (t *Table) Cancel(plan *Plan, key string, d *Decision) {
	t.Settle(plan, key, d, 0)
}

// Forget gives all permits of a key back.
func (t *Table) Forget(plan *Plan, key string) {
	var d Decision
	t.call(C.LIBWEIR_FORGET, plan, key, 0, 0, &d)
	t.lines.ring(key)
}

// TakeBatch is Take for each of the keys, in one call of C, which is several times as fast. Each key has its decision
// in decisions, which is as long as keys.
func (t *Table) TakeBatch(plan *Plan, keys []string, cost uint64, decisions []Decision) {
	if len(keys) == 0 {
		return
	}
	if plan.mixed {
		for i := range keys {
			decisions[i] = Decision{verdict: C.WEIR_NEVER}
		}
		return
	}
	var keptSizes [64]C.size_t
	var keptBytes [64 * 16]byte
	sizes, bytes := keptSizes[:0], keptBytes[:0]
	for _, key := range keys {
		sizes = append(sizes, C.size_t(len(key)))
		bytes = append(bytes, key...)
	}
	decisions = decisions[:len(keys)]
	C.libweir_table_take_batch(t.raw(), plan.raw(), (*C.uchar)(unsafe.SliceData(bytes)), &sizes[0],
		C.size_t(len(keys)), C.uint64_t(cost), decisions[0].raw())
}

// Full returns the time from a decision until its limit has all permits again: the reset of response headers.
func (t *Table) Full(plan *Plan, d Decision) time.Duration {
	return durationOf(uint64(C.weir_table_full_ns(t.raw(), plan.raw(), d.raw())))
}

// Fits returns an error if this table cannot enforce the plan; a Take with such a plan returns Never.
func (t *Table) Fits(plan *Plan) error {
	var e C.weir_error
	return errorOf(C.weir_table_fits(t.raw(), plan.raw(), &e), &e)
}

// Grow makes room for more keys while the table is in use.
func (t *Table) Grow(keys uint64) error {
	var e C.weir_error
	return errorOf(C.weir_table_grow(t.raw(), C.uint64_t(keys), &e), &e)
}

// TableStats counts; from Granted on, what went through this handle.
type TableStats struct {
	KeysLive  uint64 // keys that have used permits and are not full again
	KeysMax   uint64 // as opened, or grown
	Bytes     uint64 // of memory
	Granted   uint64 // permits taken
	Denied    uint64 // calls refused
	Reclaimed uint64 // new keys that got an idle slot
	Full      uint64 // new keys that found none
	Displaced uint64 // keys that lost theirs to another
	Moved     uint64 // keys moved after growth
	Stuck     uint64 // calls refused because another process kept a lock
}

var _ = [1]struct{}{}[unsafe.Sizeof(TableStats{})-C.sizeof_weir_table_stats]

// Stats returns counts of the table.
func (t *Table) Stats() (stats TableStats) {
	C.weir_table_read_stats(t.raw(), (*C.weir_table_stats)(unsafe.Pointer(&stats)), C.sizeof_weir_table_stats)
	return stats
}
