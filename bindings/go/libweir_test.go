// SPDX-License-Identifier: MIT

package libweir

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const ms = 1_000_000

func TestErrorsSayWhatWeirSays(t *testing.T) {
	_, err := Parse("10/fortnight")
	var e *Error
	if !errors.As(err, &e) || e.Code != Invalid || e.Column != 4 || len(e.Message) < 20 {
		t.Errorf("%#v", err)
	}
	if want := "libweir: column 4: " + e.Message; err.Error() != want {
		t.Errorf("%q, not %q", err, want)
	}
	if _, err = Parse("10/s\x00 burst=5"); !errors.As(err, &e) || e.Column != 5 {
		t.Errorf("%#v", err)
	}
	if _, err = OpenTable(TableOptions{Path: t.TempDir() + "/a\x00b"}); !errors.As(err, &e) || e.Code != Invalid {
		t.Errorf("%#v", err)
	}
	_, err = OpenTable(TableOptions{Path: "/nowhere/at/all.weir"})
	if !errors.As(err, &e) || e.Code != System || !strings.Contains(e.Message, "/nowhere/at/all.weir") {
		t.Errorf("%#v", err)
	}
}

func TestPlan(t *testing.T) {
	plan := MustParse("10/s burst=20; 1000/h")
	if got := plan.String(); got != "10/s burst=20 algorithm=gcra; 1000/h burst=1000 algorithm=gcra" {
		t.Error(got)
	}
	if !strings.Contains(plan.Explain(), "20 pass at once") {
		t.Error(plan.Explain())
	}
}

// What Go's types cannot rule out is a panic, not a crash in C, and no permission.
func TestMisuse(t *testing.T) {
	plan, open, closed := MustParse("10/s"), newTable(t, TableOptions{Keys: 10}), newTable(t, TableOptions{Keys: 10})
	pacer := newPacer(t, "10/s")
	closed.Close()
	pacer.Close()
	for what, call := range map[string]func(){
		"nil plan":    func() { open.Take(nil, "key", 1) },
		"zero plan":   func() { open.Take(new(Plan), "key", 1) },
		"zero text":   func() { _ = new(Plan).String() },
		"zero state":  func() { NewState(new(Plan)) },
		"zero table":  func() { new(Table).Take(plan, "key", 1) },
		"short batch": func() { open.TakeBatch(plan, []string{"a", "b"}, 1, make([]Decision, 1)) },
		"take":        func() { closed.Take(plan, "key", 1) },
		"batch":       func() { closed.TakeBatch(plan, []string{"key"}, 1, make([]Decision, 1)) },
		"full":        func() { closed.Full(plan, Decision{}) },
		"fits":        func() { closed.Fits(plan) },
		"grow":        func() { closed.Grow(20) },
		"stats":       func() { closed.Stats() },
		"latency":     func() { pacer.Latency() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(what)
				}
			}()
			call()
		}()
	}
	long := strings.Repeat("key", 1_000_000)
	if d := open.Take(plan, long, math.MaxUint64); d.Verdict() != Never || !open.Take(plan, long, 10).Allowed() {
		t.Error(d)
	}
}

func TestState(t *testing.T) {
	state := NewState(MustParse("10/s burst=2"))
	if d := state.Take(0, 2); !d.Allowed() || state.Full(d) != 200*time.Millisecond {
		t.Error(d)
	}
	refused := state.Take(0, 1)
	if refused.Verdict() != Deny || refused.Retry() != 100*time.Millisecond || refused.RetryAfter() != 1 {
		t.Error(refused)
	}
	if got := refused.String(); got != "deny, delay 0s, retry 100ms, 0 remaining" {
		t.Error(got)
	}
	if d := state.Take(0, 3); d.Verdict() != Never || d.Retry() != 0 {
		t.Error(d)
	}
	d := state.Reserve(0, 1, InfDuration)
	if d.Delay() != 100*time.Millisecond {
		t.Error(d)
	}
	state.Settle(0, &d, 0)
	if d := state.Take(100*ms, 1); !d.Allowed() || d.Remaining() != 0 {
		t.Error(d)
	}
}

func TestHeaders(t *testing.T) {
	plan := MustParse("10/min")
	state := NewState(plan)
	d, header := state.Take(0, 10), http.Header{}
	plan.SetHeaders(header, d, state.Full(d))
	if header.Get("RateLimit-Policy") == "" || header.Get("RateLimit") == "" || header.Get("Retry-After") != "" {
		t.Error(header)
	}
	d = state.Take(0, 1)
	if plan.SetHeaders(header, d, state.Full(d)); header.Get("Retry-After") != "6" {
		t.Error(header)
	}
}

func newTable(t *testing.T, options TableOptions) *Table {
	t.Helper()
	table, err := OpenTable(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

func TestTable(t *testing.T) {
	table := newTable(t, TableOptions{Keys: 1000})
	plan := MustParse("1/h burst=3")
	for _, key := range []string{"alice", "bob", ""} {
		passed := 0
		for range 10 {
			if table.Take(plan, key, 1).Allowed() {
				passed++
			}
		}
		if passed != 3 {
			t.Errorf("%q: %d", key, passed)
		}
	}
	d := table.Reserve(plan, "carol", 3, 0)
	if table.Take(plan, "carol", 1).Allowed() {
		t.Error("more than the burst")
	}
	table.Settle(plan, "carol", &d, 1)
	if left := table.Peek(plan, "carol", 0).Remaining(); left != 2 || d.Charged() != 0 {
		t.Error(left, d.Charged())
	}
	if full := table.Full(plan, table.Charge(plan, "carol", 5)); full <= 5*time.Hour {
		t.Error(full)
	}
	table.Forget(plan, "carol")
	if err := table.Wait(t.Context(), plan, "carol", 3); err != nil {
		t.Error(err)
	}
	if stats := table.Stats(); stats.KeysLive != 4 || stats.Granted == 0 {
		t.Errorf("%+v", stats)
	}
	if err := table.Grow(5000); err != nil || table.Stats().KeysMax < 5000 {
		t.Error(err)
	}
}

func TestTableWait(t *testing.T) {
	table := newTable(t, TableOptions{Keys: 10})
	plan := MustParse("50/s burst=1")
	for range 3 {
		if err := table.Wait(t.Context(), plan, "key", 1); err != nil {
			t.Error(err)
		}
	}
	slow := MustParse("1/h burst=1")
	table.Take(slow, "slow", 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := table.Wait(ctx, slow, "slow", 1); err != ErrLimited {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if err := table.Wait(ctx, slow, "slow", 1); err != context.Canceled {
		t.Error(err)
	}
	if retry := table.Peek(slow, "slow", 1).Retry(); retry > time.Hour {
		t.Error("not given back:", retry)
	}
}

func newPacer(t *testing.T, limits string) *Pacer {
	t.Helper()
	pacer, err := NewPacer(limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pacer.Close() })
	return pacer
}

func TestPacer(t *testing.T) {
	pacer := newPacer(t, "1000/s")
	first, err := pacer.StartN(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	late, err := pacer.StartN(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for nth := range uint64(3) {
		if after := pacer.Due(&late, nth+1).Sub(pacer.Due(&first, 1)); after != time.Duration(nth+1)*ms {
			t.Error(nth, after)
		}
	}
	if since := time.Since(pacer.Due(&late, 1)); since < 19*time.Millisecond || since > time.Hour {
		t.Error(since)
	}
	pacer.Done(&late)
	due := pacer.Due(&late, 3)
	pacer.DoneAt(due, due.Add(2*ms), due.Add(time.Minute))
	latency := pacer.Latency()
	if service := latency.Service; service.Count != 2 || service.Max != time.Minute-2*ms {
		t.Errorf("%+v", service)
	}
	if response := latency.Response; response.Count != 2 || response.Min < 19*ms || response.Max != time.Minute {
		t.Errorf("%+v", response)
	}
	buckets := pacer.LatencyBuckets(Response)
	if last := buckets[1]; len(buckets) != 2 || last.Count != 1 || last.Most.Round(time.Second) != time.Minute {
		t.Error(buckets)
	}
}

func TestProfilesAndArrivals(t *testing.T) {
	for limits, want := range map[string][3]time.Duration{
		"100/s..1000/s for 30s":          {9985045, 19940358, 29866202},
		"1000/s arrivals=poisson seed=7": {645605, 1842473, 1903288},
	} {
		pacer := newPacer(t, limits)
		first, _ := pacer.StartN(t.Context(), 1)
		time.Sleep(50 * time.Millisecond)
		late, err := pacer.StartN(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range want {
			got := pacer.Due(&late, uint64(i)+1).Sub(pacer.Due(&first, 1))
			if (got - want).Abs() > 1 { // both are rounded to ns
				t.Error(limits, i, got)
			}
		}
	}
	pacer, starts := newPacer(t, "1000/s for 5ms then pause 5ms then 1000/s for 5ms"), 0
	for {
		done, err := pacer.Start(t.Context())
		if err == ErrLimited {
			break
		}
		done()
		starts++
	}
	if starts != 10 {
		t.Error(starts)
	}
}

func TestPacerRecords(t *testing.T) {
	pacer := newPacer(t, "2000/s")
	var group sync.WaitGroup
	for range 2000 {
		done, err := pacer.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		group.Add(1)
		go func() {
			defer group.Done()
			defer done()
		}()
	}
	group.Wait()
	latency := pacer.Latency()
	if latency.Response.Count != 2000 || latency.Service.Count != 2000 || latency.Response.Min > latency.Response.Max {
		t.Errorf("%+v", latency)
	}
	for i := range 3000 {
		at := time.Now()
		pacer.DoneAt(at, at, at.Add(time.Millisecond<<(i/200)+time.Duration(i%200)*(time.Millisecond<<(i/200))/200))
	}
	count := uint64(0)
	buckets := pacer.LatencyBuckets(Service)
	for _, bucket := range buckets {
		count += bucket.Count
	}
	if count != 5000 || len(buckets) <= 1024 {
		t.Error(count, len(buckets))
	}
}

func TestPacerIsGivenUp(t *testing.T) {
	pacer := newPacer(t, "1/h")
	if _, err := pacer.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if done, err := pacer.Start(ctx); err != ErrLimited {
		t.Error(err)
	} else {
		done()
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if done, err := pacer.Start(ctx); err != context.Canceled {
		t.Error(err)
	} else {
		done()
	}
	if latency := pacer.Latency(); latency.Response.Count != 0 {
		t.Errorf("%+v", latency)
	}
	var e *Error
	if _, err := NewPacer("10/fortnight"); !errors.As(err, &e) || e.Column != 4 {
		t.Error(err)
	}
}

func TestTableOfAnotherAlgorithm(t *testing.T) {
	plan := MustParse("5/h algorithm=fixed-window align=first")
	if err := newTable(t, TableOptions{Keys: 10}).Fits(plan); err == nil {
		t.Error("fits a table for gcra")
	}
	table := newTable(t, TableOptions{Path: filepath.Join(t.TempDir(), "wide.weir"), Keys: 10, Plan: plan})
	passed := 0
	for range 10 {
		if table.Take(plan, "key", 1).Allowed() {
			passed++
		}
	}
	if passed != 5 {
		t.Error(passed)
	}
}

func TestTakeBatch(t *testing.T) {
	table := newTable(t, TableOptions{Keys: 1000})
	plan := MustParse("1/h burst=2")
	var keys []string
	for i := range 600 {
		keys = append(keys, fmt.Sprint("a longer key ", i%200))
	}
	decisions := make([]Decision, len(keys))
	table.TakeBatch(plan, keys, 1, decisions)
	for i, d := range decisions {
		if d.Allowed() != (i < 400) {
			t.Fatal(i, d)
		}
	}
	table.TakeBatch(plan, nil, 1, nil)
}

// Goroutines, so that the race detector has something to see.
func TestTogether(t *testing.T) {
	table := newTable(t, TableOptions{Keys: 10})
	plan := MustParse("1/h burst=500")
	limiter := NewLimiter(1e-6, 500)
	leased := NewLimiter(1e-6, 500)
	var byTable, byLimiter, byLease atomic.Int64
	var group sync.WaitGroup
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			lease := leased.Lease(7)
			defer lease.Close()
			for range 400 {
				if table.Take(plan, "key", 1).Allowed() {
					byTable.Add(1)
				}
				if limiter.Allow() {
					byLimiter.Add(1)
				}
				if lease.Allow() {
					byLease.Add(1)
				}
			}
		}()
	}
	group.Wait()
	if byTable.Load() != 500 || byLimiter.Load() != 500 || byLease.Load() != 500 {
		t.Error(byTable.Load(), byLimiter.Load(), byLease.Load())
	}
}

func TestLimiterAtItsEdges(t *testing.T) {
	if new(Limiter).Allow() {
		t.Error("the zero limiter allows")
	}
	if NewLimiter(10, 0).Allow() || !NewLimiter(Inf, 0).Allow() {
		t.Error("a burst of 0")
	}
	if NewLimiter(10, 5).AllowN(time.Now(), -1) {
		t.Error("a negative n is allowed")
	}
	if r := NewLimiter(0, 1).ReserveN(time.Now(), 2); r.OK() || r.Delay() != InfDuration {
		t.Error("a limit of 0 refills")
	}
	huge := NewLimiter(1, math.MaxInt)
	if !huge.AllowN(time.Now(), 1_000_000_000) || huge.Burst() != math.MaxInt {
		t.Error("a huge burst is refused")
	}
	for _, limit := range []Limit{1.0 / 3, 0.7692307692307693, 1e9, 123456.789, 1e-9, 7, Every(7 * time.Millisecond)} {
		limiter, now := NewLimiter(limit, 2), time.Now()
		if !limiter.AllowN(now, 2) || limiter.AllowN(now, 1) {
			t.Error(limit)
		}
		want := 1e9 / float64(limit)
		if delay := limiter.ReserveN(now, 1).DelayFrom(now); math.Abs(float64(delay)-want) > 1+want*1e-14 {
			t.Error(limit, delay, want)
		}
	}
}

// What has been used stays used, also a part of a token.
func TestLimiterChanges(t *testing.T) {
	now := time.Now()
	limiter := NewLimiter(10, 4)
	limiter.AllowN(now, 3)
	limiter.SetLimitAt(now.Add(50*time.Millisecond), 1)
	for i, want := range []struct {
		tokens float64
		at     time.Duration
	}{{1.5, 50 * time.Millisecond}, {2, 550 * time.Millisecond}} {
		if got := limiter.TokensAt(now.Add(want.at)); math.Abs(got-want.tokens) > 1e-6 {
			t.Error(i, got)
		}
	}
	now = now.Add(550 * time.Millisecond)
	limiter.SetBurstAt(now, 1)
	if got := limiter.TokensAt(now); got != 1 {
		t.Error(got)
	}
	limiter.ReserveN(now, 1)
	limiter.ReserveN(now, 1)
	limiter.SetLimitAt(now, 0)
	if got := limiter.TokensAt(now.Add(time.Hour)); got != -1 {
		t.Error(got)
	}
}

func TestLeaseGivesBack(t *testing.T) {
	limiter := NewLimiter(1e-6, 10)
	lease := limiter.Lease(8)
	if !lease.Allow() || limiter.AllowN(time.Now(), 3) {
		t.Error("the lease holds no tokens")
	}
	lease.Close()
	if !limiter.AllowN(time.Now(), 9) || limiter.Allow() {
		t.Error("the lease gave back", limiter.Tokens())
	}
	if lease.Allow() {
		t.Error("from nothing")
	}
}

func TestMiddleware(t *testing.T) {
	table := newTable(t, TableOptions{Keys: 10})
	plan := MustParse("1/min burst=2")
	cost := uint64(1)
	handler := Middleware(func(r *http.Request) Decision {
		return table.Take(plan, Address(r), cost)
	})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") }))
	ask := func(address string) *httptest.ResponseRecorder {
		request, answer := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		request.RemoteAddr = address
		handler.ServeHTTP(answer, request)
		return answer
	}
	for range 2 {
		if answer := ask("[::1]:1234"); answer.Code != 200 || answer.Body.String() != "hello" {
			t.Error(answer)
		}
	}
	answer := ask("[::1]:4321")
	if retry := answer.Header().Get("Retry-After"); answer.Code != 429 || retry == "" || retry == "0" {
		t.Error(answer)
	}
	if answer := ask("10.0.0.1:1"); answer.Code != 200 {
		t.Error(answer)
	}
	cost = 3
	if answer := ask("10.0.0.2:1"); answer.Code != 429 || answer.Header().Get("Retry-After") != "" {
		t.Error(answer)
	}
}
