// SPDX-License-Identifier: MIT

package libweir

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// The shared vectors: what other limiters answer, through a limit's text and a state. ../../test/vectors has the whole
// of them for the C code; here are those that a text alone says.

type vectorCase struct {
	Name      string
	Limiter   map[string]any
	Tolerance int64            `json:"tolerance_ns"`
	Quirk     any              `json:"peer_quirk"`
	GoesBack  any              `json:"clock_goes_back"`
	Steps     []map[string]any `json:"steps"`
}

// The limit in weir's words, and which answers weir gives in the same words.
func vectorLimit(system string, l map[string]any) (string, []string) {
	number := func(key string) int64 { n, _ := strconv.ParseInt(fmt.Sprint(l[key]), 10, 64); return n }
	gcra := func(interval any, burst int64) string {
		return fmt.Sprintf("1/%vns burst=%d algorithm=gcra", interval, burst)
	}
	window := func(options string) string {
		return fmt.Sprintf("%v/%vns algorithm=%s", l["limit"], l["window_ns"], options)
	}
	switch system {
	case "governor (GCRA)":
		return gcra(l["emission_interval_ns"], number("burst")), []string{"allowed", "never", "remaining", "retry_after_ns"}
	case "throttled (GCRA)":
		return gcra(l["emission_interval_ns"], number("max_burst")+1), []string{"allowed", "never", "retry_after_ns"}
	case "redis-cell CL.THROTTLE": // a whole number of ns, as there
		return gcra(number("period_s")*1e9/max(number("count"), 1), number("max_burst")+1), []string{"allowed", "never"}
	case "envoy ratelimit fixed window (aligned)":
		return window("fixed-window align=clock count-refused"), []string{"allowed", "remaining"}
	case "limits (Python) fixed window":
		return window("fixed-window align=first count-refused"), []string{"allowed"}
	case "limits (Python) moving window":
		return window("sliding-log edge=closed"), []string{"allowed"}
	case "limits (Python) sliding window counter":
		return window("sliding-window"), []string{"allowed", "remaining"}
	case "khenidak/Throttling sliding log (collection variant)":
		text := fmt.Sprintf("%v/%vns algorithm=sliding-log edge=closed", l["max_in_period"], l["period_ns"])
		return text, []string{"allowed"}
	case "golang.org/x/time/rate":
		return fmt.Sprintf("%v/s burst=%v algorithm=gcra", l["rate_per_s"], l["burst"]), []string{"allowed", "wait_ns"}
	}
	return "", nil
}

func vectorWhole(value any) (uint64, bool) {
	n, err := strconv.ParseUint(fmt.Sprint(value), 10, 64)
	return n, err == nil
}

// Why no text says it; "" if one does.
func vectorBeyond(c *vectorCase) string {
	if c.Quirk != nil || c.GoesBack != nil {
		return "the peer's own way with clocks and overflows"
	}
	if c.Name == "ten billion per second: ten tokens a nanosecond" {
		return "the peer takes a wait of a part of a ns for none"
	}
	for _, step := range c.Steps {
		if !slices.Contains([]string{"try", "reserve", "acquire"}, step["op"].(string)) {
			return "another operation"
		}
		_, time := vectorWhole(step["t_ns"])
		if _, n := vectorWhole(step["n"]); !time || !n && step["n"] != nil {
			return "a number over 64 bits, or below 0"
		}
	}
	return ""
}

func vectorAsk(state *State, step map[string]any) Decision {
	now, _ := vectorWhole(step["t_ns"])
	cost, wait := uint64(1), InfDuration
	if n, ok := vectorWhole(step["n"]); ok {
		cost = n
	}
	if step["op"] == "try" {
		wait = 0
		if ns, ok := vectorWhole(step["max_wait_ns"]); ok {
			wait = durationOf(ns)
		} else if step["max_wait_ns"] != nil {
			wait = InfDuration
		}
	}
	return state.Reserve(now, cost, wait)
}

func vectorAnswer(key string, d Decision) any {
	switch key {
	case "allowed":
		return d.Allowed()
	case "never":
		return d.Verdict() == Never
	case "remaining":
		return d.Remaining()
	case "wait_ns":
		return d.delayNs
	default:
		if d.Verdict() != Deny {
			return 0
		}
		return d.retryNs
	}
}

func vectorEqual(expected, got any, tolerance int64) bool {
	e, isNumber := new(big.Int).SetString(fmt.Sprint(expected), 10)
	if !isNumber {
		return fmt.Sprint(expected) == fmt.Sprint(got)
	}
	g, _ := new(big.Int).SetString(fmt.Sprint(got), 10)
	return g != nil && e.Sub(e, g).CmpAbs(big.NewInt(tolerance)) <= 0
}

func TestVectors(t *testing.T) {
	folder := os.Getenv("WEIR_VECTORS")
	if folder == "" {
		folder = "../../test/vectors/peers"
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	if len(files) == 0 {
		t.Skipf("none in %s: they are in weir's tree, not in the module", folder)
	}
	steps, answers, mismatches, skipped := 0, 0, 0, map[string]int{}
	for _, file := range files {
		var content struct {
			System string
			Cases  []vectorCase
		}
		opened, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(opened)
		decoder.UseNumber()
		if err := decoder.Decode(&content); err != nil {
			t.Fatal(file, err)
		}
		opened.Close()
		for _, c := range content.Cases {
			text, keys := vectorLimit(content.System, c.Limiter)
			why := content.System + ": more than a text"
			if keys != nil {
				why = vectorBeyond(&c)
			}
			plan, err := Parse(text)
			if why == "" && err != nil {
				why = "a limit that no text says, or that the peer refuses, too"
			}
			if why != "" {
				skipped[why] += len(c.Steps)
				continue
			}
			state := NewState(plan)
			for i, step := range c.Steps {
				d := vectorAsk(state, step)
				steps++
				for key, expected := range step["expect"].(map[string]any) {
					if !slices.Contains(keys, key) || key == "wait_ns" && !d.Allowed() {
						continue
					}
					answers++
					if got := vectorAnswer(key, d); !vectorEqual(expected, got, c.Tolerance) {
						mismatches++
						t.Errorf("%s: %s, step %d: %s %v, not %v", text, c.Name, i, key, got, expected)
					}
				}
			}
		}
	}
	t.Logf("%d steps, %d answers, %d mismatches", steps, answers, mismatches)
	for why, steps := range skipped {
		t.Logf("skipped: %d steps, %s", steps, why)
	}
	if steps < 2500 {
		t.Error("too few steps: was a file renamed?")
	}
}
