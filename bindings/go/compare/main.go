// SPDX-License-Identifier: MIT

// What a call costs: libweir beside golang.org/x/time/rate and go.uber.org/ratelimit, in one run, as lines of
// cost<TAB>SETTING<TAB>WHO<TAB>NS.
//
// The contenders take turns, and the least of 9 rounds counts. It is the processor's time, of one goroutine: two that
// contend for a limit cost what the machine and its other work make of them.
package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	uber "go.uber.org/ratelimit"
	"golang.org/x/time/rate"
	libweir "weir.example/bindings/go"
)

const (
	calls  = 200_000
	rounds = 9
)

type contender struct {
	name string
	work func(calls int)
}

func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func compare(setting string, contenders []contender) {
	least := slices.Repeat([]time.Duration{math.MaxInt64}, len(contenders))
	for range rounds {
		for i, c := range contenders {
			before := used()
			c.work(calls)
			least[i] = min(least[i], used()-before)
		}
	}
	for i, c := range contenders {
		fmt.Printf("cost\t%s\t%s\t%.1f\n", setting, c.name, float64(least[i])/calls)
	}
}

func repeat(call func()) func(int) {
	return func(calls int) {
		for range calls {
			call()
		}
	}
}

func oneLimit(setting string, perSecond float64, burst int) {
	peer, ours := rate.NewLimiter(rate.Limit(perSecond), burst), libweir.NewLimiter(libweir.Limit(perSecond), burst)
	leased := libweir.NewLimiter(libweir.Limit(perSecond), burst)
	now := time.Now()
	all := []contender{
		{"libweir Allow", repeat(func() { ours.Allow() })},
		{"libweir AllowN(now, 1)", repeat(func() { ours.AllowN(now, 1) })},
		{"libweir Lease(64).Allow", func(calls int) {
			lease := leased.Lease(64)
			defer lease.Close()
			repeat(func() { lease.Allow() })(calls)
		}},
		{"x/time/rate Allow", repeat(func() { peer.Allow() })},
		{"x/time/rate AllowN(now, 1)", repeat(func() { peer.AllowN(now, 1) })},
	}
	if burst > 1 { // it only waits
		pacer := uber.New(int(perSecond))
		all = append(all, contender{"uber ratelimit Take", repeat(func() { pacer.Take() })})
	}
	compare(setting, append(all,
		contender{"floor: an empty cgo call", repeat(callNothing)},
		contender{"floor: time.Now", repeat(func() { time.Now() })}))
}

func manyKeys() error {
	const count = 10_000
	folder, err := os.MkdirTemp("", "libweir-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	private, err := libweir.OpenTable(libweir.TableOptions{Keys: 2 * count})
	if err != nil {
		return err
	}
	defer private.Close()
	shared, err := libweir.OpenTable(libweir.TableOptions{Path: filepath.Join(folder, "table.weir"), Keys: 2 * count})
	if err != nil {
		return err
	}
	defer shared.Close()
	plan := libweir.MustParse("1000000/s")
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprint("user:", i*7919%count)
	}
	var mutex sync.Mutex
	limiters := map[string]*rate.Limiter{}
	decisions := make([]libweir.Decision, 64)
	each := func(call func(key string)) func(int) {
		return func(calls int) {
			for i := range calls {
				call(keys[i%count])
			}
		}
	}
	compare("one process, 10,000 keys", []contender{
		{"libweir Table.Take", each(func(key string) { private.Take(plan, key, 1) })},
		{"x/time/rate in a map with a mutex", each(func(key string) {
			mutex.Lock()
			limiter := limiters[key]
			if limiter == nil {
				limiter = rate.NewLimiter(1e6, 1e6)
				limiters[key] = limiter
			}
			mutex.Unlock()
			limiter.Allow()
		})},
	})
	compare("shared by processes, 10,000 keys", []contender{
		{"libweir Table.Take", each(func(key string) { shared.Take(plan, key, 1) })},
		{"libweir Table.TakeBatch of 64", func(calls int) {
			for i := 0; i+64 <= calls; i += 64 {
				at := i % (count - 64)
				shared.TakeBatch(plan, keys[at:at+64], 1, decisions)
			}
		}},
	})
	return nil
}

func main() {
	oneLimit("one process", 1e9, 1e9)
	oneLimit("one process, refused", 0.001, 1)
	if err := manyKeys(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
