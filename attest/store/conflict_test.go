package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/wire"
)

// What of two receipts is a conflict, and whose.
func TestConflicts(t *testing.T) {
	first := receipt{id: "att_1", session: "ses_1", parties: "ab"}
	tests := []struct {
		name string
		with []receipt
		want []string // of each, first included, who is in conflict about what
	}{
		{"alone", nil, []string{""}},
		{"another session", []receipt{{id: "att_2", session: "ses_2", parties: "ab"}}, []string{"", ""}},
		{"a second receipt", []receipt{{id: "att_2", session: "ses_1", parties: "ab"}}, []string{"session alice bob", "session alice bob"}},
		{"it supersedes", []receipt{{id: "att_2", session: "ses_1", parties: "ab", supersedes: "att_1"}}, []string{"", ""}},
		{"by URN", []receipt{{id: "att_2", session: "ses_1", parties: "ab", supersedes: "urn:concordia:attestation:att_1"}}, []string{"", ""}},
		{"by way of another", []receipt{
			{id: "att_2", session: "ses_1", parties: "ab", supersedes: "att_1"}, {id: "att_3", session: "ses_1", parties: "ab", supersedes: "att_2"},
		}, []string{"", "", ""}},
		{"the one between is not there", []receipt{{id: "att_3", session: "ses_1", parties: "ab", supersedes: "att_2"}},
			[]string{"session alice bob", "session alice bob"}},
		{"two supersede", []receipt{
			{id: "att_2", session: "ses_1", parties: "ab", supersedes: "att_1"}, {id: "att_3", session: "ses_1", parties: "ab", supersedes: "att_1"},
		}, []string{"", "session alice bob", "session alice bob"}},
		{"each supersedes the other", []receipt{
			{id: "att_2", session: "ses_1", parties: "ab", supersedes: "att_3"}, {id: "att_3", session: "ses_1", parties: "ab", supersedes: "att_2"},
		}, []string{"session alice bob session alice bob", "session alice bob session alice bob", "session alice bob session alice bob"}},
		{"strangers took the session's id", []receipt{{id: "att_2", session: "ses_1", parties: "em"}}, []string{"", ""}},
		{"strangers took both ids", []receipt{{id: "att_1", session: "ses_1", parties: "em"}}, []string{"", ""}},
		{"one party with somebody else", []receipt{{id: "att_2", session: "ses_1", parties: "am"}}, []string{"session alice", "session alice"}},
		{"superseded without a party", []receipt{{id: "att_2", session: "ses_1", parties: "am", supersedes: "att_1"}}, []string{"session alice", "session alice"}},
		{"superseded with one more", []receipt{{id: "att_2", session: "ses_1", parties: "abc", supersedes: "att_1"}}, []string{"", ""}},
		{"the id of another session's", []receipt{{id: "att_1", session: "ses_2", parties: "ab"}}, []string{"id alice bob", "id alice bob"}},
		{"with a witness", []receipt{{id: "att_1", session: "ses_1", parties: "ab", witness: "did:web:carol"}}, []string{"", ""}},
		{"a second receipt in versions", []receipt{
			{id: "att_2", session: "ses_1", parties: "ab"}, {id: "att_2", session: "ses_1", parties: "ab", witness: "did:web:carol"},
		}, []string{"session alice bob", "session alice bob", "session alice bob"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := fresh(t)
			var want []string
			for i, r := range append([]receipt{first}, test.with...) {
				c := candidate(t, r.value(t), everyone(t))
				if got := add(t, s, c); got[0] != store.New {
					t.Fatalf("receipt %d: %s", i, got[0])
				}
				want = append(want, c.Value.Hash().String()+" "+test.want[i])
			}
			var got []string
			for _, e := range list(t, s, store.Filter{}) {
				text := e.Hash.String() + " "
				for i, c := range e.Conflicts {
					text += strings.Repeat(" ", min(i, 1)) + c.About
					for _, id := range c.Agents {
						text += " " + strings.TrimPrefix(string(id), "did:web:")
					}
				}
				got = append(got, text)
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
			flagged := 0
			for _, conflicts := range test.want {
				flagged += min(1, len(conflicts))
			}
			contested := list(t, s, store.Filter{Conflicts: true})
			if len(contested) != flagged {
				t.Errorf("%d are listed as in conflict, want %d", len(contested), flagged)
			}
			for i, e := range contested {
				if rest := list(t, s, store.Filter{Conflicts: true, After: e.Position()}); len(rest) != len(contested)-i-1 {
					t.Errorf("after %d of %d in conflict: %d", i+1, len(contested), len(rest))
				}
			}
		})
	}
}

// Other artifacts conflict by their id, if one agent signed them.
func TestConflictingIDs(t *testing.T) {
	s := fresh(t)
	mine, other, strangers := mandate(t, "did:web:alice", "urn:concordia:mandate:1", 1), mandate(t, "did:web:alice", "urn:concordia:mandate:1", 2), mandate(t, "did:web:eve", "urn:concordia:mandate:1", 1)
	add(t, s, mine, strangers)
	if got := list(t, s, store.Filter{Conflicts: true}); len(got) > 0 {
		t.Errorf("a stranger's mandate of the same id makes a conflict: %v", got[0].Conflicts)
	}
	add(t, s, other)
	e, err := s.Get(mine.Value.Hash())
	if want := []store.Conflict{{About: "id", With: other.Value.Hash(), Agents: []wire.AgentID{"did:web:alice"}}}; err != nil || !slices.EqualFunc(want, e.Conflicts, equalConflicts) {
		t.Errorf("conflicts %v, want %v (%v)", e.Conflicts, want, err)
	}
}

func equalConflicts(a, b store.Conflict) bool {
	return a.About == b.About && a.With == b.With && slices.Equal(a.Agents, b.Agents)
}

// The version with the most signatures is the one that others point at.
func TestVersions(t *testing.T) {
	s := fresh(t)
	r := receipt{id: "att_1", session: "ses_1", parties: "ab"}
	plain := candidate(t, r.value(t), everyone(t))
	r.witness = "did:web:carol"
	witnessed := candidate(t, r.value(t), everyone(t))
	add(t, s, witnessed, plain)
	for hash, fuller := range map[wire.Hash]wire.Hash{plain.Value.Hash(): witnessed.Value.Hash(), witnessed.Value.Hash(): {}} {
		if e, err := s.Get(hash); err != nil || e.Fuller != fuller {
			t.Errorf("%s: fuller version %s, want %s (%v)", hash, e.Fuller, fuller, err)
		}
	}
}

// A session that many receipts claim costs no more than MaxRivals looks, and all of
// them are flagged.
func TestManyRivals(t *testing.T) {
	s := fresh(t)
	chain := func(n int) store.Candidate {
		r := receipt{id: fmt.Sprint("att_", n), session: "ses_1", parties: "ab"}
		if n > 0 {
			r.supersedes = fmt.Sprint("att_", n-1)
		}
		return candidate(t, r.value(t), everyone(t))
	}
	for n := range store.MaxRivals + 1 {
		add(t, s, chain(n))
	}
	if got := list(t, s, store.Filter{Conflicts: true}); len(got) > 0 {
		t.Errorf("of a chain of %d receipts %d are in conflict", store.MaxRivals+1, len(got))
	}
	add(t, s, chain(store.MaxRivals+1))
	if got := list(t, s, store.Filter{Conflicts: true}); len(got) != store.MaxRivals+2 || len(got[0].Conflicts) != store.MaxRivals {
		t.Errorf("beyond %d rivals, %d are in conflict", store.MaxRivals, len(got))
	}
}

// What nobody verified puts nothing in conflict.
func TestUnverified(t *testing.T) {
	s := fresh(t)
	second := receipt{id: "att_2", session: "ses_1", parties: "ab"}.value(t)
	add(t, s, candidate(t, receipt{id: "att_1", session: "ses_1", parties: "ab"}.value(t), everyone(t)), candidate(t, second, wire.KeyMap{}))
	if got := list(t, s, store.Filter{Conflicts: true}); len(got) > 0 {
		t.Errorf("%d in conflict", len(got))
	}
	add(t, s, candidate(t, second, everyone(t)))
	if got := list(t, s, store.Filter{Conflicts: true}); len(got) != 2 {
		t.Errorf("after it was verified, %d in conflict, want 2", len(got))
	}
}

// Whatever the order in which artifacts come and go, the same ones say the same.
func TestOrderDoesNotMatter(t *testing.T) {
	pool := []store.Candidate{
		candidate(t, receipt{id: "att_1", session: "ses_1", parties: "ab"}.value(t), everyone(t)),
		candidate(t, receipt{id: "att_1", session: "ses_1", parties: "ab", witness: "did:web:carol"}.value(t), everyone(t)),
		candidate(t, receipt{id: "att_2", session: "ses_1", parties: "ab", supersedes: "att_1"}.value(t), everyone(t)),
		candidate(t, receipt{id: "att_3", session: "ses_1", parties: "ab", supersedes: "att_2"}.value(t), everyone(t)),
		candidate(t, receipt{id: "att_3", session: "ses_1", parties: "am"}.value(t), everyone(t)),
	}
	passing := candidate(t, receipt{id: "att_9", session: "ses_1", parties: "ab"}.value(t), everyone(t))
	want := ""
	s := fresh(t)
	for order := range permutations(len(pool)) {
		for i, n := range order {
			add(t, s, pool[n])
			if i == n { // somewhere in between, one comes and goes
				add(t, s, passing)
				s.Delete(t.Context(), passing.Value.Hash())
			}
		}
		got := strings.Join(flags(t, s), "\n")
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("in order %v:\n%s\nbefore:\n%s", order, got, want)
		}
		for _, c := range pool {
			if there, err := s.Delete(t.Context(), c.Value.Hash()); err != nil || !there[0] {
				t.Fatal(there, err)
			}
		}
	}
	if strings.Count(want, "session") == 0 || strings.Count(want, "version of") != 1 {
		t.Errorf("the set shows little:\n%s", want)
	}
}

func permutations(n int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		var place func(k int) bool
		place = func(k int) bool {
			if k == n {
				return yield(order)
			}
			for i := k; i < n; i++ {
				order[k], order[i] = order[i], order[k]
				if !place(k + 1) {
					return false
				}
				order[k], order[i] = order[i], order[k]
			}
			return true
		}
		place(0)
	}
}

// A party that did not sign the whole, as in a version that binds no outcome, answers for
// nothing.
func TestUnboundParty(t *testing.T) {
	s := fresh(t)
	first := candidate(t, receipt{id: "att_1", session: "ses_1", parties: "ab"}.value(t), everyone(t))
	second := candidate(t, receipt{id: "att_2", session: "ses_1", parties: "ab"}.value(t), everyone(t))
	second.Value = second.Value.Without("countersignatures")
	add(t, s, first, second)
	if got := list(t, s, store.Filter{Conflicts: true}); len(got) > 0 {
		t.Errorf("%d in conflict", len(got))
	}
}
