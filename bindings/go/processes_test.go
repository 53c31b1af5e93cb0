// SPDX-License-Identifier: MIT

package libweir

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// A permit comes back each 9 minutes: none does while the test runs.
const (
	processLimit = "5000/30d burst=5000"
	processPass  = 5000
)

// Not a test: what a child does. It announces each take, so that one that a kill cut off is known.
func TestChild(t *testing.T) {
	path := os.Getenv("LIBWEIR_TEST_TABLE")
	if path == "" {
		t.Skip("for TestProcesses")
	}
	table, err := OpenTable(TableOptions{Path: path, Keys: 1000})
	if err != nil {
		t.Fatal(err)
	}
	plan := MustParse(processLimit)
	for {
		os.Stderr.WriteString("?")
		if !table.Take(plan, "user:42", 1).Allowed() {
			os.Stderr.WriteString("-")
			return
		}
		os.Stderr.WriteString("+")
	}
}

type worker struct {
	command *exec.Cmd
	passed  atomic.Int64
	cutOff  bool // the last take has no answer
	ended   chan struct{}
}

func startWorker(t *testing.T, path string, passed *atomic.Int64) *worker {
	t.Helper()
	w := &worker{command: exec.Command(os.Args[0], "-test.run=^TestChild$"), ended: make(chan struct{})}
	w.command.Env = append(os.Environ(), "LIBWEIR_TEST_TABLE="+path)
	words, err := w.command.StderrPipe()
	if err == nil {
		err = w.command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go w.read(words, passed)
	return w
}

func (w *worker) read(words io.Reader, passed *atomic.Int64) {
	defer close(w.ended)
	var buffer [256]byte
	for {
		n, err := words.Read(buffer[:])
		if err != nil {
			return
		}
		allowed := int64(bytes.Count(buffer[:n], []byte("+")))
		w.passed.Add(allowed)
		passed.Add(allowed)
		w.cutOff = buffer[n-1] == '?'
	}
}

// Four processes take from one file while some of them are killed: exactly as many pass as the limit has.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.weir")
	var passed atomic.Int64
	var workers []*worker
	for range 4 {
		workers = append(workers, startWorker(t, path, &passed))
	}
	for i, share := range []int64{5, 3, 2} {
		for passed.Load() < processPass/share {
			time.Sleep(100 * time.Microsecond)
		}
		workers[i].command.Process.Kill() // SIGKILL
		workers = append(workers, startWorker(t, path, &passed))
	}
	var sum, cutOff int64
	for _, w := range workers {
		<-w.ended
		w.command.Wait()
		sum += w.passed.Load()
		if w.cutOff {
			cutOff++
		}
	}
	left := newTable(t, TableOptions{Path: path, Keys: 1000}).Peek(MustParse(processLimit), "user:42", 0).Remaining()
	t.Logf("%d passed and answered, %d cut off by a kill, %d left, of %d", sum, cutOff, left, processPass)
	if left != 0 || sum > processPass || sum+cutOff < processPass {
		t.Fail()
	}
}
