// SPDX-License-Identifier: MIT

package libweir

import (
	"strings"
	"testing"
	"time"
)

var tenantTexts = map[string]string{"acme": "2/d guaranteed; 5/d", "bob": "3/d guaranteed", "*": "2/d"}

func newTenants(t *testing.T, table *Table, key, parent string, texts map[string]string) *Tenants {
	t.Helper()
	tenants, err := NewTenants(table, key, parent, texts)
	if err != nil {
		t.Fatal(err)
	}
	return tenants
}

func TestGuaranteedAndBorrowed(t *testing.T) {
	table := newTable(t, TableOptions{Keys: 100})
	tenants := newTenants(t, table, "api", "6/d", tenantTexts)
	var told []*Taken
	for i := range 6 {
		taken := tenants.Take("acme", 1)
		if told = append(told, taken); taken.Allowed() != (i < 5) || taken.Borrowed() != (i == 2 || i == 3 || i == 4) {
			t.Fatal(i, taken)
		}
	}
	if told[5].Verdict() != Deny || told[5].Retry() < time.Hour {
		t.Fatal(told[5])
	}
	for range 3 {
		if bob := tenants.Take("bob", 1); !bob.Allowed() || bob.Borrowed() {
			t.Fatal("its guarantee, though others borrowed", bob)
		}
	}
	if tenants.Take("bob", 1).Allowed() || tenants.Take("eve", 1).Allowed() {
		t.Fatal("nothing is left")
	}
	tenants.Cancel(told[0])
	tenants.Settle(told[1], 0)
	if again := tenants.Take("acme", 1); !again.Allowed() || again.Borrowed() {
		t.Fatal(again)
	}
	other := newTenants(t, table, "another", "6/d", map[string]string{"bob": "3/d guaranteed"})
	if !other.Take("eve", 2).Borrowed() || other.Take("bob", 2).Remaining() != 1 {
		t.Fatal("those of another key are others")
	}
}

func TestThoseWhoAreNotDefinedOnlyBorrow(t *testing.T) {
	tenants := newTenants(t, newTable(t, TableOptions{Keys: 100}), "t", "6/d", tenantTexts)
	if !tenants.Take("eve", 2).Borrowed() || tenants.Take("eve", 1).Allowed() || !tenants.Take("dan", 1).Borrowed() {
		t.Fatal("each of them may borrow 2")
	}
	if !tenants.Take("bob", 3).Allowed() || tenants.Take("dan", 1).Allowed() {
		t.Fatal("3 are guaranteed")
	}
}

func TestWhatIsIdleIsSharedByWeight(t *testing.T) {
	tenants := newTenants(t, newTable(t, TableOptions{Keys: 100}), "t", "100/d",
		map[string]string{"one": "unlimited weight=1", "four": "1/d guaranteed weight=4", "*": "unlimited weight=1"})
	passed := 0
	for range 200 {
		if tenants.Take("one", 1).Allowed() {
			passed++
		}
	}
	if passed < 40 || passed > 80 {
		t.Fatal(passed, "who is in the lead leaves half of the burst to others")
	}
	if tenants.Take("four", 1).Borrowed() || !tenants.Take("four", 1).Borrowed() || !tenants.Take("eve", 1).Borrowed() {
		t.Fatal("they had less")
	}
}

func TestWhatCannotBeGuaranteedIsRefused(t *testing.T) {
	table := newTable(t, TableOptions{Keys: 100})
	for _, each := range []struct {
		key, said string
		tenants   map[string]string
	}{
		{"t", `more than the 100/s of their parent, with the 80/s of "b"`,
			map[string]string{"a": "30/s guaranteed", "b": "80/s guaranteed; 90/s"}},
		{"t", "nobody knows how many", map[string]string{"*": "30/s guaranteed"}},
		{"t", `"b" has no weight and others have one`,
			map[string]string{"a": "30/s weight=2", "b": "8/s", "*": "unlimited weight=1"}},
		{"t", `"*" has no weight and others have one`, map[string]string{"a": "30/s weight=2"}},
		{"a}", "brace", nil},
		{"t", "M is a million", map[string]string{"a": "10/M"}},
	} {
		if _, err := NewTenants(table, each.key, "100/s", each.tenants); err == nil || !strings.Contains(err.Error(), each.said) {
			t.Error(err)
		}
	}
}
