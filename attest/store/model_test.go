package store_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/wire"
)

// A specimen is an artifact of the model, with what the model has to know of it.
type specimen struct {
	verified, unverified store.Candidate
	receipt              receipt // of which parties is empty for a mandate
	signers              []wire.AgentID
	id, core             string
}

// specimens are artifacts that conflict with one another in many ways.
func specimens(tb testing.TB) []specimen {
	var pool []specimen
	for _, r := range []receipt{
		{id: "att_1", session: "ses_1", parties: "ab"},
		{id: "att_1", session: "ses_1", parties: "ab", witness: "did:web:carol"},
		{id: "att_1", session: "ses_1", parties: "ab", rounds: 1},
		{id: "att_2", session: "ses_1", parties: "ab", supersedes: "att_1"},
		{id: "att_3", session: "ses_1", parties: "ab", supersedes: "att_2"},
		{id: "att_3", session: "ses_1", parties: "am", supersedes: "att_2"},
		{id: "att_3", session: "ses_1", parties: "em"},
		{id: "att_4", session: "ses_1", parties: "abc", supersedes: "att_3"},
		{id: "att_4", session: "ses_2", parties: "bc"},
		{id: "att_5", session: "ses_2", parties: "bc", supersedes: "att_6"},
		{id: "att_6", session: "ses_2", parties: "bc", supersedes: "att_5", witness: "did:web:alice"},
		{id: "att_6", session: "ses_2", parties: "bc", supersedes: "att_5"},
	} {
		v := r.value(tb)
		s := specimen{candidate(tb, v, everyone(tb)), candidate(tb, v, wire.KeyMap{}), r, nil, r.id, ""}
		for _, p := range r.parties {
			s.signers = append(s.signers, names[p])
		}
		r.witness = ""
		s.core = fmt.Sprint(r)
		pool = append(pool, s)
	}
	for i, who := range []wire.AgentID{"did:web:alice", "did:web:alice", "did:web:eve"} {
		c := mandate(tb, who, "urn:concordia:mandate:1", i+1)
		open := c
		open.Report = wire.Report{wire.Find("signature", false, wire.RuleUnknownKey.At("/signature"))}
		pool = append(pool, specimen{c, open, receipt{}, []wire.AgentID{who}, "urn:concordia:mandate:1", fmt.Sprint(who, i)})
	}
	return pool
}

// A model is what the store is to hold: whether each specimen is verified.
type model map[int]bool

// expect says by the rules of the package comment, pair by pair, what the store has to
// say of its content.
func (m model) expect(pool []specimen) []store.Entry {
	shared := func(a, b specimen) (list []wire.AgentID) {
		for _, id := range a.signers {
			if slices.Contains(b.signers, id) {
				list = append(list, id)
			}
		}
		return list
	}
	fullest := func(core string) int { // the index of the version to point at
		best := -1
		better := func(i, j int) bool {
			a, b := pool[i], pool[j]
			if m[i] != m[j] {
				return m[i]
			}
			if (a.receipt.witness == "") != (b.receipt.witness == "") {
				return a.receipt.witness != ""
			}
			return a.verified.Value.Hash().Hex() < b.verified.Value.Hash().Hex()
		}
		for i := range m {
			if pool[i].core == core && (best < 0 || better(i, best)) {
				best = i
			}
		}
		return best
	}
	direct := func(a, b specimen) bool {
		return a.receipt.session == b.receipt.session && a.receipt.supersedes == b.id && len(shared(b, a)) == len(b.signers)
	}
	var reaches func(i, j int, seen map[int]bool) bool
	reaches = func(i, j int, seen map[int]bool) bool {
		for k := range m {
			if m[k] && !seen[k] && direct(pool[i], pool[k]) {
				seen[k] = true
				if pool[k].core == pool[j].core || reaches(k, j, seen) {
					return true
				}
			}
		}
		return false
	}
	var entries []store.Entry
	for i, verified := range m {
		a := pool[i]
		e := store.Entry{Hash: a.verified.Value.Hash(), ID: a.id, Unverified: !verified}
		e.Time = now
		if best := fullest(a.core); best != i {
			e.Fuller = pool[best].verified.Value.Hash()
		}
		for j := range m {
			b := pool[j]
			if !verified || !m[j] || a.core == b.core || fullest(b.core) != j || len(shared(a, b)) == 0 {
				continue
			}
			if a.id == b.id {
				e.Conflicts = append(e.Conflicts, store.Conflict{About: "id", With: b.verified.Value.Hash(), Agents: shared(a, b)})
			}
			if a.receipt.session != "" && a.receipt.session == b.receipt.session &&
				reaches(i, j, map[int]bool{}) == reaches(j, i, map[int]bool{}) {
				e.Conflicts = append(e.Conflicts, store.Conflict{About: "session", With: b.verified.Value.Hash(), Agents: shared(a, b)})
			}
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, byPosition)
	return entries
}

// modelOps runs operations on a store and on a model, and compares them.
func modelOps(t *testing.T, pool []specimen, ops []byte) {
	path := filepath.Join(t.TempDir(), "artifacts.db")
	s, err := store.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	m := model{}
	for n, op := range ops {
		i := int(op>>2) % len(pool)
		verified, there := m[i]
		switch op & 3 {
		case 0, 1:
			c, want := pool[i].verified, store.New
			if op&3 == 1 {
				c = pool[i].unverified
			}
			switch {
			case there && !verified && op&3 == 0:
				want = store.Confirmed
			case there:
				want = store.Known
			}
			answers, err := s.Add(t.Context(), now, true, c)
			if err != nil || answers[0].Status != want {
				t.Fatalf("operation %d: %v, %v; want %s", n, answers, err, want)
			}
			m[i] = verified || op&3 == 0
		case 2:
			if got, err := s.Delete(t.Context(), pool[i].verified.Value.Hash()); err != nil || got[0] != there {
				t.Fatalf("operation %d: deleted %v, %v; want %v", n, got, err, there)
			}
			delete(m, i)
		case 3:
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = store.Open(path, nil); err != nil {
				t.Fatal(err)
			}
		}
		if n%4 == 3 || n == len(ops)-1 {
			want, got := flagsOf(m.expect(pool)), flags(t, s)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("after operation %d (-want +got):\n%s", n, diff)
			}
			contested := slices.DeleteFunc(list(t, s, store.Filter{}), func(e store.Entry) bool { return len(e.Conflicts) == 0 })
			same := func(a, b store.Entry) bool {
				return a.Hash == b.Hash && slices.EqualFunc(a.Conflicts, b.Conflicts, equalConflicts)
			}
			if got := list(t, s, store.Filter{Conflicts: true}); !slices.EqualFunc(contested, got, same) {
				t.Fatalf("after operation %d: %d artifacts are in conflict, %d are listed as such", n, len(contested), len(got))
			}
		}
	}
}

func TestModel(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	pool := specimens(t)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		ops := make([]byte, 60)
		for i := range ops {
			ops[i] = byte(r.Uint32())
			if ops[i]&3 == 3 && r.IntN(4) > 0 {
				ops[i] &^= 3 // opening again is slow
			}
		}
		modelOps(t, pool, ops)
	}
}

func FuzzModel(f *testing.F) {
	pool := specimens(f)
	f.Add([]byte{0, 4, 8, 3, 12, 2, 16, 21})
	f.Add([]byte(strings.Repeat("\x00\x01\x02\x24\x28\x2c", 5)))
	f.Fuzz(func(t *testing.T, ops []byte) {
		modelOps(t, pool, ops[:min(len(ops), 40)])
	})
}

// Revocations count as they do anywhere, and show what they reach.
func TestRevocations(t *testing.T) {
	s := fresh(t)
	m := mandate(t, "did:web:alice", "urn:concordia:mandate:1", 1)
	namesake := mandate(t, "did:web:eve", "urn:concordia:mandate:1", 1)
	revoke := func(who wire.AgentID, id, scope, effective string) store.Candidate {
		draft, err := wire.Encode(wire.M{"revoked_artifact_id": id, "revoked_artifact_type": "mandate", "reason": "lost",
			"revocation_scope": scope, "effective_at": effective, "revocation_id": "urn:concordia:revocation:" + strings.TrimPrefix(string(who), "did:web:")})
		if err != nil {
			t.Fatal(err)
		}
		v, err := issuer(t, who).Revocation(draft)
		if err != nil {
			t.Fatal(err)
		}
		return store.Candidate{Value: v, Kind: "revocation", Report: wire.Report{wire.Find("signature", false, nil)}}
	}
	approve := func(relationship string) store.Candidate {
		draft, err := wire.Encode(wire.M{
			"scope": wire.M{"decision": "approve", "offer_hash": wire.HashOf("offer"), "amount": relationship, "threshold_crossed": "x"},
			"references": []wire.M{
				{"type": "negotiation_session", "id": "urn:concordia:session:ses_1", "relationship": "approves"},
				{"type": "mandate", "id": "urn:concordia:mandate:1", "relationship": relationship},
			},
			"id": "urn:concordia:receipt:" + relationship,
		})
		if err != nil {
			t.Fatal(err)
		}
		v, err := issuer(t, "did:web:carol").Approval(draft)
		if err != nil {
			t.Fatal(err)
		}
		return store.Candidate{Value: v, Kind: "approval_receipt", Report: wire.Report{wire.Find("signature", false, nil)}}
	}
	approval, aside, unverified := approve("fulfills"), approve("references"), approve("extends")
	unverified.Report = wire.Report{wire.Find("signature", false, wire.RuleUnknownKey.At("/signature"))}
	record := revoke("did:web:alice", "urn:concordia:mandate:1", "cascade_to_dependents", "2026-09-14T11:00:00Z")
	add(t, s, m, namesake, approval, aside, unverified)
	if got := list(t, s, store.Filter{Session: "ses_1"}); len(got) != 3 {
		t.Errorf("of the session that it approves: %d", len(got))
	}
	add(t, s, record, revoke("did:web:mallory", "urn:concordia:mandate:1", "single_artifact", "2026-09-14T09:00:00Z"))

	trust := func(who ...wire.AgentID) func(wire.AgentID) bool {
		return func(id wire.AgentID) bool { return slices.Contains(who, id) }
	}
	tests := []struct {
		name    string
		of      store.Candidate
		minutes int
		trusted func(wire.AgentID) bool
		want    []string // depth and whether each counts
	}{
		{"its own issuer's", m, 120, trust(), []string{"0 alice true", "0 mallory false"}},
		{"not yet in force", m, 119, trust(), []string{"0 alice false", "0 mallory false"}},
		{"a revoker's", m, 0, trust("did:web:mallory"), []string{"0 alice false", "0 mallory true"}},
		{"of somebody else's with that id", namesake, 120, trust(), []string{"0 alice false", "0 mallory false"}},
		{"of what it depends on", approval, 120, trust(), []string{"1 alice true", "1 mallory false"}},
		{"of what it only mentions", aside, 120, trust(), nil},
		{"that does not reach it", approval, 120, trust("did:web:mallory"), []string{"1 alice true", "1 mallory false"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := attest.Verifier{Keys: everyone(t), Now: now.Add(minutes(test.minutes))}
			list, err := s.Withdrawals(f, test.of.Value.Hash(), test.trusted)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range list {
				got = append(got, fmt.Sprint(w.Depth, " ", strings.TrimPrefix(string(w.Record.Agents[0]), "did:web:"), " ", w.Err == nil))
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}

	f := attest.Verifier{Keys: everyone(t), Now: now.Add(minutes(120))}
	var ids []string
	err := s.Reached(f, []wire.Value{record.Value}, nil, func(_ int, reached []attest.Reached, report wire.Report) error {
		for _, r := range reached {
			ids = append(ids, fmt.Sprint(r.Depth, " ", r.ID))
		}
		return report.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{
		"0 urn:concordia:mandate:1": true, "1 urn:concordia:receipt:fulfills": true,
		"1 urn:concordia:receipt:references": false, "1 urn:concordia:receipt:extends": false, // unverified
	} {
		if slices.Contains(ids, id) != want {
			t.Errorf("it reaches %v; %s is among them: %v, want %v", ids, id, !want, want)
		}
	}
	known, reports, err := s.Revocations(f, nil)
	if err != nil || len(reports) != 2 {
		t.Fatal(len(reports), err)
	}
	f.Revocations = known
	for _, test := range []struct {
		of   store.Candidate
		want bool
	}{{m, true}, {namesake, false}} {
		issuer, _ := test.of.Value.Get("issuer")
		if err := f.CheckRevoked("urn:concordia:mandate:1", wire.AgentID(issuer.Text())); (err != nil) != test.want {
			t.Errorf("%s: %v, want revoked %v", issuer.Text(), err, test.want)
		}
	}
}
