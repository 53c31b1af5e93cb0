// SPDX-License-Identifier: MIT

package libweir

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

func whole(t *testing.T, digits string) uint64 {
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func answerOf(key string, s *State, d Decision) uint64 {
	switch key {
	case "allowed":
		if d.Allowed() {
			return 1
		}
	case "never":
		if d.Verdict() == Never {
			return 1
		}
	case "remaining":
		return d.Remaining()
	case "delay_ns":
		return d.delayNs
	case "retry_ns":
		if d.Verdict() == Deny {
			return d.retryNs
		}
	case "reset_ns":
		return uint64(s.Full(d))
	}
	return 0
}

// A call is what follows the word: NOW_NS, COST, DELAY_MAX_NS, then what the peer answered.
func checkCall(t *testing.T, state *State, call []string, where string) {
	d := state.Reserve(whole(t, call[0]), whole(t, call[1]), durationOf(whole(t, call[2])))
	for _, said := range call[3:] {
		key, expected, _ := strings.Cut(said, "=")
		least, most, isRange := strings.Cut(expected, "..")
		if !isRange {
			most = least
		}
		if got := answerOf(key, state, d); got < whole(t, least) || got > whole(t, most) {
			t.Errorf("%s, %v: %s is %d", where, call, said, got)
		}
	}
}

// What other limiters answered, call by call: test/vectors/calls.py of weir's tree writes the lines of WEIR_CALLS.
func TestVectors(t *testing.T) {
	file, err := os.Open(os.Getenv("WEIR_CALLS"))
	if err != nil {
		t.Skip("no WEIR_CALLS: the vectors are in weir's tree, not in the module")
	}
	defer file.Close()
	var state *State
	steps, name := 0, ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := strings.Split(lines.Text(), "\t")
		switch line[0] {
		case "skipped":
			t.Log(lines.Text())
		case "refused":
			if _, err := Parse(line[1]); err == nil {
				t.Errorf("%s: %s is accepted", line[2], line[1])
			}
		case "limit":
			state, name = NewState(MustParse(line[1])), line[2]
		case "call":
			checkCall(t, state, line[1:], name)
			steps++
		}
	}
	t.Logf("%d steps", steps)
	if steps < 2500 {
		t.Error("too few steps: were the vectors moved?")
	}
}
