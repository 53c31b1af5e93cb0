// SPDX-License-Identifier: MIT

// rival-go: golang.org/x/time/rate, go.uber.org/ratelimit and, of 20 at once, a channel and failsafe-go's bulkhead, on
// the work of bench/rivals.  Threads are goroutines, as many as said, on as many threads of the system as Go chooses.
//
// x/time/rate is asked by Allow, and paced by Wait with a bucket of 10 ms, emptied before the start, so that it may
// make up what the machine took away.  ratelimit knows only Take, which waits: its grant is Take at a rate that never
// makes it wait, and for pacing it has a slack of 10 ms, too.  Keys: 64 maps, each under a mutex, of x/time limiters.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/failsafe-go/failsafe-go/bulkhead"
	"go.uber.org/ratelimit"
	"golang.org/x/time/rate"
)

const (
	runUsual  = 100 * time.Millisecond
	runSmall  = 500 * time.Microsecond
	keysUsual = 1000000
	keysSmall = 2000

	neverRefuses      = 1000000000
	neverRefusesBurst = 1 << 40
	slackPerSecond    = 100 // a slack of 1/100 s
	atOnce            = 20
)

// Taken and released; where more goroutines ask than there are places, some are refused.
func printHolds(run time.Duration) {
	channel := make(chan struct{}, atOnce)
	wall := bulkhead.New[any](atOnce)
	inChannel := func() bool {
		select {
		case channel <- struct{}{}:
			<-channel
		default:
		}
		return true
	}
	inBulkhead := func() bool {
		if wall.TryAcquirePermit() {
			wall.ReleasePermit()
		}
		return true
	}
	for _, threads := range []int{1, 2, 8} {
		fmt.Printf("Go channel\thold\t%d\t%.3f\n", threads, measureRate(inChannel, threads, run))
		fmt.Printf("failsafe-go bulkhead\thold\t%d\t%.3f\n", threads, measureRate(inBulkhead, threads, run))
	}
}

func printLines(run time.Duration, keys uint64) {
	open := rate.NewLimiter(neverRefuses, neverRefusesBurst)
	shut := rate.NewLimiter(rate.Every(24*time.Hour), 1)
	take := ratelimit.New(neverRefuses)
	if !shut.Allow() {
		fail("a fresh limiter refuses")
	}
	granted := func() bool { return open.Allow() }
	refused := func() bool { return !shut.Allow() }
	taken := func() bool { return !take.Take().IsZero() }
	for _, threads := range []int{1, 2, 8, 64} {
		fmt.Printf("x/time/rate\tgrant\t%d\t%.3f\n", threads, measureRate(granted, threads, run))
		fmt.Printf("x/time/rate\tdeny\t%d\t%.3f\n", threads, measureRate(refused, threads, run))
		fmt.Printf("uber ratelimit\tgrant\t%d\t%.3f\n", threads, measureRate(taken, threads, run))
	}
	printHolds(run)
	table := newTable(keys)
	for _, threads := range []uint64{1, 2} {
		fmt.Printf("Go maps of x/time/rate\tkeyed\t%d\t%.3f\n", threads, table.measureRate(threads, 5*run))
	}
}

func slackOf(perSecond int) int {
	return max(1, perSecond/slackPerSecond)
}

func printPace(perSecond int, threads int, duration time.Duration) {
	wait := rate.NewLimiter(rate.Limit(perSecond), slackOf(perSecond))
	empty := func() { // the first permit is all of a full bucket
		if !wait.AllowN(time.Now(), slackOf(perSecond)) {
			fail("a fresh limiter is not full")
		}
	}
	acquire := func() {
		if err := wait.Wait(context.Background()); err != nil {
			fail(err.Error())
		}
	}
	measurePace("x/time/rate", empty, acquire, perSecond, threads, duration)
	take := ratelimit.New(perSecond, ratelimit.WithSlack(max(10, slackOf(perSecond)))) // 10 is its default
	measurePace("uber ratelimit", func() { take.Take() }, func() { take.Take() }, perSecond, threads, duration)
}

func printVersion() {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		fail("built without modules")
	}
	for _, module := range info.Deps {
		switch module.Path {
		case "golang.org/x/time", "go.uber.org/ratelimit", "github.com/failsafe-go/failsafe-go":
			fmt.Printf("%s %s, ", module.Path, module.Version)
		}
	}
	fmt.Println(info.GoVersion)
}

func fail(what string) {
	fmt.Fprintln(os.Stderr, "bench/rivals/go:", what)
	os.Exit(1)
}

func number(text string, least float64, most float64) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value >= least && value <= most) {
		fmt.Fprintf(os.Stderr, "bench/rivals/go: %q is not a number from %g to %g\n", text, least, most)
		os.Exit(2)
	}
	return value
}

func main() {
	arguments := os.Args[1:]
	switch {
	case len(arguments) == 1 && arguments[0] == "version":
		printVersion()
	case len(arguments) == 1 && arguments[0] == "lines":
		printLines(runUsual, keysUsual)
	case len(arguments) == 2 && arguments[0] == "lines" && arguments[1] == "--small":
		printLines(runSmall, keysSmall)
	case len(arguments) == 4 && arguments[0] == "pace":
		seconds := number(arguments[3], 1e-3, 3600)
		printPace(int(number(arguments[1], 1, 1e9)), int(number(arguments[2], 1, 1024)),
			time.Duration(seconds*float64(time.Second)))
	default:
		fmt.Fprintln(os.Stderr, "usage: run lines [--small] | pace RATE THREADS SECONDS | version")
		os.Exit(2)
	}
}
