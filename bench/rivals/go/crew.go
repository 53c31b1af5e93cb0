// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const calls = 1024

// Goroutines that all ask; million answers a second, all together.  Every answer must be true.
func measureRate(ask func() bool, threads int, run time.Duration) float64 {
	var ready, done sync.WaitGroup
	var stop atomic.Bool
	start := make(chan struct{})
	asked := make([]uint64, threads)
	right := make([]uint64, threads)
	begin := make([]time.Time, threads)
	end := make([]time.Time, threads)
	ready.Add(threads)
	done.Add(threads)
	for i := 0; i < threads; i++ {
		go func() {
			defer done.Done()
			askSome(ask) // warm
			ready.Done()
			<-start
			begin[i] = time.Now()
			var sum, count uint64
			for count == 0 || !stop.Load() {
				sum += askSome(ask)
				count += calls
			}
			end[i] = time.Now()
			asked[i], right[i] = count, sum
		}()
	}
	ready.Wait()
	close(start)
	time.Sleep(run)
	stop.Store(true)
	done.Wait()
	first, last, sum := begin[0], end[0], uint64(0)
	for i := range asked {
		if right[i] != asked[i] {
			fail(fmt.Sprintf("%d of %d answers are as they should be", right[i], asked[i]))
		}
		if begin[i].Before(first) {
			first = begin[i]
		}
		if end[i].After(last) {
			last = end[i]
		}
		sum += asked[i]
	}
	return float64(sum) * 1e3 / float64(last.Sub(first))
}

func askSome(ask func() bool) uint64 {
	right := uint64(0)
	for i := 0; i < calls; i++ {
		if ask() {
			right++
		}
	}
	return right
}

// ---- how late: buckets of which each is at most 1/64 of its value wide, on both sides of 0 ----

const (
	stepBits = 6
	steps    = 1 << stepBits
	buckets  = (64 - stepBits + 1) * steps
)

type lateness struct {
	early, late [buckets]uint64
	count       uint64
}

func bucketOf(ns uint64) int {
	shift := max(0, bits.Len64(ns)-stepBits-1)
	return shift*steps + int(ns>>shift)
}

// The middle of a bucket.
func bucketNs(bucket int) float64 {
	if bucket < 2*steps {
		return float64(bucket)
	}
	shift := bucket/steps - 1
	return (float64(bucket-shift*steps)+0.5)*math.Exp2(float64(shift)) - 0.5
}

func (l *lateness) note(ns int64) {
	if ns < 0 {
		l.early[bucketOf(uint64(-ns))]++
	} else {
		l.late[bucketOf(uint64(ns))]++
	}
	l.count++
}

func (l *lateness) add(part *lateness) {
	for i := range l.early {
		l.early[i] += part.early[i]
		l.late[i] += part.late[i]
	}
	l.count += part.count
}

func (l *lateness) quantile(part float64) float64 {
	rank, seen := part*float64(l.count), 0.0
	for i := buckets - 1; i >= 0; i-- {
		seen += float64(l.early[i])
		if seen >= rank && l.early[i] > 0 {
			return -bucketNs(i)
		}
	}
	for i := range l.late {
		seen += float64(l.late[i])
		if seen >= rank && l.late[i] > 0 {
			return bucketNs(i)
		}
	}
	return 0
}

// ---- pacing ----

func processorSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail(err.Error())
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// The schedule begins with the first permit, which the first goroutine takes by `first`; then all pace.
func measurePace(who string, first func(), acquire func(), perSecond int, threads int, duration time.Duration) {
	var given atomic.Int64
	var ready, done sync.WaitGroup
	var begin time.Time
	var before float64
	start := make(chan struct{})
	parts := make([]lateness, threads)
	last := make([]time.Duration, threads)
	interval := 1e9 / float64(perSecond)
	ready.Add(threads - 1)
	done.Add(threads)
	for i := 0; i < threads; i++ {
		go func() {
			defer done.Done()
			if i == 0 {
				ready.Wait()
				before = processorSeconds()
				first()
				begin = time.Now()
				given.Store(1)
				close(start)
			} else {
				ready.Done()
				<-start
			}
			for last[i] < duration {
				acquire()
				place := given.Add(1) - 1
				last[i] = time.Since(begin)
				parts[i].note(int64(last[i]) - int64(float64(place)*interval))
			}
		}()
	}
	done.Wait()
	end := last[0]
	for i := 1; i < threads; i++ {
		parts[0].add(&parts[i])
		end = max(end, last[i])
	}
	achieved := float64(given.Load()-1) / end.Seconds() / float64(perSecond)
	fmt.Printf("%s\tpace %d\t%d\t%.6f\t%.0f\t%.0f\t%.4f\n", who, perSecond, threads, achieved,
		parts[0].quantile(0.5), parts[0].quantile(0.99), (processorSeconds()-before)/end.Seconds())
}
