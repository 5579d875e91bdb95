package reputation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/wire"
)

const day = 24 * time.Hour

func rounds(n int) change { return func(d *attest.Draft) { d.Outcome.Rounds = n } }

// with adds another party.
func with(id string, role attest.Role) change {
	return func(d *attest.Draft) {
		d.Parties = append(d.Parties, attest.Party{Agent: wire.AgentID(id), Role: role})
	}
}

// of returns what one receipt adds.
func of(tb testing.TB, s *reputation.Score, id string) reputation.Contribution {
	tb.Helper()
	list := s.Contributions()
	i := slices.IndexFunc(list, func(c reputation.Contribution) bool { return c.Attestation == id })
	if i < 0 {
		tb.Fatalf("no %s among %d", id, len(list))
	}
	return list[i]
}

// The newest deal with a counterparty counts in full, and of several counterparties
// the one that is known best decides.
func TestRank(t *testing.T) {
	s := score(t, ledgerOf(t,
		deal(t, "old", "ann", "bob", ago(30*day)), deal(t, "new", "bob", "ann"), deal(t, "none", "ann", "bob", ended(attest.StatusExpired)),
		deal(t, "both", "ann", "bob", ago(60*day), with("carl", attest.RoleResponder)), deal(t, "carl", "ann", "carl", ago(90*day))), "ann")
	for id, want := range map[string]int{"att_new": 1, "att_old": 2, "att_both": 3, "att_carl": 2, "att_none": 0} {
		if got := of(t, s, id).Rank; got != want {
			t.Errorf("%s has rank %d, want %d", id, got, want)
		}
	}
	s = score(t, ledgerOf(t, deal(t, "old", "ann", "bob", ago(30*day)), deal(t, "new", "bob", "ann")), "ann")
	if got := of(t, s, "att_old").Weight.String(); got != "0.458333" {
		t.Errorf("the old one weighs %s", got)
	}
}

// Of several counterparties the worst word counts, and of a session without agreement
// there is nothing to fulfill.
func TestWorstWordCounts(t *testing.T) {
	three := deal(t, "1", "ann", "bob", with("carl", attest.RoleResponder))
	none := deal(t, "2", "ann", "bob", ended(attest.StatusRejected))
	l := ledgerOf(t, three, none, settle(t, "att_1", "bob", attest.SettlementFailed, now), settle(t, "att_1", "carl", attest.FulfilledClean, now),
		settle(t, "att_2", "bob", attest.SettlementFailed, now))
	if got := of(t, score(t, l, "ann"), "att_1").Fulfillment; got != "failed" {
		t.Errorf("of ann: %s", got)
	}
	if got := of(t, score(t, l, "bob"), "att_1").Fulfillment; got != "fulfilled" {
		t.Errorf("of bob, of whom carl alone spoke: %s", got)
	}
	if got := of(t, score(t, l, "ann"), "att_2").Fulfillment; got != "not told" {
		t.Errorf("of no agreement: %s", got)
	}
}

// A mediator makes no deals.
func TestMediatorIsNoDealer(t *testing.T) {
	l := ledgerOf(t, deal(t, "1", "ann", "bob", with("judge", attest.RoleMediator)), settle(t, "att_1", "judge", attest.SettlementFailed, now))
	if s := score(t, l, "judge"); s.Figures.Attestations != 0 {
		t.Errorf("%d receipts", s.Figures.Attestations)
	}
	if s := score(t, l, "ann"); s.Figures.Counterparties != 1 || of(t, s, "att_1").Fulfillment != "not told" {
		t.Errorf("%+v", s.Figures)
	}
}

// What a counterparty said long ago still counts, and is recent no longer.
func TestOldDispute(t *testing.T) {
	for _, test := range []struct {
		days   int
		recent bool
	}{{0, true}, {90, true}, {91, false}, {300, false}} {
		s := score(t, ledgerOf(t, deal(t, "1", "ann", "bob", ago(301*day)), settle(t, "att_1", "bob", attest.SettlementFailed, now.Add(-time.Duration(test.days)*day))), "ann")
		if got := flagged(s, reputation.RecentDispute); got != test.recent || of(t, s, "att_1").Fulfillment != "failed" {
			t.Errorf("after %d days: recent %v, %s", test.days, got, of(t, s, "att_1").Fulfillment)
		}
	}
}

// A ledger that knows more than the time it is asked about.
func TestEvidenceFromLater(t *testing.T) {
	l := ledgerOf(t, deal(t, "1", "ann", "bob"))
	s := l.Score(keyOf(t, "ann").Public(), now.Add(-40*day))
	if w := s.Contributions()[0].Weight; w.String() != "1.000000" {
		t.Errorf("weighs %s", w)
	}
}

// Notes name a receipt by a whole word.
func TestNotesNameTheReceipt(t *testing.T) {
	for notes, want := range map[string]string{
		"not honored: att_1": "failed", "urn:concordia:attestation:att_1": "failed", "att_1\tnot honored": "failed",
		"att_10": "not told", "xatt_1": "not told", "att_1.": "not told", "ses_1": "not told",
	} {
		s := score(t, ledgerOf(t, confirm(t, deal(t, "1", "ann", "bob"), "bob", false, notes)), "ann")
		if got := of(t, s, "att_1").Fulfillment; got != want {
			t.Errorf("%q: %s, want %s", notes, got, want)
		}
	}
}

// Of two confirmations of one dealer in one receipt the same one is looked at, whichever
// came first.
func TestConfirmationsOfOneDealer(t *testing.T) {
	var counts []int
	for _, words := range [][]string{{"thanks", "well done"}, {"well done", "thanks"}} {
		one := deal(t, "1", "ann", "bob", ago(time.Hour))
		for _, shown := range []string{"thanks", "well done"} {
			s := score(t, ledgerOf(t, confirm(t, one, "bob", true, words[0]), confirm(t, one, "bob", true, words[1]),
				confirm(t, deal(t, "2", "ann", "bob"), "bob", true, shown)), "ann")
			n := 0
			for _, c := range s.Contributions() {
				if c.Fulfillment == "fulfilled" {
					n++
				}
			}
			counts = append(counts, n)
		}
	}
	if counts[0] != counts[2] || counts[1] != counts[3] || counts[0]+counts[1] != 3 {
		t.Errorf("credited %v", counts)
	}
}

func TestFlagsAtTheirEdge(t *testing.T) {
	many := func(name string, n int) (list []wire.Value) {
		for i := range n {
			other := name
			if name == "" {
				other = fmt.Sprint("c", i)
			}
			list = append(list, deal(t, fmt.Sprintf("%s_%d_%d", name, n, i), "ann", other))
		}
		return list
	}
	for _, test := range []struct {
		name string
		list []wire.Value
		flag reputation.Flag
		want bool
	}{
		{"four receipts", many("", 4), reputation.NewAgent, true},
		{"five receipts", many("", 5), reputation.NewAgent, false},
		{"three with one", many("bob", 3), reputation.RepeatedPair, false},
		{"four with one", many("bob", 4), reputation.RepeatedPair, true},
		{"four of eight with one", append(many("bob", 4), many("", 4)...), reputation.RepeatedPair, false},
		{"five of nine with one", append(many("bob", 5), many("", 4)...), reputation.RepeatedPair, true},
		{"three with one and nobody else", many("bob", 3), reputation.ClosedCircle, false},
		{"four with one and nobody else", many("bob", 4), reputation.ClosedCircle, true},
		{"four with one and one with another", append(many("bob", 4), many("", 1)...), reputation.ClosedCircle, false},
	} {
		if s := score(t, ledgerOf(t, test.list...), "ann"); flagged(s, test.flag) != test.want {
			t.Errorf("%s: %v", test.name, s.Flags)
		}
	}
}

func TestFigures(t *testing.T) {
	silent := deal(t, "4", "ann", "eve", rounds(9))
	parties, _ := silent.Get("parties")
	own, _ := parties.At("0")
	behavior, _ := own.Get("behavior")
	silent = countersign(t, silent.With("parties", parties.WithElem(0, own.With("behavior", behavior.Without("concession_magnitude")))))
	f := score(t, ledgerOf(t, deal(t, "1", "ann", "bob", rounds(1)), deal(t, "2", "ann", "carl", rounds(2)), deal(t, "3", "ann", "dora", rounds(5)), silent,
		settle(t, "att_1", "bob", attest.FulfilledWithMediation, now), settle(t, "att_2", "carl", attest.SettlementFailed, now)), "ann").Figures
	if f.MedianRounds != 5 || f.FulfillmentRate != 0.5 || f.AvgConcession != 0.25 {
		t.Errorf("%+v", f)
	}
}

// What is asked about is judged by what is credited of it.
func TestCategory(t *testing.T) {
	l := ledgerOf(t, deal(t, "1", "ann", "bob", category("goods.cameras")), deal(t, "2", "ann", "carl", category("goods")),
		deal(t, "3", "ann", "dora", category("goodness")), deal(t, "4", "ann", "eve", session("s"), category("goods")), deal(t, "5", "ann", "eve", session("s"), category("goods")))
	for name, want := range map[string]string{"goods": "2", "goods.cameras": "1", "good": "0", "goods.camera": "0"} {
		v, _ := answer(t, l, query(t, "ann", wire.M{"category": name}))
		if got, _ := v.At("context_specific", "category_negotiations"); got.Canonical() != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// An agent may be asked for by either spelling of its did:key.
func TestSpellings(t *testing.T) {
	k := keyOf(t, "ann").Public()
	v, _ := answer(t, ledgerOf(t, deal(t, "1", "ann", "bob")), query(t, string(wire.DIDKey(k)), nil))
	if n, _ := v.Get("attestation_count"); n.Canonical() != "1" {
		t.Errorf("%s receipts", n)
	}
	q, err := reputation.ReadQuery(query(t, string(wire.ReferenceDIDKey(k)), nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, report := reputation.VerifyResponse(verifier(t), v, q); report.Err() != nil {
		t.Error(report.Err())
	}
}

// Who is in a circle is called the same in whatever order its receipts came.
func TestNamesOfACircle(t *testing.T) {
	list := []wire.Value{deal(t, "1", "a/shop", "b"), deal(t, "2", "b", "c"), deal(t, "3", "c", "a"), deal(t, "4", "a", "b")}
	want := []wire.AgentID{"a", "b", "c"}
	for range 2 {
		if diff := cmp.Diff(want, score(t, ledgerOf(t, list...), "b").Circle); diff != "" {
			t.Error(diff)
		}
		slices.Reverse(list)
	}
}

// What is revoked, or ended without an agreement, makes no circle.
func TestCircleOfAgreements(t *testing.T) {
	list := []wire.Value{deal(t, "1", "a", "b"), deal(t, "2", "b", "c"), deal(t, "3", "c", "d")}
	if s := score(t, ledgerOf(t, append(list, deal(t, "4", "d", "a", ended(attest.StatusRejected)))...), "a"); s.Circle != nil {
		t.Errorf("with a session without agreement: %v", s.Circle)
	}
	last := deal(t, "4", "d", "a")
	l := ledgerOf(t, append(list, last)...)
	if score(t, l, "a").Circle == nil {
		t.Error("not found")
	}
	f := revoking(t, "urn:concordia:attestation:att_4")
	e, _ := reputation.VerifyReceipt(f, last)
	if !l.Add(e) || l.Add(e) {
		t.Error("a revocation is news once")
	}
	if s := score(t, l, "a"); s.Circle != nil {
		t.Errorf("with a revoked receipt: %v", s.Circle)
	}
}

// The circle is the one of SPEC §9.6.7, computed here the slow way.
func TestCircleOfTheSpec(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	m := newMarket(t, 90)
	found := 0
	for range 60 {
		agents := 3 + random.IntN(87)
		pairs := map[[2]int]int{}
		l := new(reputation.Ledger)
		id := 0
		add := func(a, b int) {
			if a == b {
				return
			}
			id++
			l.Add(m.between(t, id, a, b))
			pairs[[2]int{min(a, b), max(a, b)}]++
		}
		for range random.IntN(3 * agents) {
			a := random.IntN(agents)
			add(a, (a+1+random.IntN(min(agents-1, 6)))%agents)
		}
		if random.IntN(3) == 0 { // one who deals with almost everybody
			for b := range agents {
				add(0, b)
			}
		}
		for a := range min(agents, 8) {
			got := l.Score(m.keys[a], now).Circle
			var want []wire.AgentID
			for _, n := range circleOfSpec(a, agents, pairs, m.keys) {
				want = append(want, wire.DIDKey(m.keys[n]))
			}
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("agent %d of %v: %v, want %v", a, pairs, got, want)
			}
			if want != nil {
				found++
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d circles to find", found)
	}
}

// circleOfSpec follows the text of SPEC §9.6.7.
func circleOfSpec(subject, agents int, pairs map[[2]int]int, keys []wire.PublicKey) (closed []int) {
	paired := func(a, b int) bool { return pairs[[2]int{min(a, b), max(a, b)}] > 0 }
	count := func(a int, with func(b int) bool) (n int) {
		for b := range agents {
			if paired(a, b) && with(b) {
				n++
			}
		}
		return n
	}
	all := func(int) bool { return true }
	if count(subject, all) > 75 {
		return nil
	}
	group := []int{subject}
	member := func(b int) bool { return slices.Contains(group, b) }
	for len(group) < 16 {
		best := -1
		for a := range agents {
			if member(a) || count(a, member) == 0 || count(a, all) > 75 {
				continue
			}
			if best < 0 {
				best = a
				continue
			}
			x, y := count(a, member)*count(best, all), count(best, member)*count(a, all)
			if x > y || x == y && (count(a, member) > count(best, member) ||
				count(a, member) == count(best, member) && string(keys[a].Bytes()) < string(keys[best].Bytes())) {
				best = a
			}
		}
		if best < 0 {
			break
		}
		group = append(group, best)
		inside, border := 0, 0
		for _, a := range group {
			inside += count(a, member)
			border += count(a, func(b int) bool { return !member(b) })
		}
		inside /= 2
		full := inside >= len(group) || len(group) == 2 && pairs[[2]int{min(subject, best), max(subject, best)}] >= 4
		if full && 2*border <= inside {
			closed = slices.Clone(group)
		}
	}
	return closed
}

func TestShapesAreBounded(t *testing.T) {
	v, _ := answer(t, new(reputation.Ledger), query(t, "ann", nil))
	deep := encode(t, []any{})
	for range wire.MaxDepth {
		deep = encode(t, []wire.Value{deep})
	}
	if _, err := reputation.ReadResponse(v.With("note", deep)); err == nil {
		t.Error("a response may be as deep as it likes")
	}
	if _, err := reputation.ReadQuery(query(t, "ann", nil).With("note", deep)); err == nil {
		t.Error("a query may be as deep as it likes")
	}
	long := wire.Text(strings.Repeat("x", attest.MaxArtifactSize))
	if _, err := reputation.ReadResponse(v.With("note", long)); err == nil {
		t.Error("a response may be as long as it likes")
	}
	if _, err := reputation.ReadQuery(query(t, "ann", nil).With("note", long)); err == nil {
		t.Error("a query may be as long as it likes")
	}
}

// Who signs a second receipt of a session with a friend is not rid of what speaks against
// it in the first: neither of a failure nor of a violation.
func TestConflictHidesNothing(t *testing.T) {
	bad := deal(t, "bad", "ann", "ben", category("goods.lenses"))
	failure := settle(t, "att_bad", "ben", attest.SettlementFailed, now)
	violated := deal(t, "broke", "ann", "ben", violation(0))
	for _, test := range []struct {
		name   string
		bad    []wire.Value
		flag   reputation.Flag
		other  wire.Value
		points string // of the bad one, of what is possible
	}{
		{"a failure, by the session", []wire.Value{bad, failure}, reputation.RecentDispute, deal(t, "friend", "ann", "cat", session("ses_bad")), "0.000000 of 3.000000"},
		{"a failure, by the id", []wire.Value{bad, failure}, reputation.RecentDispute, deal(t, "bad", "ann", "cat", session("ses_2")), "0.000000 of 3.000000"},
		{"a violation", []wire.Value{violated}, reputation.ConstraintViolations, deal(t, "friend", "ann", "cat", session("ses_broke")), "0.000000 of 1.000000"},
	} {
		good := deal(t, "good", "ann", "dan")
		with := score(t, ledgerOf(t, append([]wire.Value{good}, test.bad...)...), "ann")
		s := score(t, ledgerOf(t, append([]wire.Value{good, test.other}, test.bad...)...), "ann")
		if !flagged(s, test.flag) || !flagged(s, reputation.ConflictingReceipts) {
			t.Errorf("%s: flags %v", test.name, s.Flags)
		}
		if s.Overall > with.Overall {
			// A receipt that keeps to its constraints gains nothing, and its counterparty says no good of it.
			t.Errorf("%s: %s with the conflict, %s without", test.name, s.Overall, with.Overall)
		}
		var against string
		for _, c := range s.Contributions() {
			if c.Credit == reputation.Conflicting && c.Possible > 0 {
				against = c.Points.String() + " of " + c.Possible.String()
			}
		}
		if against != test.points {
			t.Errorf("%s: %q, want %q", test.name, against, test.points)
		}
	}
	// What speaks for it counts nothing, be it signed or shown.
	settled := settle(t, "att_bad", "ben", attest.FulfilledClean, now)
	shown := confirm(t, bad, "ben", true, "")
	s := score(t, ledgerOf(t, shown, settled, deal(t, "friend", "ann", "cat", session("ses_bad"))), "ann")
	if s.Overall != 0 || s.Confidence != 0 {
		t.Errorf("a conflict with a good word: %s of %s, want nothing", s.Overall, s.Confidence)
	}
	// The same in the category that is asked about.
	l := ledgerOf(t, bad, failure, deal(t, "friend", "ann", "cat", session("ses_bad")), deal(t, "good", "ann", "dan", category("goods.lenses")))
	v, _ := answer(t, l, query(t, "ann", wire.M{"category": "goods.lenses"}))
	got, _ := v.At("context_specific", "category_score")
	n, _ := v.At("context_specific", "category_negotiations")
	if got.Canonical() != "0.041666" || n.Canonical() != "1" { // 1 of 1 + 3 + 20
		t.Errorf("category_score %s of %s, want 0.041666 of 1", got.Canonical(), n.Canonical())
	}
}
