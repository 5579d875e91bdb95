package attest_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const mandate1 = "urn:concordia:mandate:1"

// on is an artifact that fulfills others.
func on(id string, ids ...string) attest.Dependent {
	d := attest.Dependent{ID: id}
	for _, other := range ids {
		d.Links = append(d.Links, attest.Link{ID: other, Relationship: "fulfills"})
	}
	return d
}

// scope is the revocation of revocation_test.go with another depth.
func scope(tb testing.TB, depth int) wire.Value {
	return signBlock(tb, edit(tb, revocation(tb), fmt.Sprint(depth), "cascade_depth"), "did:web:treasury")
}

// believed trusts every revoker whose record verifies.
func believed(wire.AgentID) bool { return true }

// cascade says what a record reaches as "id depth via" each.
func cascade(tb testing.TB, record wire.Value, artifacts ...attest.Dependent) string {
	tb.Helper()
	reached, report := verifier(tb, "did:web:treasury").Cascade(record, believed, attest.IndexDependents(artifacts))
	if report.Err() != nil {
		tb.Fatal(report.Err())
	}
	var said []string
	for _, r := range reached {
		if r.Depth == 0 {
			if r.ID != mandate1 || r.Via != "" || r.Artifact != -1 || r.Link != -1 {
				tb.Errorf("the root is %+v", r)
			}
			continue
		}
		a := artifacts[r.Artifact]
		if a.ID != r.ID || a.Links[r.Link].ID != r.Via {
			tb.Errorf("%+v cites %+v", r, a)
		}
		said = append(said, fmt.Sprintf("%s %d %s", r.ID, r.Depth, r.Via))
	}
	return strings.Join(said, ", ")
}

func TestCascade(t *testing.T) {
	by := func(relationship string) attest.Dependent {
		return attest.Dependent{ID: "a", Links: []attest.Link{{ID: "x", Relationship: "fulfills"}, {ID: mandate1, Relationship: relationship}}}
	}
	single := signBlock(t, edit(t, revocation(t), `"single_artifact"`, "revocation_scope"), "did:web:treasury")
	chain := []attest.Dependent{on("a", mandate1), on("b", "a"), on("c", "b")}
	long := []attest.Dependent{on("1", mandate1)}
	for i := 2; i < 12; i++ {
		long = append(long, on(fmt.Sprint(i), fmt.Sprint(i-1)))
	}
	for _, test := range []struct {
		name      string
		record    wire.Value
		artifacts []attest.Dependent
		want      string
	}{
		{"nobody", scope(t, 2), nil, ""},
		{"fulfills", scope(t, 2), []attest.Dependent{by("fulfills")}, "a 1 " + mandate1},
		{"extends", scope(t, 2), []attest.Dependent{by("extends")}, "a 1 " + mandate1},
		{"approves", scope(t, 2), []attest.Dependent{by("approves")}, "a 1 " + mandate1},
		{"revokes", scope(t, 2), []attest.Dependent{by("revokes")}, "a 1 " + mandate1},
		{"references", scope(t, 2), []attest.Dependent{by("references")}, ""},
		{"supersedes", scope(t, 2), []attest.Dependent{by("supersedes")}, ""},
		{"unknown", scope(t, 2), []attest.Dependent{by("Fulfills")}, ""},
		{"depth 0", scope(t, 0), chain, ""},
		{"depth 1", scope(t, 1), chain, "a 1 " + mandate1},
		{"depth 2", scope(t, 2), chain, "a 1 " + mandate1 + ", b 2 a"},
		{"depth 3", scope(t, 3), chain, "a 1 " + mandate1 + ", b 2 a, c 3 b"},
		{"single", single, chain, ""},
		{"shortest way", scope(t, 8), []attest.Dependent{on("c", "b", mandate1), on("b", "a"), on("a", mandate1)}, "c 1 " + mandate1 + ", a 1 " + mandate1 + ", b 2 a"},
		{"cycle", scope(t, 8), []attest.Dependent{on("a", "c", mandate1), on("b", "a"), on("c", "b", "c"), on(mandate1, "c")}, "a 1 " + mandate1 + ", b 2 a, c 3 b"},
		{"listed twice", scope(t, 8), []attest.Dependent{on("a", "x"), on("a", mandate1), on("a", mandate1), on("b", "a", "a")}, "a 1 " + mandate1 + ", b 2 a"},
		{"deepest", scope(t, 8), long, "1 1 " + mandate1 + ", 2 2 1, 3 3 2, 4 4 3, 5 5 4, 6 6 5, 7 7 6, 8 8 7"},
	} {
		if got := cascade(t, test.record, test.artifacts...); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

// Where everything depends on everything, each is reached once, by the shortest way. A
// search of all paths would not end: there are more than 10^19 of length eight.
func TestCascadeDense(t *testing.T) {
	ids := []string{mandate1}
	for i := range 255 {
		ids = append(ids, fmt.Sprint("a", i))
	}
	var artifacts []attest.Dependent
	for _, id := range ids[1:] {
		artifacts = append(artifacts, on(id, ids...))
	}
	reached, report := verifier(t, "did:web:treasury").Cascade(scope(t, 8), believed, attest.IndexDependents(artifacts))
	if report.Err() != nil || len(reached) != len(ids) {
		t.Fatalf("%d reached: %v", len(reached), report.Err())
	}
	for _, r := range reached[1:] {
		if r.Depth != 1 {
			t.Errorf("%s at depth %d", r.ID, r.Depth)
		}
	}
}

// A record that does not count reaches nothing.
func TestCascadeCounts(t *testing.T) {
	const treasury = "did:web:treasury"
	effective := time.Date(2026, 9, 14, 9, 45, 0, 0, time.UTC)
	artifacts := []attest.Dependent{on("a", mandate1)}
	own := append(artifacts, attest.Dependent{ID: mandate1, Issuer: treasury})
	foreign := append(artifacts, attest.Dependent{ID: mandate1, Issuer: "did:web:other"}, attest.Dependent{ID: "b", Issuer: treasury})
	for _, test := range []struct {
		name    string
		record  wire.Value
		keys    wire.Keys
		now     time.Time
		trusted func(wire.AgentID) bool
		among   []attest.Dependent
		reached int
		outcome wire.Outcome
	}{
		{"trusted", revocation(t), nil, judged, believed, artifacts, 2, wire.Passed},
		{"by its own issuer", revocation(t), nil, judged, nil, own, 3 - 1, wire.Passed},
		{"by somebody", revocation(t), nil, judged, nil, foreign, 0, wire.NotChecked},
		{"by somebody not trusted", revocation(t), nil, judged, func(wire.AgentID) bool { return false }, artifacts, 0, wire.NotChecked},
		{"from that moment", revocation(t), nil, effective, believed, artifacts, 2, wire.Passed},
		{"a second before", revocation(t), nil, effective.Add(-time.Second), believed, artifacts, 0, wire.Passed},
		{"changed", edit(t, revocation(t), `8`, "cascade_depth"), nil, judged, believed, artifacts, 0, wire.Failed},
		{"unsigned", revocation(t).Without("signature"), nil, judged, believed, artifacts, 0, wire.Failed},
		{"key unknown", revocation(t), wire.KeyMap{}, judged, believed, artifacts, 0, wire.NotChecked},
		{"nobody depends", revocation(t), nil, judged, believed, nil, 1, wire.Passed},
	} {
		f := verifier(t, treasury)
		f.Now = test.now
		if test.keys != nil {
			f.Keys = test.keys
		}
		reached, report := f.Cascade(test.record, test.trusted, attest.IndexDependents(test.among))
		if len(reached) != test.reached || report.Outcome() != test.outcome {
			t.Errorf("%s: reached %v, %v: %v", test.name, reached, report.Outcome(), report.Err())
		}
	}
	if reached, _ := verifier(t, treasury).Cascade(revocation(t), believed, nil); len(reached) != 1 {
		t.Errorf("without an index: %v", reached)
	}
}

// On random graphs the result is what a slow search of all paths finds.
func TestCascadeRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var artifacts []attest.Dependent
		for range random.IntN(7) {
			a := on(fmt.Sprint(random.IntN(6)))
			for range random.IntN(4) {
				id := fmt.Sprint(random.IntN(6))
				if random.IntN(5) == 0 {
					id = mandate1
				}
				a.Links = append(a.Links, attest.Link{ID: id, Relationship: []string{"fulfills", "references"}[random.IntN(2)]})
			}
			artifacts = append(artifacts, a)
		}
		depth := random.IntN(5)
		want := map[string]int{}
		slowCascade(artifacts, mandate1, 0, depth, want)
		got := map[string]int{}
		reached, _ := verifier(t, "did:web:treasury").Cascade(scope(t, depth), believed, attest.IndexDependents(artifacts))
		for _, r := range reached {
			got[r.ID] = r.Depth
		}
		if !reflect.DeepEqual(got, want) || !slices.IsSortedFunc(reached, func(a, b attest.Reached) int { return a.Depth - b.Depth }) {
			t.Fatalf("%v to depth %d: got %v, want %v", artifacts, depth, got, want)
		}
	}
}

func slowCascade(artifacts []attest.Dependent, id string, depth, most int, found map[string]int) {
	if d, ok := found[id]; !ok || depth < d {
		found[id] = depth
	}
	if depth == most {
		return
	}
	for _, a := range artifacts {
		for _, l := range a.Links {
			if l.ID == id && l.Relationship == "fulfills" {
				slowCascade(artifacts, a.ID, depth+1, most, found)
			}
		}
	}
}

// tree is n artifacts of which each has ten dependents.
func tree(n int) []attest.Dependent {
	artifacts := make([]attest.Dependent, n)
	for i := range artifacts {
		parent := mandate1
		if i > 0 {
			parent = fmt.Sprint("urn:concordia:receipt:", (i-1)/10)
		}
		artifacts[i] = on(fmt.Sprint("urn:concordia:receipt:", i), parent, "urn:concordia:session:1")
	}
	return artifacts
}

// complete is n artifacts each of which depends on all others and on the mandate.
func complete(n int) []attest.Dependent {
	artifacts := make([]attest.Dependent, n)
	for i := range artifacts {
		artifacts[i] = on(fmt.Sprint(i), mandate1)
		for j := range n {
			artifacts[i].Links = append(artifacts[i].Links, attest.Link{ID: fmt.Sprint(j), Relationship: "extends"})
		}
	}
	return artifacts
}

// BenchmarkCascade takes about the same time for each reference, however many
// there are and however many paths lead through them.
func BenchmarkCascade(b *testing.B) {
	for _, test := range []struct {
		name      string
		artifacts []attest.Dependent
	}{
		{"tree/1e3", tree(1e3)}, {"tree/1e4", tree(1e4)}, {"tree/1e5", tree(1e5)},
		{"complete/9", complete(9)}, {"complete/100", complete(100)}, {"complete/300", complete(300)},
	} {
		f, record := verifier(b, "did:web:treasury"), scope(b, 8)
		links := 0
		for _, a := range test.artifacts {
			links += len(a.Links)
		}
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				reached, report := f.Cascade(record, believed, attest.IndexDependents(test.artifacts))
				if report.Err() != nil || len(reached) != len(test.artifacts)+1 {
					b.Fatal(len(reached), report.Err())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(test.artifacts)), "ns/artifact")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*links), "ns/reference")
		})
	}
}

func TestCheckReached(t *testing.T) {
	reached := []attest.Reached{{ID: "a"}, {ID: "b", Depth: 1, Via: "a"}}
	if err := attest.CheckReached(reached, "b", "/target"); broke(err) != "revoked at /target" {
		t.Error(err)
	}
	if err := attest.CheckReached(reached, "c", "/target"); err != nil {
		t.Error(err)
	}
}
