// SPDX-License-Identifier: MIT

package libweir

/*
#include <stdlib.h>
#include "libweir.h"
*/
import "C"

import (
	"context"
	"time"
	"unsafe"
)

// A Pacer starts operations on a schedule, which starts that were late do not move, and records how long they take.
// Its methods may be called from any goroutine.
type Pacer struct {
	limiter *C.weir_limiter
	// The same moment on Go's clock and on weir's.
	epoch   time.Time
	epochNs uint64
}

// NewPacer returns a pacer for the text of a limit: a rate, a profile ("100/s for 1min then ..1000/s for 30s"), or
// "1000/s arrivals=poisson seed=7"; see weir-limit(7).
func NewPacer(limits string) (*Pacer, error) {
	text, err := textForC(limits)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(text))
	options := C.weir_options{size: C.sizeof_weir_options, use: C.WEIR_PACE}
	pacer := &Pacer{epochNs: uint64(C.weir_now().ns), epoch: time.Now()}
	var e C.weir_error
	if err := errorOf(C.weir_open(&pacer.limiter, text, &options, &e), &e); err != nil {
		return nil, err
	}
	return pacer, nil
}

// Close frees the pacer, after all operations are done and all other calls have returned.
func (p *Pacer) Close() error {
	C.weir_close(p.limiter)
	p.limiter = nil
	return nil
}

// raw panics where C would crash.
func (p *Pacer) raw() *C.weir_limiter {
	if p.limiter == nil {
		panic("libweir: the pacer is closed")
	}
	return p.limiter
}

// Start blocks until the next operation may start. When it has ended, call done, once. Start returns ErrLimited at
// once if the start is after the deadline of the context or a profile has ended, and the context's error if that ends
// first.
func (p *Pacer) Start(ctx context.Context) (done func(), err error) {
	d, err := p.StartN(ctx, 1)
	return func() { p.Done(&d) }, err
}

// StartN is Start for n operations that start together, or whose decision you want.
func (p *Pacer) StartN(ctx context.Context, n uint64) (Decision, error) {
	return waitFor(ctx, func(delayMax time.Duration) (d Decision) {
		*d.raw() = C.weir_reserve(p.raw(), C.uint64_t(n), nsOf(delayMax))
		return d
	}, func(d *Decision) { C.weir_cancel(p.raw(), d.raw()) })
}

// Due returns when the nth operation of a decision, from 1, was due by the schedule. It is late by time.Since(that).
func (p *Pacer) Due(d *Decision, nth uint64) time.Time {
	return p.epoch.Add(time.Duration(uint64(C.weir_due(p.raw(), d.raw(), C.uint64_t(nth)).ns) - p.epochNs))
}

// Done records how long the operation of a decision took, which has ended now.
func (p *Pacer) Done(d *Decision) { C.weir_done(p.raw(), d.raw()) }

// DoneAt is Done in times that you know better.
func (p *Pacer) DoneAt(due, start, end time.Time) {
	C.weir_done_at(p.raw(), p.instant(due), p.instant(start), p.instant(end))
}

func (p *Pacer) instant(t time.Time) C.weir_instant {
	return C.weir_instant{ns: C.uint64_t(p.epochNs + uint64(t.Sub(p.epoch)))}
}

// Latency is what was recorded.
type Latency struct {
	Response Times // from when each operation was due to its end: an operation that waited for its turn says so
	Service  Times // from the start of each
}

// Times are of Count operations; a percentile is never below the true one, and at most 0.1 % above it.
type Times struct {
	Count                                uint64
	Total, Min, P50, P90, P99, P999, Max time.Duration
}

var _ = [1]struct{}{}[unsafe.Sizeof(Latency{})-C.sizeof_weir_latency]

// Latency returns what was recorded.
func (p *Pacer) Latency() (latency Latency) {
	C.weir_read_latency(p.raw(), (*C.weir_latency)(unsafe.Pointer(&latency)), C.sizeof_weir_latency)
	return latency
}

// A Bucket counts times; as RecordValues of HdrHistogram takes them.
type Bucket struct {
	Most  time.Duration // the longest that falls into it
	Count uint64
}

var _ = [1]struct{}{}[unsafe.Sizeof(Bucket{})-C.sizeof_weir_bucket]

// A Measure is one of the two times of an operation.
type Measure uint32

const (
	Response Measure = C.WEIR_RESPONSE
	Service  Measure = C.WEIR_SERVICE
)

// LatencyBuckets returns all that was recorded, the shortest times first.
func (p *Pacer) LatencyBuckets(measure Measure) []Bucket {
	for buckets := make([]Bucket, 1024); ; buckets = make([]Bucket, 2*len(buckets)) {
		count := int(C.weir_read_buckets(p.raw(), C.weir_measure(measure), (*C.weir_bucket)(unsafe.Pointer(&buckets[0])),
			C.size_t(len(buckets))))
		if count <= len(buckets) {
			return buckets[:count]
		}
	}
}
