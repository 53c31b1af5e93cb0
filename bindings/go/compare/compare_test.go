// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	uber "go.uber.org/ratelimit"
	"golang.org/x/time/rate"
	libweir "weir.example/bindings/go"
)

const (
	calls  = 300_000
	rounds = 9
)

type contender struct {
	name string
	work func(calls int)
}

// The processor's time: that of the clock on the wall is also what others on the machine take.
func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func round(goroutines int, work func(int)) float64 {
	var group sync.WaitGroup
	before := used()
	for range goroutines {
		group.Add(1)
		go func() {
			defer group.Done()
			work(calls)
		}()
	}
	group.Wait()
	return float64(used()-before) / float64(calls*goroutines)
}

// They take turns, and the median round counts.
func compare(what string, goroutines int, contenders []contender) {
	times := make([][]float64, len(contenders))
	for range rounds {
		for i, c := range contenders {
			times[i] = append(times[i], round(goroutines, c.work))
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	for i, c := range contenders {
		fmt.Printf("%-26s %-34s %7.1f ns   %6.2f\n", what, c.name, times[i][rounds/2],
			times[i][rounds/2]/times[0][rounds/2])
	}
}

func repeat(call func()) func(int) {
	return func(calls int) {
		for range calls {
			call()
		}
	}
}

func direct(what string, perSecond float64, burst, goroutines int) {
	peer, ours := rate.NewLimiter(rate.Limit(perSecond), burst), libweir.NewLimiter(libweir.Limit(perSecond), burst)
	leased := libweir.NewLimiter(libweir.Limit(perSecond), burst)
	now := time.Now()
	all := []contender{
		{"x/time/rate Allow", repeat(func() { peer.Allow() })},
		{"libweir Allow", repeat(func() { ours.Allow() })},
		{"x/time/rate AllowN(now, 1)", repeat(func() { peer.AllowN(now, 1) })},
		{"libweir AllowN(now, 1)", repeat(func() { ours.AllowN(now, 1) })},
		{"libweir, a lease of 64", func(calls int) {
			lease := leased.Lease(64)
			defer lease.Close()
			repeat(func() { lease.Allow() })(calls)
		}},
		{"a call of C that does nothing", repeat(callNothing)},
	}
	if burst > 1 {
		pacer := uber.New(int(perSecond))
		all = append(all, contender{"uber Take", repeat(func() { pacer.Take() })})
	}
	compare(what, goroutines, all)
}

func keyed(t *testing.T) {
	const count = 10_000
	table, err := libweir.OpenTable(libweir.TableOptions{Path: t.TempDir() + "/table.weir", Keys: 2 * count})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
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
	compare("10,000 keys", 1, []contender{
		{"map of x/time/rate, with a mutex", each(func(key string) {
			mutex.Lock()
			limiter := limiters[key]
			if limiter == nil {
				limiter = rate.NewLimiter(1e6, 1e6)
				limiters[key] = limiter
			}
			mutex.Unlock()
			limiter.Allow()
		})},
		{"libweir Table.Take, shared file", each(func(key string) { table.Take(plan, key, 1) })},
		{"libweir Table.TakeBatch of 64", func(calls int) {
			for i := 0; i+64 <= calls; i += 64 {
				at := i % (count - 64)
				table.TakeBatch(plan, keys[at:at+64], 1, decisions)
			}
		}},
	})
}

func TestCompare(t *testing.T) {
	fmt.Printf("%-26s %-34s %10s   of the first's time\n", "", "", "CPU")
	for _, goroutines := range []int{1, 2} {
		direct(fmt.Sprintf("passes, %d goroutine(s)", goroutines), 1e9, 1e9, goroutines)
		direct(fmt.Sprintf("refused, %d goroutine(s)", goroutines), 0.001, 1, goroutines)
	}
	keyed(t)
}
