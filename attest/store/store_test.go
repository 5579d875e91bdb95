package store_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/wire"
)

var now = time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC)

// key is the key of an agent, made of its name.
func key(tb testing.TB, who wire.AgentID) wire.PrivateKey {
	tb.Helper()
	k, err := wire.NewPrivateKey([]byte(string(who) + strings.Repeat(".", wire.SeedSize-len(who))))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// everyone are the keys of whoever signs here.
func everyone(tb testing.TB) wire.KeyMap {
	keys := wire.KeyMap{}
	for _, who := range []wire.AgentID{"did:web:alice", "did:web:bob", "did:web:carol", "did:web:eve", "did:web:mallory"} {
		keys[who] = key(tb, who).Public()
	}
	return keys
}

// A receipt of a session by parties, which differs from others by its rounds.
type receipt struct {
	id, session string
	parties     string // names, one letter after another; see names
	rounds      int
	supersedes  string
	witness     wire.AgentID
	day         int // after now
}

var names = map[rune]wire.AgentID{'a': "did:web:alice", 'b': "did:web:bob", 'c': "did:web:carol", 'e': "did:web:eve", 'm': "did:web:mallory"}

func (r receipt) value(tb testing.TB) wire.Value {
	tb.Helper()
	d := attest.Draft{
		ID: r.id, Session: wire.SessionID(r.session), Time: now.AddDate(0, 0, r.day),
		Outcome:        attest.Outcome{Status: attest.StatusAgreed, Rounds: r.rounds, Mechanism: attest.MechanismDirect},
		TranscriptHash: wire.HashOf("transcript"), ChainHead: wire.HashOf("head"), MessageCount: 4,
	}
	for i, p := range r.parties {
		role := attest.RoleInitiator
		if i > 0 {
			role = attest.RoleResponder
		}
		d.Parties = append(d.Parties, attest.Party{Agent: names[p], Role: role})
	}
	if r.supersedes != "" {
		l, err := wire.Encode(wire.M{"type": "receipt", "id": r.supersedes, "relationship": "supersedes"})
		if err != nil {
			tb.Fatal(err)
		}
		d.References = []wire.Value{l}
	}
	v, err := d.Value()
	if err != nil {
		tb.Fatal(err)
	}
	for _, p := range r.parties {
		if v, err = attest.Countersign(v, names[p], key(tb, names[p])); err != nil {
			tb.Fatal(err)
		}
	}
	if r.witness != "" {
		if v, err = attest.Witness(v, r.witness, key(tb, r.witness)); err != nil {
			tb.Fatal(err)
		}
	}
	return v
}

// candidate verifies a receipt under keys.
func candidate(tb testing.TB, v wire.Value, keys wire.Keys) store.Candidate {
	tb.Helper()
	_, report := attest.Verifier{Keys: keys, Now: now.AddDate(0, 0, 30)}.VerifyAttestation(v, attest.OutcomeBound())
	return store.Candidate{Value: v, Kind: "attestation", Report: report}
}

func issuer(tb testing.TB, who wire.AgentID) attest.Issuer {
	return attest.Issuer{Agent: who, Key: key(tb, who), Now: now, Random: strings.NewReader(strings.Repeat(string(who), 100)), Keys: everyone(tb)}
}

// mandate is one of that id.
func mandate(tb testing.TB, who wire.AgentID, id string, uses int) store.Candidate {
	tb.Helper()
	draft, err := wire.Encode(wire.M{
		"mandate_id": id, "subject": "did:web:bob", "constraints": wire.M{"type": "object"},
		"validity": wire.M{"mode": "windowed", "not_before": "2026-09-14T08:00:00Z", "not_after": "2026-10-14T08:00:00Z", "max_uses": uses},
	})
	if err != nil {
		tb.Fatal(err)
	}
	v, err := issuer(tb, who).Mandate(draft)
	if err != nil {
		tb.Fatal(err)
	}
	return store.Candidate{Value: v, Kind: "mandate", Report: wire.Report{wire.Find("signature", false, nil)}}
}

func open(tb testing.TB, path string) *store.Store {
	tb.Helper()
	s, err := store.Open(path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

func fresh(tb testing.TB) *store.Store {
	return open(tb, filepath.Join(tb.TempDir(), "artifacts.db"))
}

func add(tb testing.TB, s *store.Store, list ...store.Candidate) []store.Status {
	tb.Helper()
	answers, err := s.Add(tb.Context(), now, true, list...)
	if err != nil {
		tb.Fatal(err)
	}
	statuses := make([]store.Status, len(answers))
	for i, a := range answers {
		statuses[i] = a.Status
	}
	return statuses
}

func list(tb testing.TB, s *store.Store, f store.Filter) []store.Entry {
	tb.Helper()
	var all []store.Entry
	for e, err := range s.List(f) {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// flags are the conflicts of all artifacts, by id and rounds or uses, as text.
func flags(tb testing.TB, s *store.Store) []string {
	tb.Helper()
	return flagsOf(list(tb, s, store.Filter{}))
}

func flagsOf(entries []store.Entry) []string {
	label := map[wire.Hash]string{}
	for _, e := range entries {
		label[e.Hash] = e.ID + e.Hash.Hex()[:4]
	}
	var all []string
	for _, e := range entries {
		text := label[e.Hash] + ":"
		var conflicts []string
		for _, c := range e.Conflicts {
			conflicts = append(conflicts, fmt.Sprintf(" %s %s %v", c.About, label[c.With], c.Agents))
		}
		slices.Sort(conflicts)
		if text += strings.Join(conflicts, ""); e.Fuller != (wire.Hash{}) {
			text += " version of " + label[e.Fuller]
		}
		if e.Unverified {
			text += " unverified"
		}
		all = append(all, text)
	}
	return all
}

func TestAdd(t *testing.T) {
	v := receipt{id: "att_1", session: "ses_1", parties: "ab"}.value(t)
	good, unknown := candidate(t, v, everyone(t)), candidate(t, v, wire.KeyMap{})
	countersignatures, _ := v.Get("countersignatures")
	other, _ := countersignatures.Get("did:web:alice")
	bad := candidate(t, v.With("countersignatures", countersignatures.With("did:web:bob", other)), everyone(t))
	tests := []struct {
		name       string
		unverified bool
		before     *store.Candidate
		add        store.Candidate
		want       store.Status
		flagged    bool
	}{
		{"new", false, nil, good, store.New, false},
		{"known", false, &good, good, store.Known, false},
		{"a key is missing", false, nil, unknown, store.Refused, false},
		{"a key is missing, and wanted all the same", true, nil, unknown, store.New, true},
		{"again", true, &unknown, unknown, store.Known, true},
		{"verified later", false, &unknown, good, store.Confirmed, false},
		{"verified before", true, &good, unknown, store.Known, false},
		{"fails", true, nil, bad, store.Refused, false},
		{"nobody verified it", true, nil, store.Candidate{Value: v, Kind: "attestation"}, store.Refused, false},
		{"unknown kind", true, nil, store.Candidate{Value: v, Kind: "message", Report: good.Report}, store.Refused, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := fresh(t)
			stored := now
			if test.before != nil {
				stored = now.Add(-time.Hour)
				if _, err := s.Add(t.Context(), stored, true, *test.before); err != nil {
					t.Fatal(err)
				}
			}
			answers, err := s.Add(t.Context(), now, test.unverified, test.add)
			if err != nil || answers[0].Status != test.want || (answers[0].Err != nil) != (test.want == store.Refused) {
				t.Fatalf("Add: %v, %v; want %s", answers, err, test.want)
			}
			e, err := s.Get(test.add.Value.Hash())
			if test.want == store.Refused {
				if !errors.Is(err, store.ErrNotStored) {
					t.Errorf("what was refused is there: %v", err)
				}
				return
			}
			if err != nil || e.Unverified != test.flagged || !e.Stored.Equal(stored) || !e.Value.Equal(v) {
				t.Errorf("stored: %+v, %v", e, err)
			}
		})
	}
}

func TestFilter(t *testing.T) {
	s := fresh(t)
	r1 := candidate(t, receipt{id: "att_1", session: "ses_1", parties: "ab", day: 1}.value(t), everyone(t))
	r2 := candidate(t, receipt{id: "att_2", session: "ses_2", parties: "ac", day: 2}.value(t), everyone(t))
	r3 := candidate(t, receipt{id: "att_3", session: "ses_3", parties: "bc", day: 3}.value(t), everyone(t))
	m := mandate(t, "did:web:alice", "urn:concordia:mandate:1", 1)
	add(t, s, r3, m, r1, r2)
	all := []store.Candidate{m, r1, r2, r3} // by time
	day := func(n int) time.Time { return now.AddDate(0, 0, n) }
	tests := []struct {
		name   string
		filter store.Filter
		want   []store.Candidate
	}{
		{"all", store.Filter{}, all},
		{"kind", store.Filter{Kind: "mandate"}, all[:1]},
		{"agent", store.Filter{Agent: "did:web:carol"}, all[2:]},
		{"subject", store.Filter{Agent: "did:web:bob"}, []store.Candidate{m, r1, r3}},
		{"session", store.Filter{Session: "ses_2"}, all[2:3]},
		{"session by URN", store.Filter{Session: "urn:concordia:session:ses_2"}, all[2:3]},
		{"id", store.Filter{ID: "att_3"}, all[3:]},
		{"id by URN", store.Filter{ID: "urn:concordia:attestation:att_3"}, all[3:]},
		{"since", store.Filter{Since: day(2)}, all[2:]},
		{"since a moment later", store.Filter{Since: day(2).Add(1)}, all[3:]},
		{"until", store.Filter{Until: day(2)}, all[:2]},
		{"until a moment later", store.Filter{Until: day(2).Add(1)}, all[:3]},
		{"agent and kind", store.Filter{Agent: "did:web:alice", Kind: "attestation"}, all[1:3]},
		{"agent and time", store.Filter{Agent: "did:web:alice", Since: day(1), Until: day(2)}, all[1:2]},
		{"id of another", store.Filter{ID: "att_3", Agent: "did:web:alice"}, nil},
		{"none", store.Filter{Agent: "did:web:mallory"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			entries := list(t, s, test.filter)
			var got, want []wire.Hash
			for _, e := range entries {
				got = append(got, e.Hash)
			}
			for _, c := range test.want {
				want = append(want, c.Value.Hash())
			}
			if !slices.Equal(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			for i, e := range entries { // from each position on, the rest
				f := test.filter
				after, err := store.ParsePosition(e.Position().String())
				if err != nil {
					t.Fatal(err)
				}
				f.After = after
				if rest := list(t, s, f); len(rest) != len(entries)-i-1 || len(rest) > 0 && rest[0].Hash != got[i+1] {
					t.Errorf("after %d of %d: %d", i+1, len(entries), len(rest))
				}
			}
		})
	}
}

// A position is one that String wrote, and no other text.
func TestParsePosition(t *testing.T) {
	for _, text := range []string{"", "ff", "zz", strings.Repeat("f", 88), strings.Repeat("0", 16) + "ffffffff" + strings.Repeat("0", 64)} {
		if p, err := store.ParsePosition(text); err == nil {
			t.Errorf("ParsePosition(%s) = %s", text, p)
		}
	}
	for _, text := range []string{store.Position{}.String(), strings.Repeat("0", 88)} {
		if p, err := store.ParsePosition(text); err != nil || p.String() != text {
			t.Errorf("ParsePosition(%s) = %s, %v", text, p, err)
		}
	}
}

// A listing longer than one transaction, in which artifacts are deleted as it goes.
func TestListWhileDeleting(t *testing.T) {
	s := fresh(t)
	const n = 600
	var batch []store.Candidate
	for i := range n {
		batch = append(batch, mandate(t, "did:web:alice", fmt.Sprint("urn:concordia:mandate:", i), 1))
	}
	add(t, s, batch...)
	seen := 0
	for e, err := range s.List(store.Filter{Agent: "did:web:alice"}) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if there, err := s.Delete(t.Context(), e.Hash); err != nil || !there[0] {
			t.Fatal(there, err)
		}
	}
	if left := list(t, s, store.Filter{}); seen != n || len(left) > 0 {
		t.Errorf("listed %d, left %d", seen, len(left))
	}
}

func TestDelete(t *testing.T) {
	path := filepath.Join(t.TempDir(), "artifacts.db")
	s := open(t, path)
	one, two := mandate(t, "did:web:alice", "urn:concordia:mandate:1", 1), mandate(t, "did:web:alice", "urn:concordia:mandate:2", 1)
	add(t, s, one, two)
	there, err := s.Delete(t.Context(), one.Value.Hash(), wire.HashOf("nothing"))
	if err != nil || !slices.Equal(there, []bool{true, false}) {
		t.Fatal(there, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	if got := list(t, s, store.Filter{}); len(got) != 1 || got[0].ID != "urn:concordia:mandate:2" {
		t.Errorf("after a deletion and opening again: %v", got)
	}
	if got := add(t, s, one); got[0] != store.New {
		t.Errorf("imported again: %s", got[0])
	}
	s.Delete(t.Context(), one.Value.Hash(), two.Value.Hash())
	s.Close()
	b, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			if k, _ := b.Cursor().First(); k != nil {
				t.Errorf("an empty store has %q in %s", k, name)
			}
			return nil
		})
	})
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "foreign.db")
	b, err := bolt.Open(foreign, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("log")); return err })
	b.Close()
	before, _ := os.ReadFile(foreign)
	for _, path := range []string{text, foreign} {
		for _, readOnly := range []bool{false, true} {
			if s, err := store.Open(path, &store.Options{ReadOnly: readOnly}); err == nil {
				s.Close()
				t.Errorf("%s was opened", path)
			}
		}
	}
	if after, _ := os.ReadFile(foreign); !bytes.Equal(before, after) {
		t.Error("another program's database was changed")
	}
	if _, err := store.Open(filepath.Join(dir, "absent.db"), &store.Options{ReadOnly: true}); err == nil {
		t.Error("a store that is not there was opened to read")
	}
	s := open(t, filepath.Join(dir, "new.db"))
	if info, err := os.Stat(filepath.Join(dir, "new.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	s.Close()
}

// Any byte of a stored artifact that changes is noticed; the others are still there,
// and the damaged one can be deleted or imported again.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "artifacts.db")
	one, two := mandate(t, "did:web:alice", "urn:concordia:mandate:1", 1), mandate(t, "did:web:alice", "urn:concordia:mandate:1", 2)
	s := open(t, path)
	add(t, s, one, two)
	s.Close()
	hash := one.Value.Hash()
	var whole []byte
	change := func(to func(b []byte) []byte) {
		b, err := bolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = b.Update(func(tx *bolt.Tx) error {
			bucket := tx.Bucket([]byte("artifacts/1"))
			if whole == nil {
				whole = bytes.Clone(bucket.Get(hash[:]))
			}
			return bucket.Put(hash[:], to(bytes.Clone(whole)))
		})
		if err = errors.Join(err, b.Close()); err != nil {
			t.Fatal(err)
		}
	}
	damages := []func([]byte) []byte{func(b []byte) []byte { return b[:3] }, func(b []byte) []byte { return b[:len(b)-1] }}
	change(func(b []byte) []byte { return b })
	for i := 0; i < len(whole); i += max(1, (i-30)/8) {
		damages = append(damages, func(b []byte) []byte { b[i] ^= 1; return b })
	}
	for i, damage := range damages {
		change(damage)
		s = open(t, path)
		if _, err := s.Get(hash); !errors.Is(err, store.ErrDamaged) {
			t.Fatalf("damage %d: %v", i, err)
		}
		read, damaged := 0, 0
		for e, err := range s.List(store.Filter{}) {
			switch {
			case err == nil:
				read++
			case errors.Is(err, store.ErrDamaged) && e.Hash == hash:
				damaged++
			default:
				t.Fatal(err)
			}
		}
		if read != 1 || damaged != 1 {
			t.Fatalf("damage %d: %d read, %d damaged", i, read, damaged)
		}
		if i%2 == 0 {
			if there, err := s.Delete(t.Context(), hash); err != nil || !there[0] {
				t.Fatal(there, err)
			}
			if got := list(t, s, store.Filter{}); len(got) != 1 || len(got[0].Conflicts) != 0 {
				t.Fatalf("damage %d: after the deletion: %v", i, flagsOf(got))
			}
		}
		if got := add(t, s, one); got[0] != store.New {
			t.Fatalf("damage %d: imported again: %s", i, got[0])
		}
		if got := list(t, s, store.Filter{Conflicts: true}); len(got) != 2 {
			t.Fatalf("damage %d: %v", i, flagsOf(got))
		}
		s.Close()
	}
}

// Many goroutines add the same artifacts: each is new to one of them.
func TestConcurrent(t *testing.T) {
	s := fresh(t)
	var list []store.Candidate
	for i := range 20 {
		list = append(list, mandate(t, "did:web:alice", fmt.Sprint("urn:concordia:mandate:", i), 1))
	}
	results := make(chan []store.Answer)
	for range 8 {
		go func() {
			answers, err := s.Add(context.Background(), now, false, list...)
			if err != nil {
				t.Error(err)
			}
			results <- answers
		}()
	}
	count := map[store.Status]int{}
	for range 8 {
		for _, a := range <-results {
			count[a.Status]++
		}
	}
	if want := map[store.Status]int{store.New: 20, store.Known: 140}; !maps.Equal(count, want) {
		t.Errorf("%v, want %v", count, want)
	}
}

func byPosition(a, b store.Entry) int {
	return cmp.Or(a.Time.Compare(b.Time), bytes.Compare(a.Hash[:], b.Hash[:]))
}

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }
