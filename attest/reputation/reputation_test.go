package reputation_test

import (
	"errors"
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

// No fulfillment proven credits none and costs none: the score is as good, on less.
func TestNoCreditForUnprovenFulfillment(t *testing.T) {
	receipts := func(make func(id, buyer string) []wire.Value) []wire.Value {
		var list []wire.Value
		for i := range 8 {
			list = append(list, make(fmt.Sprint(i), fmt.Sprint("buyer", i))...)
		}
		return list
	}
	plain := func(id, buyer string) []wire.Value { return []wire.Value{deal(t, id, "ann", buyer)} }
	for _, test := range []struct {
		name    string
		make    func(id, buyer string) []wire.Value
		overall string
		quality float64 // of the confidence
	}{
		{"nobody said anything", plain, "0.285714", 1},
		{"confirmed by name", func(id, buyer string) []wire.Value {
			return []wire.Value{confirm(t, deal(t, id, "ann", buyer), buyer, true, "of att_"+id)}
		}, "0.615384", 1},
		{"confirmed without a name", func(id, buyer string) []wire.Value {
			return []wire.Value{confirm(t, deal(t, id, "ann", buyer), buyer, true, "")}
		}, "0.615384", 1},
		{"denied by name", func(id, buyer string) []wire.Value {
			return []wire.Value{confirm(t, deal(t, id, "ann", buyer), buyer, false, "urn:concordia:attestation:att_"+id)}
		}, "0.153846", 0.25},
		{"denied without a name, which could be any deal", func(id, buyer string) []wire.Value {
			return []wire.Value{confirm(t, deal(t, id, "ann", buyer), buyer, false, "")}
		}, "0.285714", 1},
		{"confirmed by the agent itself", func(id, buyer string) []wire.Value {
			return []wire.Value{confirm(t, deal(t, id, "ann", buyer), "ann", true, "of att_"+id)}
		}, "0.285714", 1},
		{"settled", func(id, buyer string) []wire.Value {
			return append(plain(id, buyer), settle(t, "att_"+id, buyer, attest.FulfilledClean, now.Add(-time.Hour)))
		}, "0.615384", 1},
		{"settled after mediation", func(id, buyer string) []wire.Value {
			return append(plain(id, buyer), settle(t, "att_"+id, buyer, attest.FulfilledWithMediation, now.Add(-time.Hour)))
		}, "0.461538", 0.75},
		{"settled by who was no party", func(id, buyer string) []wire.Value {
			return append(plain(id, buyer), settle(t, "att_"+id, "carrier", attest.FulfilledClean, now.Add(-time.Hour)))
		}, "0.285714", 1},
		{"failed, and later settled", func(id, buyer string) []wire.Value {
			return append(plain(id, buyer), settle(t, "att_"+id, buyer, attest.FulfilledClean, now.Add(-time.Hour)),
				settle(t, "att_"+id, buyer, attest.SettlementFailed, now.Add(-2*time.Hour)))
		}, "0.615384", 1},
		{"settled and failed at once", func(id, buyer string) []wire.Value {
			return append(plain(id, buyer), settle(t, "att_"+id, buyer, attest.FulfilledClean, now.Add(-time.Hour)),
				settle(t, "att_"+id, buyer, attest.DisputedUnresolved, now.Add(-time.Hour)))
		}, "0.153846", 0.25},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := score(t, ledgerOf(t, receipts(test.make)...), "ann")
			if got := s.Overall.String(); got != test.overall {
				t.Errorf("score %s, want %s", got, test.overall)
			}
			if got := float64(s.Overall) / float64(s.Confidence); got < test.quality-0.00001 || got > test.quality {
				t.Errorf("quality %v, want %v", got, test.quality)
			}
			if got, want := flagged(s, reputation.RecentDispute), test.quality == 0.25; got != want {
				t.Errorf("recent_dispute %v, want %v", got, want)
			}
		})
	}
}

// One confirmation that names no receipt is shown with ten: it counts once.
func TestConfirmationCountsOnce(t *testing.T) {
	var list []wire.Value
	for i := range 5 {
		list = append(list, confirm(t, deal(t, fmt.Sprint(i), "ann", "bob"), "bob", true, "thanks"))
	}
	if got := score(t, ledgerOf(t, list...), "ann").Figures.FulfillmentRate; got != 1 {
		t.Errorf("rate %v", got)
	}
	n := 0
	for _, c := range score(t, ledgerOf(t, list...), "ann").Contributions() {
		if c.Fulfillment == "fulfilled" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d receipts are credited as fulfilled, want 1", n)
	}
}

// Only what all parties countersigned is evidence.
func TestIngestChecksCountersignatures(t *testing.T) {
	v := deal(t, "1", "ann", "bob", ended(attest.StatusRejected))
	outcome, _ := v.Get("outcome")
	forged := v.With("outcome", outcome.With("status", wire.Text("agreed")))
	legacy := v.With("concordia_attestation", wire.Text("0.1.0"))
	for _, name := range []string{"countersignatures", "chain_head", "message_count", "validity_temporal"} {
		legacy = legacy.Without(name)
	}
	signatures, _ := v.Get("countersignatures")
	for _, test := range []struct {
		name    string
		v       wire.Value
		rule    *wire.Rule // nil: it cannot be checked
		outcome wire.Outcome
	}{
		{"rejected made agreed", forged, attest.RuleOutcome, wire.Failed},
		{"signed by one", v.With("countersignatures", signatures.Without("bob")), attest.RuleOutcome, wire.Failed},
		{"old version", legacy, nil, wire.NotChecked},
		{"of the future", deal(t, "2", "ann", "bob", ago(-time.Hour)), attest.RuleNotYet, wire.Failed},
		{"one key under two ids", deal(t, "3", "ann", "ann/shop"), attest.RuleSybil, wire.Failed},
		{"a did:key and a name of one key", deal2(t, "ann"), attest.RuleSybil, wire.Failed},
		{"no receipt", encode(t, wire.M{}), attest.RuleShape, wire.Failed},
	} {
		e, report := reputation.VerifyReceipt(verifier(t), test.v)
		if e != nil || report.Outcome() != test.outcome || test.rule != nil && !errors.Is(report.Err(), test.rule) {
			t.Errorf("%s: %v, %v", test.name, e != nil, report.Err())
		}
	}
	if e, report := reputation.VerifyReceipt(attest.Verifier{Now: now}, v); e != nil || report.Outcome() != wire.NotChecked {
		t.Errorf("of strangers: %v", report.Err())
	}
}

// deal2 is a deal of an agent with its own did:key.
func deal2(tb testing.TB, name string) wire.Value {
	k := keyOf(tb, name)
	id := wire.DIDKey(k.Public())
	v, err := attest.Draft{
		ID: "att_did", Session: "ses_did", Time: now, Outcome: attest.Outcome{Status: attest.StatusAgreed, Mechanism: attest.MechanismDirect},
		Parties:        []attest.Party{{Agent: wire.AgentID(name), Role: attest.RoleInitiator}, {Agent: id, Role: attest.RoleResponder}},
		TranscriptHash: wire.HashOf("t"), ChainHead: wire.HashOf("h"), MessageCount: 1,
	}.Value()
	if err == nil {
		v, err = attest.Countersign(v, wire.AgentID(name), k)
	}
	if err == nil {
		v, err = attest.Countersign(v, id, k)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// An old receipt counts, though its validity has ended; for less.
func TestHistoryFades(t *testing.T) {
	var last reputation.Micro = 1_000_001
	for _, test := range []struct {
		age    time.Duration
		weight string
	}{
		{0, "1.000000"}, {90 * 24 * time.Hour, "0.750000"}, {reputation.HalfLife, "0.500000"}, {270 * 24 * time.Hour, "0.375000"},
		{10 * reputation.HalfLife, "0.000976"}, {40 * reputation.HalfLife, "0.000000"},
	} {
		s := score(t, ledgerOf(t, deal(t, "1", "ann", "bob", ago(test.age))), "ann")
		w := s.Contributions()[0].Weight
		if w.String() != test.weight || w >= last {
			t.Errorf("after %v: %s, want %s", test.age, w, test.weight)
		}
		last = w
	}
}

// The same receipt twice changes nothing, nor does one that somebody signed again.
func TestIngestIsIdempotent(t *testing.T) {
	v := confirm(t, deal(t, "1", "ann", "bob"), "bob", true, "")
	l := ledgerOf(t, v)
	before := score(t, l, "ann").Contributions()
	witnessed, err := attest.Witness(v, "carl", keyOf(t, "carl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range verified(t, v, witnessed, v.With("fulfillment", encode(t, nil))) {
		if l.Add(e) {
			t.Error("it is new the second time")
		}
	}
	if l.Len() != 1 {
		t.Errorf("%d receipts", l.Len())
	}
	if diff := cmp.Diff(before, score(t, l, "ann").Contributions()); diff != "" {
		t.Error(diff)
	}
}

func TestConflicts(t *testing.T) {
	one := deal(t, "1", "ann", "bob", session("ses"))
	for _, test := range []struct {
		name   string
		others []wire.Value
		want   []reputation.Credit // of ann's, in the order of their ids
		bob    []reputation.Credit
	}{
		{"two outcomes of one session", []wire.Value{deal(t, "2", "ann", "bob", session("ses"), ended(attest.StatusRejected))},
			[]reputation.Credit{"conflicting", "conflicting"}, []reputation.Credit{"conflicting", "conflicting"}},
		{"with somebody else", []wire.Value{deal(t, "2", "ann", "carl", session("ses"))},
			[]reputation.Credit{"conflicting", "conflicting"}, []reputation.Credit{"credited"}},
		{"a stranger uses the session's id", []wire.Value{deal(t, "2", "mallory", "eve", session("ses"))},
			[]reputation.Credit{"credited"}, []reputation.Credit{"credited"}},
		{"a stranger uses the receipt's id", []wire.Value{deal(t, "1", "mallory", "eve")},
			[]reputation.Credit{"credited"}, []reputation.Credit{"credited"}},
		{"one id for two sessions", []wire.Value{deal(t, "1", "ann", "bob")},
			[]reputation.Credit{"conflicting", "conflicting"}, []reputation.Credit{"conflicting", "conflicting"}},
		{"superseded", []wire.Value{deal(t, "2", "ann", "bob", session("ses"), supersedes(t, "att_1"))},
			[]reputation.Credit{"superseded", "credited"}, []reputation.Credit{"superseded", "credited"}},
		{"superseded twice", []wire.Value{
			deal(t, "2", "ann", "bob", session("ses"), supersedes(t, "att_1")), deal(t, "3", "ann", "bob", session("ses"), supersedes(t, "att_2"))},
			[]reputation.Credit{"superseded", "superseded", "credited"}, []reputation.Credit{"superseded", "superseded", "credited"}},
		{"superseded by two", []wire.Value{
			deal(t, "2", "ann", "bob", session("ses"), supersedes(t, "att_1")), deal(t, "3", "ann", "bob", session("ses"), supersedes(t, "att_1"))},
			[]reputation.Credit{"superseded", "conflicting", "conflicting"}, []reputation.Credit{"superseded", "conflicting", "conflicting"}},
		{"superseded with an accomplice", []wire.Value{deal(t, "2", "ann", "carl", session("ses"), supersedes(t, "att_1"))},
			[]reputation.Credit{"conflicting", "conflicting"}, []reputation.Credit{"credited"}},
		{"superseded from another session", []wire.Value{deal(t, "2", "ann", "bob", supersedes(t, "att_1"))},
			[]reputation.Credit{"credited", "credited"}, []reputation.Credit{"credited", "credited"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := ledgerOf(t, append(test.others, one)...)
			for name, want := range map[string][]reputation.Credit{"ann": test.want, "bob": test.bob} {
				s := score(t, l, name)
				var got []reputation.Credit
				list := s.Contributions()
				slices.SortStableFunc(list, func(a, b reputation.Contribution) int { return strings.Compare(a.Attestation, b.Attestation) })
				for _, c := range list {
					got = append(got, c.Credit)
					if c.Credit != reputation.Credited && (c.Contribution != 0 || c.Weight != 0) {
						t.Errorf("%s: %s and weighs %s", name, c.Credit, c.Weight)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: %v, want %v", name, got, want)
				}
				if flagged(s, reputation.ConflictingReceipts) != slices.Contains(want, reputation.Conflicting) {
					t.Errorf("%s: flags %v", name, s.Flags)
				}
			}
		})
	}
}

func TestRevoked(t *testing.T) {
	v := deal(t, "1", "ann", "bob")
	f := revoking(t, "urn:concordia:attestation:att_1")
	e, report := reputation.VerifyReceipt(f, v)
	if e == nil || !errors.Is(report.Err(), attest.RuleRevoked) {
		t.Fatalf("%v, %v", e, report.Err())
	}
	for _, order := range [][]*reputation.Evidence{{e}, {e, verified(t, v)[0]}, {verified(t, v)[0], e}} {
		var l reputation.Ledger
		for _, e := range order {
			l.Add(e)
		}
		s := score(t, &l, "ann")
		if s.Overall != 0 || !flagged(s, reputation.RevokedReceipts) || !flagged(s, reputation.NoData) || s.Figures.Attestations != 1 || s.Figures.Negotiations != 0 {
			t.Errorf("score %s, flags %v", s.Overall, s.Flags)
		}
	}
}

// An agent is its key: what has its id and another key is another agent, and what has
// its key and another id is it.
func TestAgentIsItsKey(t *testing.T) {
	l := ledgerOf(t, deal(t, "1", "ann", "bob"), deal(t, "2", "ann/shop", "carl"))
	if s := score(t, l, "ann"); s.Figures.Negotiations != 2 || s.Figures.Counterparties != 2 {
		t.Errorf("%+v", s.Figures)
	}
	// Somebody else's ann.
	other := keyOf(t, "impostor")
	v := deal(t, "3", "ann", "bob").Without("countersignatures")
	var err error
	if v, err = attest.Countersign(v, "ann", other); err == nil {
		v, err = attest.Countersign(v, "bob", keyOf(t, "bob"))
	}
	if err != nil {
		t.Fatal(err)
	}
	f := attest.Verifier{Keys: wire.KeyMap{"ann": other.Public(), "bob": keyOf(t, "bob").Public()}, Now: now}
	e, report := reputation.VerifyReceipt(f, v)
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	l.Add(e)
	if s := score(t, l, "ann"); s.Figures.Negotiations != 2 {
		t.Errorf("ann has %d receipts, want 2", s.Figures.Negotiations)
	}
	if s := score(t, l, "impostor"); s.Figures.Negotiations != 1 {
		t.Errorf("the impostor has %d receipts, want 1", s.Figures.Negotiations)
	}
}

// Deals between programs are fast, and that is no fault.
func TestFastDealsAreNoFault(t *testing.T) {
	slow := func(d *attest.Draft) { d.Outcome.Duration = time.Hour }
	a, b := score(t, ledgerOf(t, deal(t, "1", "ann", "bob")), "ann"), score(t, ledgerOf(t, deal(t, "1", "ann", "bob", slow)), "ann")
	if a.Overall != b.Overall || !slices.Equal(a.Flags, b.Flags) {
		t.Errorf("fast %s %v, slow %s %v", a.Overall, a.Flags, b.Overall, b.Flags)
	}
}

// To end without a deal is everybody's right: it neither helps nor hurts. To break
// one's own constraint hurts, whatever came of it, and only who did it.
func TestConduct(t *testing.T) {
	good := deal(t, "1", "ann", "bob")
	base := score(t, ledgerOf(t, good), "ann").Overall
	for _, status := range []attest.Status{attest.StatusRejected, attest.StatusExpired, attest.StatusWithdrawn} {
		if got := score(t, ledgerOf(t, good, deal(t, "2", "ann", "carl", ended(status))), "ann"); got.Overall != base || got.Figures.AgreementRate != 0.5 {
			t.Errorf("%s: score %s, want %s", status, got.Overall, base)
		}
	}
	broke := ledgerOf(t, good, deal(t, "2", "ann", "carl", ended(attest.StatusRejected), violation(0)))
	if s := score(t, broke, "ann"); s.Overall >= base || !flagged(s, reputation.ConstraintViolations) {
		t.Errorf("score %s, flags %v", s.Overall, s.Flags)
	}
	if s := score(t, broke, "carl"); flagged(s, reputation.ConstraintViolations) {
		t.Errorf("carl's flags %v", s.Flags)
	}
}

// The figures of a history that is proven are those that a bundle of it has.
func TestFiguresAreThoseOfABundle(t *testing.T) {
	var receipts []*attest.Attestation
	var list []wire.Value
	for i, v := range []wire.Value{
		confirm(t, deal(t, "1", "ann", "bob", ago(50*time.Hour)), "bob", true, "att_1"), deal(t, "2", "ann", "carl", ended(attest.StatusRejected)),
		confirm(t, deal(t, "3", "dora", "ann", category("goods")), "dora", false, "att_3"), deal(t, "4", "eve", "ann", category("")),
	} {
		a, err := attest.ReadAttestation(v)
		if err != nil {
			t.Fatal(i, err)
		}
		receipts, list = append(receipts, a), append(list, v)
	}
	want := attest.Summarize("ann", receipts)
	f := score(t, ledgerOf(t, list...), "ann").Figures
	got := attest.Summary{
		TotalNegotiations: f.Negotiations, Agreements: f.Agreements, AgreementRate: f.AgreementRate, AvgConcessionMagnitude: f.AvgConcession,
		FulfillmentRate: f.FulfillmentRate, UniqueCounterparties: f.Counterparties, Categories: f.Categories, Earliest: f.Earliest,
		Latest: f.Latest, ReasoningRate: f.ReasoningRate,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The score is a function of the set of evidence.
func TestOrderMakesNoDifference(t *testing.T) {
	var list []wire.Value
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"ann", "bob", "carl", "dora", "eve", "fay"}
	for i := range 60 {
		a := random.IntN(len(names))
		b := (a + 1 + random.IntN(len(names)-1)) % len(names)
		id := fmt.Sprint(i)
		changes := []change{ago(time.Duration(random.IntN(400*24)) * time.Hour)}
		switch random.IntN(6) {
		case 0:
			changes = append(changes, ended(attest.StatusExpired))
		case 1:
			changes = append(changes, violation(random.IntN(2)))
		case 2:
			changes = append(changes, session(fmt.Sprint("ses_", random.IntN(i+1))))
		case 3:
			changes = append(changes, session(fmt.Sprint("ses_", random.IntN(i+1))), supersedes(t, fmt.Sprint("att_", random.IntN(i+1))))
		}
		v := deal(t, id, names[a], names[b], changes...)
		list = append(list, v)
		switch random.IntN(4) {
		case 0:
			list = append(list, confirm(t, v, names[b], true, ""), confirm(t, v, names[b], true, "again"))
		case 1:
			list = append(list, settle(t, "att_"+id, names[b], attest.SettlementFailed, now.Add(-time.Hour)),
				settle(t, "att_"+id, names[b], attest.FulfilledClean, now.Add(-time.Duration(random.IntN(3))*time.Hour)))
		}
	}
	evidence := verified(t, list...)
	answers := func() (all []string) {
		var l reputation.Ledger
		for _, e := range evidence {
			l.Add(e)
		}
		for _, name := range names {
			q, err := reputation.ReadQuery(query(t, name, wire.M{"category": "goods", "role": "initiator"}))
			if err != nil {
				t.Fatal(err)
			}
			v, err := l.Answer(q, service(t))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, v.Canonical(), encode(t, score(t, &l, name).Contributions()).Canonical())
		}
		return all
	}
	want := answers()
	for range 20 {
		random.Shuffle(len(evidence), func(i, j int) { evidence[i], evidence[j] = evidence[j], evidence[i] })
		if diff := cmp.Diff(want, answers()); diff != "" {
			t.Fatal(diff)
		}
	}
}
