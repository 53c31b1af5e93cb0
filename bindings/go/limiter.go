// SPDX-License-Identifier: MIT

//go:build cgo

package libweir

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"
)

// Limit is a number of events per second, as in golang.org/x/time/rate. A zero Limit refills nothing.
type Limit float64

// Inf is the infinite rate: it allows all events.
const Inf = Limit(math.MaxFloat64)

// Every converts the time between two events to a Limit.
func Every(interval time.Duration) Limit {
	if interval <= 0 {
		return Inf
	}
	return 1 / Limit(interval.Seconds())
}

// A Limiter allows events up to a rate, and bursts; it has the methods of golang.org/x/time/rate's, and weir's
// arithmetic: whole ns instead of floating point. It differs where that one lets too many pass: a time before an
// earlier one gains nothing here, and a negative n is refused.
//
// The zero Limiter refuses all events. Its methods may be called from any goroutine.
type Limiter struct {
	mu    sync.Mutex
	limit Limit
	burst int
	state *State // nil: the burst is 0 or the limit is Inf
	// The time at which the state's clock is at beginning; it is set by the first call.
	epoch time.Time
	// Set while the limit is 0, or refills in more than 300 years: then time stands still.
	stopped bool
	// The rate of the state: the limit, or any while time stands still.
	perSecond float64
	// The latest time to act that was given; CancelAt needs it.
	lastEvent time.Time
}

// beginning of a state's clock, in ns: so long before the first call a state can be said to have been used.
const beginning = 1 << 50

// NewLimiter returns a limiter of that rate whose burst is available.
func NewLimiter(r Limit, b int) *Limiter {
	lim := new(Limiter)
	lim.set(r, b)
	return lim
}

// Limit returns the rate.
func (lim *Limiter) Limit() Limit {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	return lim.limit
}

// Burst returns the most events that may pass at once.
func (lim *Limiter) Burst() int {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	return lim.burst
}

// Tokens is TokensAt(time.Now()).
func (lim *Limiter) Tokens() float64 { return lim.TokensAt(time.Now()) }

// TokensAt returns how many tokens are available then; below 0 are those that were reserved from later times.
func (lim *Limiter) TokensAt(t time.Time) float64 {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	return lim.tokensAt(t)
}

// Allow is AllowN(time.Now(), 1).
func (lim *Limiter) Allow() bool { return lim.AllowN(time.Now(), 1) }

// AllowN reports whether n events may happen at that time, and takes their tokens if so.
func (lim *Limiter) AllowN(t time.Time, n int) bool {
	return lim.reserveN(t, n, 0).ok
}

// Reserve is ReserveN(time.Now(), 1).
func (lim *Limiter) Reserve() *Reservation { return lim.ReserveN(time.Now(), 1) }

// ReserveN takes the tokens of n events, and says how long to wait before they happen. It is not OK if they never may.
func (lim *Limiter) ReserveN(t time.Time, n int) *Reservation {
	r := lim.reserveN(t, n, InfDuration)
	return &r
}

// Wait is WaitN(ctx, 1).
func (lim *Limiter) Wait(ctx context.Context) error { return lim.WaitN(ctx, 1) }

// WaitN blocks until n events may happen. It returns an error if n exceeds the burst, if the context ends first, or at
// once if its deadline would come first.
func (lim *Limiter) WaitN(ctx context.Context, n int) error {
	newTimer := func(d time.Duration) (<-chan time.Time, func() bool, func()) {
		timer := time.NewTimer(d)
		return timer.C, timer.Stop, func() {}
	}
	return lim.wait(ctx, n, time.Now(), newTimer)
}

// The timer is an argument for the sake of x/time/rate's tests, which call wait.
func (lim *Limiter) wait(ctx context.Context, n int, t time.Time,
	newTimer func(time.Duration) (<-chan time.Time, func() bool, func())) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := lim.reserveN(t, n, timeLeft(ctx, t))
	if !r.ok {
		if burst := lim.Burst(); n > burst {
			return fmt.Errorf("libweir: Wait(n=%d) exceeds limiter's burst %d", n, burst)
		}
		return fmt.Errorf("libweir: Wait(n=%d) would exceed context deadline", n)
	}
	delay := r.DelayFrom(t)
	if delay == 0 {
		return nil
	}
	fired, stop, advance := newTimer(delay)
	defer stop()
	advance()
	select {
	case <-fired:
		return nil
	case <-ctx.Done():
		r.Cancel()
		return ctx.Err()
	}
}

// SetLimit is SetLimitAt(time.Now(), newLimit).
func (lim *Limiter) SetLimit(newLimit Limit) { lim.SetLimitAt(time.Now(), newLimit) }

// SetLimitAt changes the rate; the number of tokens stays, and so do reservations.
func (lim *Limiter) SetLimitAt(t time.Time, newLimit Limit) {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	lim.change(t, newLimit, lim.burst)
}

// SetBurst is SetBurstAt(time.Now(), newBurst).
func (lim *Limiter) SetBurst(newBurst int) { lim.SetBurstAt(time.Now(), newBurst) }

// SetBurstAt changes the burst; the number of tokens stays, up to the new burst, and so do reservations.
func (lim *Limiter) SetBurstAt(t time.Time, newBurst int) {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	lim.change(t, lim.limit, newBurst)
}

// A Reservation is of events that may happen after a delay.
type Reservation struct {
	ok        bool
	lim       *Limiter
	tokens    int
	timeToAct time.Time
	limit     Limit // when it was made
}

// OK reports whether the events may ever happen. If not, Delay is InfDuration, and Cancel does nothing.
func (r *Reservation) OK() bool { return r.ok }

// Delay is DelayFrom(time.Now()).
func (r *Reservation) Delay() time.Duration { return r.DelayFrom(time.Now()) }

// DelayFrom returns how long to wait from that time.
func (r *Reservation) DelayFrom(t time.Time) time.Duration {
	if !r.ok {
		return InfDuration
	}
	return max(r.timeToAct.Sub(t), 0)
}

// Cancel is CancelAt(time.Now()).
func (r *Reservation) Cancel() { r.CancelAt(time.Now()) }

// CancelAt gives the tokens back, except for those that later reservations have taken and that time has restored.
func (r *Reservation) CancelAt(t time.Time) {
	if !r.ok || r.tokens == 0 || r.timeToAct.Before(t) {
		return
	}
	lim := r.lim
	lim.mu.Lock()
	defer lim.mu.Unlock()
	if lim.state == nil || r.limit <= 0 {
		return
	}
	later := lim.lastEvent.Sub(r.timeToAct).Seconds() * float64(r.limit)
	restored := float64(r.tokens) - later
	if restored <= 0 {
		return
	}
	lim.put(t, lim.tokensAt(t)+restored)
	if previous := r.timeToAct.Add(-secondsOf(float64(r.tokens) / float64(r.limit))); later == 0 && !previous.Before(t) {
		lim.lastEvent = previous
	}
}

// ---- the state, under the lock ----

func (lim *Limiter) reserveN(t time.Time, n int, delayMax time.Duration) Reservation {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	r := Reservation{lim: lim, limit: lim.limit}
	switch {
	case n < 0 || lim.state == nil:
		r.ok = n >= 0 && lim.limit == Inf || n == 0
		if !r.ok {
			return r
		}
		r.timeToAct = t
	default:
		if lim.stopped {
			delayMax = 0
		}
		d := lim.state.Reserve(lim.ns(t), uint64(n), delayMax)
		if !d.Allowed() {
			return r
		}
		r.ok = true
		if r.timeToAct = t; d.delayNs > 0 {
			r.timeToAct = t.Add(d.Delay())
		}
		lim.lastEvent = r.timeToAct
	}
	r.tokens = n
	return r
}

// ns is that time on the state's clock.
func (lim *Limiter) ns(t time.Time) uint64 {
	if lim.stopped {
		return beginning
	}
	if lim.epoch.IsZero() {
		lim.epoch = t
	}
	return uint64(max(int64(t.Sub(lim.epoch)), -beginning) + beginning)
}

func (lim *Limiter) tokensAt(t time.Time) float64 {
	if lim.state == nil {
		return float64(max(lim.burst, 0))
	}
	full := lim.state.Full(lim.state.Take(lim.ns(t), 0))
	return float64(lim.burst) - float64(full)*lim.perSecond/1e9
}

func (lim *Limiter) change(t time.Time, limit Limit, burst int) {
	tokens := lim.tokensAt(t)
	lim.set(limit, burst)
	lim.put(t, tokens)
}

// put makes a state with so many tokens: one that was used before, or that will be drained later.
func (lim *Limiter) put(t time.Time, tokens float64) {
	if lim.state == nil {
		return
	}
	clear(lim.state.words)
	used := float64(lim.burst) - tokens
	if used <= 0 {
		return
	}
	cost := math.Min(math.Ceil(used), float64(lim.burst))
	at := float64(lim.ns(t)) + math.Round((used-cost)/lim.perSecond*1e9)
	lim.state.Take(uint64(math.Max(at, 0)), uint64(cost))
}

// set makes a fresh state of that limit.
func (lim *Limiter) set(limit Limit, burst int) {
	lim.limit, lim.burst, lim.state = limit, burst, nil
	if limit == Inf || burst <= 0 {
		return
	}
	for _, perSecond := range []float64{float64(limit), 1, 1e9} { // the last holds 2^62, which is no less than any
		if plan, err := planOf(perSecond, min(burst, 1<<62)); perSecond > 0 && err == nil {
			lim.state, lim.perSecond, lim.stopped = NewState(plan), perSecond, perSecond != float64(limit)
			return
		}
	}
}

// planOf writes the rate as the whole ns between two events, if that is what it came from, or else in decimals.
func planOf(perSecond float64, burst int) (*Plan, error) {
	rate := strconv.FormatFloat(perSecond, 'f', -1, 64) + "/s"
	const precise = 15 // significant digits that a float64 always has
	if interval := math.Round(1e9 / perSecond); interval >= 1 && interval < 1<<53 && 1e9/interval == perSecond {
		rate = fmt.Sprintf("1/%.0fns", interval)
	} else if len(rate) > precise+3 {
		short, _ := strconv.ParseFloat(strconv.FormatFloat(perSecond, 'g', precise, 64), 64)
		rate = strconv.FormatFloat(short, 'f', -1, 64) + "/s"
	}
	return Parse(fmt.Sprintf("%s burst=%d algorithm=gcra", rate, burst))
}

func secondsOf(seconds float64) time.Duration {
	return time.Duration(math.Min(seconds*1e9, math.MaxInt64/2))
}

// ---- leases ----

// A Lease holds some tokens of a limiter for one goroutine: most calls of Allow are a subtraction, without a lock, a
// clock or C. Tokens in a lease are missing elsewhere, and start later than they were taken: each open lease can let
// its size pass beyond what the limit allows in a window.
type Lease struct {
	lim   *Limiter
	size  int
	left  int
	taken Decision
	state *State // of taken: a changed limit takes nothing back
}

// Lease returns a lease that takes n tokens at a time. It belongs to one goroutine; close it.
func (lim *Limiter) Lease(n int) *Lease { return &Lease{lim: lim, size: n} }

// Allow reports whether an event may happen now.
func (l *Lease) Allow() bool {
	if l.left > 0 {
		l.left--
		return true
	}
	return l.renew()
}

func (l *Lease) renew() bool {
	t, lim := time.Now(), l.lim
	lim.mu.Lock()
	state := lim.state
	size := max(min(l.size, lim.burst), 1)
	if state != nil {
		l.state, l.taken = state, state.Take(lim.ns(t), uint64(size))
	}
	lim.mu.Unlock()
	if state == nil || !l.taken.Allowed() {
		none := state != nil && l.taken.remaining == 0
		return !none && lim.AllowN(t, 1) // fewer than the size, one by one
	}
	l.left = size - 1
	return true
}

// Close gives unused tokens back, except for those that time has restored.
func (l *Lease) Close() {
	l.lim.mu.Lock()
	defer l.lim.mu.Unlock()
	if l.left > 0 && l.state == l.lim.state {
		l.state.Settle(l.lim.ns(time.Now()), &l.taken, l.taken.charged-uint64(l.left))
	}
	l.left = 0
}
