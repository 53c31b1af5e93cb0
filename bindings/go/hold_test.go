// SPDX-License-Identifier: MIT

package libweir

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	oneAtOnce = "1 concurrent lease=1h"
	llm       = "60 requests/min; 1k tokens/min"
)

func wide(t *testing.T, limits string) (*Table, *Plan) {
	t.Helper()
	plan := MustParse(limits)
	return newTable(t, TableOptions{Keys: 100, Plan: plan}), plan
}

func TestHold(t *testing.T) {
	sem, err := NewSemaphore("2 concurrent lease=1h")
	if err != nil {
		t.Fatal(err)
	}
	defer sem.Close()
	first, _ := sem.Hold(t.Context(), 1)
	second, _ := sem.TryHold(1)
	_, err = sem.TryHold(1)
	var refused *Refused
	if !errors.As(err, &refused) || !errors.Is(err, ErrLimited) || refused.Retry() < 3590*time.Second {
		t.Fatal(err)
	}
	if first.ID() == second.ID() || !first.Renew() || !first.Release() || first.Release() || first.Renew() {
		t.Fatal("a hold is released once")
	}
	if _, err := sem.TryHold(2); err == nil {
		t.Fatal("one is held")
	}
	if !second.Release() {
		t.Fatal("it was held")
	}
	if _, err := sem.TryHold(2); err != nil {
		t.Fatal(err)
	}
	if _, err := sem.Hold(t.Context(), 3); !errors.Is(err, ErrLimited) {
		t.Fatal("three can never be had", err)
	}
}

func TestOnlyAConcurrentLimitIsHeld(t *testing.T) {
	table, plan := newTable(t, TableOptions{Keys: 100}), MustParse("10/s")
	_, err := table.Hold(t.Context(), plan, "a", 1)
	if err == nil || !strings.Contains(err.Error(), "for example 20 concurrent lease=30s") {
		t.Fatal(err)
	}
	if _, err = table.TryHold(plan, "a", 1); err == nil || table.Peek(plan, "a", 0).Remaining() != 10 {
		t.Fatal(err)
	}
	table, plan = wide(t, "5/s; 1 concurrent lease=30s")
	if err := table.Wait(t.Context(), plan, "a", 1); err == nil || plan.Lease() != 30*time.Second {
		t.Fatal(err)
	}
}

func TestStale(t *testing.T) {
	state := NewState(MustParse("1 concurrent lease=5s"))
	late := state.Take(1, 1).ID()
	next := state.Take(5e9+1, 1).ID()
	if state.Renew(5e9+2, late) || state.Release(5e9+2, late) || !state.Renew(5e9+2, next) {
		t.Fatal("a stale id does nothing")
	}
	if state.Take(10e9+1, 1).Allowed() || !state.Release(10e9+1, next) || !state.Take(10e9+1, 1).Allowed() {
		t.Fatal("it was renewed, and then released")
	}
}

// Each is woken by the release before it: the lease is an hour.
func TestHoldsWaitInOrder(t *testing.T) {
	table, plan := wide(t, oneAtOnce)
	held, _ := table.Hold(t.Context(), plan, "a", 1)
	var group sync.WaitGroup
	var order []int
	for i := range 10 {
		group.Add(1)
		go func() {
			defer group.Done()
			hold, err := table.Hold(t.Context(), plan, "a", 1)
			if err != nil {
				t.Error(err)
				return
			}
			defer hold.Release()
			order = append(order, i)
		}()
		for table.lines.count.Load() <= int64(i) {
			time.Sleep(100 * time.Microsecond)
		}
	}
	if _, err := table.TryHold(plan, "b", 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := table.Hold(ctx, plan, "a", 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	held.Release()
	group.Wait()
	if len(order) != 10 || !slices.IsSorted(order) || len(table.lines.waiting) != 0 {
		t.Fatal(order)
	}
}

func TestWhoWantsLessDoesNotOvertake(t *testing.T) {
	table, plan := wide(t, "2 concurrent lease=1h")
	var group sync.WaitGroup
	inside := make(chan struct{}, 2)
	keep := func(cost uint64, together int) {
		group.Add(1)
		before := table.lines.count.Load()
		go func() {
			defer group.Done()
			hold, err := table.Hold(t.Context(), plan, "a", cost)
			if err != nil {
				t.Error(err)
				return
			}
			defer hold.Release()
			inside <- struct{}{}
			for begun := time.Now(); len(inside) < together; time.Sleep(time.Millisecond) {
				if time.Since(begun) > 30*time.Second {
					t.Error("the other one is not let in")
					return
				}
			}
		}()
		for table.lines.count.Load() == before {
			time.Sleep(100 * time.Microsecond)
		}
	}
	held, _ := table.TryHold(plan, "a", 1)
	keep(2, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := table.Hold(ctx, plan, "a", 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	held.Release()
	group.Wait()
	<-inside
	held, _ = table.TryHold(plan, "a", 2)
	keep(1, 2)
	keep(1, 2)
	held.Release()
	group.Wait()
}

func TestKeep(t *testing.T) {
	sem, _ := NewSemaphore("1 concurrent lease=150ms")
	defer sem.Close()
	hold, _ := sem.TryHold(1)
	kept := make(chan bool)
	go func() { kept <- hold.Keep(t.Context()) }()
	time.Sleep(500 * time.Millisecond)
	if _, err := sem.TryHold(1); err == nil || !hold.Release() || !<-kept {
		t.Fatal("it was kept", err)
	}
	hold, _ = sem.TryHold(1)
	next, err := sem.Hold(t.Context(), 1) // waits for the end of the lease
	if err != nil || hold.Renew() || hold.Keep(t.Context()) || hold.Release() || !next.Release() {
		t.Fatal("it was over", err)
	}
}

func TestHoldMiddleware(t *testing.T) {
	table, plan := wide(t, oneAtOnce)
	var inside atomic.Int32
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := table.TryHold(plan, "a", 1); err != nil {
			inside.Add(1)
		}
	})
	handler := HoldMiddleware(func(*http.Request) (*Hold, error) { return table.TryHold(plan, "a", 1) })(inner)
	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != http.StatusOK {
			t.Fatal(w.Code)
		}
	}
	held, _ := table.TryHold(plan, "a", 1)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 429 || w.Header().Get("Retry-After") != "3600" || inside.Load() != 3 || !held.Release() {
		t.Fatal(w.Code, w.Header(), inside.Load())
	}
}

func TestCostsByUnit(t *testing.T) {
	plan := MustParse(llm)
	costs := func(requests, tokens uint64) Costs {
		costs, err := plan.Costs(map[string]uint64{"tokens": tokens, "requests": requests})
		if err != nil {
			t.Fatal(err)
		}
		return costs
	}
	table := newTable(t, TableOptions{Keys: 100})
	call := table.TakeEach(plan, "a", costs(1, 800))
	if !call.Allowed() || table.TakeEach(plan, "a", costs(1, 300)).Allowed() {
		t.Fatal(call)
	}
	table.SettleEach(plan, "a", &call, costs(1, 300))
	call = table.TakeEach(plan, "a", costs(1, 700))
	if !call.Allowed() {
		t.Fatal("settled")
	}
	table.CancelEach(plan, "a", &call)
	if !table.TakeEach(plan, "a", costs(59, 700)).Allowed() || table.TakeEach(plan, "a", costs(1, 0)).Allowed() {
		t.Fatal("cancelled")
	}
	fast := MustParse("100 requests/s; 1k tokens/s")
	each, _ := fast.Costs(map[string]uint64{"tokens": 1000})
	begun := time.Now()
	for range 2 {
		if _, err := table.WaitEach(t.Context(), fast, "b", each); err != nil {
			t.Fatal(err)
		}
	}
	if time.Since(begun) < time.Second {
		t.Fatal("1000 tokens take a second")
	}
}

func TestOneNumberDoesNotSayOfWhat(t *testing.T) {
	plan := MustParse(llm)
	table := newTable(t, TableOptions{Keys: 100})
	decisions := []Decision{table.Take(plan, "a", 5), table.Reserve(plan, "a", 5, InfDuration), table.Charge(plan, "a", 5), {}}
	table.TakeBatch(plan, []string{"a"}, 5, decisions[3:])
	for _, d := range decisions {
		if d.Verdict() != Never {
			t.Fatal(d)
		}
	}
	for said, costs := range map[string]map[string]uint64{
		`limits count requests and tokens: write Costs(map[string]uint64{"tokens": 1})`:                        {},
		`no limit counts bytes: limits count requests and tokens: write Costs(map[string]uint64{"tokens": 7})`: {"tokens": 5, "bytes": 7},
	} {
		if _, err := plan.Costs(costs); err == nil || err.Error() != "libweir: "+said {
			t.Fatal(err)
		}
	}
}

func TestAHoldHasACostOfEachUnit(t *testing.T) {
	table, plan := wide(t, "2 concurrent lease=1h; 1k tokens/h")
	costs := func(tokens uint64) Costs {
		costs, _ := plan.Costs(map[string]uint64{"tokens": tokens})
		return costs
	}
	hold, err := table.HoldEach(t.Context(), plan, "a", costs(600))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := table.HoldEach(ctx, plan, "a", costs(600)); err == nil {
		t.Fatal("not so many tokens")
	}
	other, err := table.HoldEach(t.Context(), plan, "a", costs(400))
	if err != nil || !other.Release() || !hold.Renew() || !hold.Release() {
		t.Fatal(err)
	}
}
