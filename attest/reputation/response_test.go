package reputation_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/wire"
)

func service(tb testing.TB) attest.Issuer {
	return attest.Issuer{Agent: "service", Key: keyOf(tb, "service"), Now: now, Keys: everybody{tb}}
}

func query(tb testing.TB, subject string, context wire.M) wire.Value {
	tb.Helper()
	m := wire.M{"type": "concordia.reputation.query", "subject_agent_id": subject, "requester_agent_id": "asker"}
	if context != nil {
		m["context"] = context
	}
	return encode(tb, m)
}

func answer(tb testing.TB, l *reputation.Ledger, q wire.Value) (wire.Value, *reputation.Query) {
	tb.Helper()
	read, err := reputation.ReadQuery(q)
	if err != nil {
		tb.Fatal(err)
	}
	v, err := l.Answer(read, service(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return v, read
}

// The whole answer, to the digit.
func TestAnswer(t *testing.T) {
	l := ledgerOf(t,
		confirm(t, deal(t, "1", "ann", "bob"), "bob", true, "att_1"), deal(t, "2", "carl", "ann", category("goods.books"), ago(reputation.HalfLife)),
		deal(t, "3", "ann", "dora", ended(attest.StatusRejected), category("services")))
	v, q := answer(t, l, query(t, "ann", wire.M{"category": "goods", "value_range": "100-500_EUR", "role": "initiator"}))
	want := encode(t, wire.M{
		"type": "concordia.reputation.response", "subject_agent_id": "ann", "service_id": "service", "computed_at": "2026-09-14T09:00:00Z",
		"context": wire.M{"category": "goods", "value_range": "100-500_EUR", "role": "initiator"},
		"summary": wire.M{
			"overall_score": 0.183673, "confidence": 0.183673, "total_negotiations": 3, "total_agreements": 2, "agreement_rate": 0.6667,
			"fulfillment_rate": 1, "avg_concession_willingness": 0.2, "reasoning_rate": 0.6667, "median_rounds_to_agreement": 3,
			"categories_active": []string{"goods.books", "goods.cameras", "services"},
		},
		"context_specific": wire.M{"category_score": 0.183673, "category_negotiations": 2, "value_range_score": 0.183673, "role_score": 0.166666},
		"flags":            []string{"new_agent"}, "attestation_count": 3, "counterparty_count": 3,
		"earliest_attestation": "2026-03-18T09:00:00Z", "latest_attestation": "2026-09-14T09:00:00Z",
	})
	if diff := cmp.Diff(want.Canonical(), v.Without("service_signature").Canonical()); diff != "" {
		t.Error(diff)
	}
	r, report := reputation.VerifyResponse(verifier(t), v, q)
	if err := report.Err(); err != nil || r.Overall != 0.183673 || r.Flags[0] != reputation.NewAgent {
		t.Errorf("%+v, %v", r, err)
	}
}

// Nothing known is an answer, and signed like every other.
func TestAnswerOfNothing(t *testing.T) {
	v, q := answer(t, new(reputation.Ledger), query(t, "ann", nil))
	if _, report := reputation.VerifyResponse(verifier(t), v, q); report.Err() != nil {
		t.Error(report.Err())
	}
	if flags, _ := v.Get("flags"); flags.Canonical() != `["no_data","new_agent"]` {
		t.Errorf("flags %s", flags)
	}
	if overall, _ := v.At("summary", "overall_score"); overall.Canonical() != "0" {
		t.Errorf("score %s", overall)
	}
}

// A role that receipts do not have is told to be one, and not silently nothing.
func TestRoleNotProven(t *testing.T) {
	l := ledgerOf(t, deal(t, "1", "ann", "bob"))
	for role, want := range map[string]string{
		"seller": "null", "buyer": "null", "mediator": "null", "initiator": "0.047619", "responder": "0", "": "",
	} {
		v, _ := answer(t, l, query(t, "ann", wire.M{"role": role}))
		got, _ := v.At("context_specific", "role_score")
		flags, _ := v.Get("flags")
		if got.Canonical() != want || strings.Contains(flags.Canonical(), "role_not_proven") != (want == "null") {
			t.Errorf("%q: %s, flags %s, want %s", role, got, flags, want)
		}
	}
}

func TestQuery(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`{"type":"concordia.reputation.query","subject_agent_id":"a","requester_agent_id":"b"}`, ""},
		{`{"type":"concordia.reputation.query","subject_agent_id":"a","requester_agent_id":"b","context":null,"more":1}`, ""},
		{`{"type":"concordia.reputation.query","subject_agent_id":"a","requester_agent_id":"b","context":{"category":null,"role":"","x":1}}`, ""},
		{`[]`, "/"},
		{`{"type":"concordia.reputation.response","subject_agent_id":"a","requester_agent_id":"b"}`, "/type"},
		{`{"type":"concordia.reputation.query","Type":1,"subject_agent_id":"a","requester_agent_id":"b"}`, "/Type"},
		{`{"type":"concordia.reputation.query","requester_agent_id":"b"}`, "/subject_agent_id"},
		{`{"type":"concordia.reputation.query","subject_agent_id":" ","requester_agent_id":"b"}`, "/subject_agent_id"},
		{`{"type":"concordia.reputation.query","subject_agent_id":"a","requester_agent_id":""}`, "/requester_agent_id"},
		{`{"type":"concordia.reputation.query","subject_agent_id":"a","requester_agent_id":"b","context":[]}`, "/context"},
		{`{"type":"concordia.reputation.query","subject_agent_id":"a","requester_agent_id":"b","context":{"category":"A Camera for 50 EUR"}}`, "/context/category"},
		{`{"type":"concordia.reputation.query","subject_agent_id":"a","requester_agent_id":"b","context":{"value_range":"1000-5000 USD"}}`, "/context/value_range"},
		{`{"type":"concordia.reputation.query","subject_agent_id":"a","requester_agent_id":"b","context":{"role":7}}`, "/context/role"},
		{`{"type":"concordia.reputation.query","subject_agent_id":"a","requester_agent_id":"b","context":{"role":"` + strings.Repeat("r", 65) + `"}}`, "/context/role"},
	} {
		v, err := wire.Parse([]byte(test.text), wire.DocumentLimits)
		if err != nil {
			t.Fatal(err)
		}
		_, err = reputation.ReadQuery(v)
		got := ""
		if broken, ok := errors.AsType[*wire.Violation](err); ok && broken.Rule == reputation.RuleQuery {
			got = broken.At
			if got == "" {
				got = "/"
			}
		}
		if got != test.want || (err != nil) != (test.want != "") {
			t.Errorf("%s: %v, want %q", test.text, err, test.want)
		}
	}
}

func TestVerifyResponse(t *testing.T) {
	v, q := answer(t, ledgerOf(t, deal(t, "1", "ann", "bob")), query(t, "ann", wire.M{"category": "goods"}))
	sign := func(v wire.Value) wire.Value {
		v = v.Without("service_signature")
		text, err := keyOf(t, "service").SignText([]byte(v.Canonical()))
		if err != nil {
			t.Fatal(err)
		}
		return v.With("service_signature", wire.Text(text))
	}
	set := func(x any, path ...string) wire.Value {
		inner := encode(t, x)
		if len(path) == 2 {
			parent, _ := v.Get(path[0])
			inner = parent.With(path[1], inner)
		}
		return sign(v.With(path[0], inner))
	}
	other := func(subject string, context wire.M) *reputation.Query {
		r, err := reputation.ReadQuery(query(t, subject, context))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, test := range []struct {
		name string
		v    wire.Value
		q    *reputation.Query
		rule *wire.Rule // nil: it stands
	}{
		{"as it is", v, q, nil},
		{"any query", v, nil, nil},
		{"unknown members", set(1, "service_note"), q, nil},
		{"no context repeated", sign(v.Without("context")), q, nil},
		{"a better score", v.With("summary", encode(t, wire.M{})), q, reputation.RuleResponse},
		{"a flag taken away", v.With("flags", encode(t, []string{})), q, reputation.RuleSignature},
		{"no signature", v.With("service_signature", wire.Text("")), q, reputation.RuleSignature},
		{"null signature", v.With("service_signature", encode(t, nil)), q, reputation.RuleResponse},
		{"another service", set("other", "service_id"), q, reputation.RuleSignature},
		{"another subject", v, other("bob", wire.M{"category": "goods"}), reputation.RuleAnswer},
		{"another context", v, other("ann", wire.M{"category": "services"}), reputation.RuleAnswer},
		{"no context asked", v, other("ann", nil), reputation.RuleAnswer},
		{"of the future", set("2026-09-14T09:02:01Z", "computed_at"), q, attest.RuleNotYet},
		{"too old", set("2026-06-16T08:59:59Z", "computed_at"), q, attest.RuleAge},
		{"score above one", set(1.5, "summary", "overall_score"), q, reputation.RuleResponse},
		{"score below zero", set(-0.5, "context_specific", "category_score"), q, reputation.RuleResponse},
		{"more agreements than negotiations", set(2, "summary", "total_agreements"), q, reputation.RuleResponse},
		{"more negotiations than receipts", set(2, "summary", "total_negotiations"), q, reputation.RuleResponse},
		{"half a negotiation", set(0.5, "summary", "total_negotiations"), q, reputation.RuleResponse},
		{"latest before earliest", set("2026-09-14T08:59:59Z", "latest_attestation"), q, reputation.RuleResponse},
		{"flags of numbers", set([]int{1}, "flags"), q, reputation.RuleResponse},
		{"another type", set("concordia.reputation.query", "type"), q, reputation.RuleResponse},
		{"a member in capitals", set(1, "summary", "Overall_score"), q, reputation.RuleResponse},
		{"context of a text", set("goods", "context"), q, reputation.RuleResponse},
	} {
		_, report := reputation.VerifyResponse(verifier(t), test.v, test.q)
		if err := report.Err(); test.rule == nil && err != nil || test.rule != nil && !errors.Is(err, test.rule) {
			t.Errorf("%s: %v, want %v", test.name, err, test.rule)
		}
	}
	f := verifier(t)
	f.Keys = wire.KeyMap{}
	if _, report := reputation.VerifyResponse(f, v, q); report.Outcome() != wire.NotChecked {
		t.Errorf("an unknown service: %v", report.Outcome())
	}
	f = verifier(t)
	f.Policy.MaxAge, f.Now = time.Minute, now.Add(61*time.Second)
	if _, report := reputation.VerifyResponse(f, v, q); !errors.Is(report.Err(), attest.RuleAge) {
		t.Errorf("older than the verifier likes: %v", report.Err())
	}
}

// A key that the service cannot sign with, and one that nobody knows.
func TestAnswerNeedsItsKey(t *testing.T) {
	curve, err := wire.NewP256Key([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	by := service(t)
	by.Key = curve
	if _, err := new(reputation.Ledger).Answer(&reputation.Query{Subject: "ann"}, by); !errors.Is(err, attest.ErrAlgorithm) {
		t.Error(err)
	}
}

// What reads foreign bytes neither panics nor lets through what is out of range.
func FuzzResponse(f *testing.F) {
	v, _ := answer(f, ledgerOf(f, deal(f, "1", "ann", "bob")), query(f, "ann", wire.M{"category": "goods"}))
	f.Add([]byte(v.Canonical()))
	f.Add([]byte(query(f, "ann", wire.M{"role": "seller"}).Canonical()))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := wire.Parse(data, wire.DocumentLimits)
		if err != nil {
			return
		}
		if r, err := reputation.ReadResponse(v); err == nil && !(r.Overall >= 0 && r.Overall <= 1 && r.Confidence >= 0 && r.Confidence <= 1) {
			t.Errorf("score %v, confidence %v", r.Overall, r.Confidence)
		}
		if q, err := reputation.ReadQuery(v); err == nil && (wire.CheckID(q.Subject) != nil || len(q.Role) > 256) {
			t.Errorf("%+v", q)
		}
	})
}
