// SPDX-License-Identifier: MIT

package main

import (
	"encoding/binary"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	shards  = 64
	chunk   = 128
	away    = time.Millisecond // a chunk that took longer was interrupted
	keySize = 16
)

// As in bench/weir-bench/table.c: 8 to 16 bytes, in place, so that the map follows no pointer to compare them; then how
// many.
type key [keySize + 1]byte

func mix(number uint64) uint64 {
	number = (number ^ number>>30) * 0xbf58476d1ce4e5b9
	number = (number ^ number>>27) * 0x94d049bb133111eb
	return number ^ number>>31
}

func keyOf(number uint64) key {
	var made key
	first, second := mix(number+1), mix(^number)
	binary.LittleEndian.PutUint64(made[:], first)
	binary.LittleEndian.PutUint64(made[8:], second)
	size := 8 + second%9
	clear(made[size:]) // equal keys are equal bytes
	made[keySize] = byte(size)
	return made
}

type shard struct {
	mutex    sync.Mutex
	limiters map[key]*rate.Limiter
	_        [64]byte
}

type table struct {
	seed  maphash.Seed
	keys  uint64
	shard [shards]shard
}

func (t *table) allow(wanted *key) bool {
	shard := &t.shard[maphash.Bytes(t.seed, wanted[:])%shards]
	shard.mutex.Lock()
	limiter := shard.limiters[*wanted]
	if limiter == nil {
		limiter = rate.NewLimiter(rate.Every(86400*time.Microsecond), 1000000)
		shard.limiters[*wanted] = limiter
	}
	shard.mutex.Unlock()
	return limiter.Allow()
}

func newTable(keys uint64) *table {
	t := &table{seed: maphash.MakeSeed(), keys: keys}
	for i := range t.shard {
		t.shard[i].limiters = make(map[key]*rate.Limiter)
	}
	for number := uint64(0); number < keys; number++ {
		wanted := keyOf(number)
		if !t.allow(&wanted) {
			fail("a fresh key is refused")
		}
	}
	return t
}

// Calls a second of one goroutine on keys first, first + threads, ...; making the keys is not measured.
func (t *table) ask(first uint64, threads uint64, stop *atomic.Bool) float64 {
	var keys [chunk]key
	place, count, spent := uint64(0), 0, time.Duration(0)
	for count == 0 || !stop.Load() {
		for i := range keys {
			keys[i] = keyOf(first + place%(t.keys/threads)*threads)
			place++
		}
		begin := time.Now()
		granted := 0
		for i := range keys {
			if t.allow(&keys[i]) {
				granted++
			}
		}
		took := time.Since(begin)
		if granted != chunk {
			fail("a key is refused")
		}
		if took < away || count == 0 {
			count += chunk
			spent += took
		}
	}
	return float64(count) / spent.Seconds()
}

func (t *table) measureRate(threads uint64, run time.Duration) float64 {
	var stop atomic.Bool
	var done sync.WaitGroup
	rates := make([]float64, threads)
	done.Add(int(threads))
	for first := uint64(0); first < threads; first++ {
		go func() {
			defer done.Done()
			rates[first] = t.ask(first, threads, &stop)
		}()
	}
	time.Sleep(run)
	stop.Store(true)
	done.Wait()
	sum := 0.0
	for _, rate := range rates {
		sum += rate
	}
	return sum / 1e6
}
