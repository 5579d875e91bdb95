package attest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// verifyAttestation verifies under a policy of which nil is the default.
func verifyAttestation(v wire.Value, keys wire.Keys, now time.Time, p *attest.Policy, more ...wire.Check[*attest.AttestationSubject]) (*attest.Attestation, wire.Report) {
	f := attest.Verifier{Keys: keys, Now: now}
	if p != nil {
		f.Policy = *p
	}
	return f.VerifyAttestation(v, more...)
}

var (
	issued = time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC)
	judged = issued.Add(time.Hour)
)

func key(tb testing.TB, name string) wire.PrivateKey {
	tb.Helper()
	k, err := wire.NewPrivateKey([]byte(name + strings.Repeat(".", wire.SeedSize-len(name))))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func keys(tb testing.TB) wire.KeyMap {
	return wire.KeyMap{"seller": key(tb, "seller").Public(), "buyer": key(tb, "buyer").Public()}
}

func parse(tb testing.TB, text string) wire.Value {
	tb.Helper()
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return v
}

// draft is the attestation from which the cases are made.
func draft() attest.Draft {
	return attest.Draft{
		ID: "att_1", Session: "ses_1", Time: issued,
		Outcome: attest.Outcome{Status: attest.StatusAgreed, Rounds: 3, Duration: 100 * time.Second, TermsCount: 2, Mechanism: attest.MechanismDirect},
		Parties: []attest.Party{
			{Agent: "seller", Role: attest.RoleInitiator, Behavior: attest.Behavior{OffersMade: 2, Concessions: 1, ConcessionMagnitude: 0.25, ReasoningProvided: true}},
			{Agent: "buyer", Role: attest.RoleResponder, Behavior: attest.Behavior{OffersMade: 1, SignalsShared: 1, ResponseTime: 12345 * time.Millisecond}},
		},
		Meta:           attest.Meta{Category: "electronics.cameras", ValueRange: "1000-5000_USD"},
		TranscriptHash: wire.HashOf("transcript"), ChainHead: wire.HashOf("head"), MessageCount: 7,
	}
}

func unsigned(tb testing.TB) wire.Value {
	tb.Helper()
	v, err := draft().Value()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// sign countersigns v as both parties.
func sign(tb testing.TB, v wire.Value) wire.Value {
	tb.Helper()
	for _, who := range []string{"seller", "buyer"} {
		var err error
		if v, err = attest.Countersign(v, wire.AgentID(who), key(tb, who)); err != nil {
			tb.Fatal(err)
		}
	}
	return v
}

// edit sets the value at the path, or removes it if text is empty.
func edit(tb testing.TB, v wire.Value, text string, path ...string) wire.Value {
	tb.Helper()
	if len(path) > 1 {
		child, ok := v.At(path[0])
		if !ok {
			tb.Fatalf("no %s in %s", path[0], v)
		}
		child = edit(tb, child, text, path[1:]...)
		if v.Kind() == wire.Array {
			var i int
			fmt.Sscan(path[0], &i)
			return v.WithElem(i, child)
		}
		return v.With(path[0], child)
	}
	if text == "" {
		return v.Without(path[0])
	}
	return v.With(path[0], parse(tb, text))
}

// broke says which rule an error breaks, and where.
func broke(err error) string {
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		return v.Rule.Name + " at " + v.At
	}
	return fmt.Sprint(err)
}

func TestVerify(t *testing.T) {
	a, report := verifyAttestation(sign(t, unsigned(t)), keys(t), judged, nil)
	if err := report.Err(); err != nil || report.Outcome() != wire.Passed {
		t.Fatalf("a good attestation: %v", err)
	}
	if a.Outcome != draft().Outcome || a.Parties[0] != draft().Parties[0] || a.Meta.Category != "electronics.cameras" || a.MessageCount != 7 {
		t.Errorf("read back %+v", a)
	}
	if got, want := a.Parties[1].Behavior.ResponseTime, 12350*time.Millisecond; got != want {
		t.Errorf("response time %v, want %v", got, want)
	}
}

// One change each, signed again by both: only the rule named can catch it.
func TestShape(t *testing.T) {
	for _, test := range []struct {
		text string
		path string
		want string // "" stands
	}{
		{``, "concordia_attestation", "attestation at /concordia_attestation"},
		{`"0.5"`, "concordia_attestation", "attestation at /concordia_attestation"},
		{`"0.5.0\n"`, "concordia_attestation", "attestation at /concordia_attestation"},
		{`"0.05.0"`, "concordia_attestation", ""},
		{`"1.0.0"`, "concordia_attestation", ""},
		{``, "attestation_id", "attestation at /attestation_id"},
		{`"two words"`, "attestation_id", "attestation at /attestation_id"},
		{``, "session_id", "attestation at /session_id"},
		{`"2026-09-14 09:00:00Z"`, "timestamp", "attestation at /timestamp"},
		{`"2026-09-14T09:00:00"`, "timestamp", "attestation at /timestamp"},
		{`1`, "extra", "attestation at /extra"},
		{`1`, "outcome/extra", "attestation at /outcome/extra"},
		{`1`, "meta/extra", "attestation at /meta/extra"},
		{`1`, "parties/0/extra", "attestation at /parties/0/extra"},
		{`1`, "parties/0/behavior/extra", "attestation at /parties/0/behavior/extra"},
		{`1`, "validity_temporal/extra", "validity at /validity_temporal/extra"},
		{`"won"`, "outcome/status", "attestation at /outcome/status"},
		{`"withdrawn"`, "outcome/status", ""},
		{`-1`, "outcome/rounds", "attestation at /outcome/rounds"},
		{`1.5`, "outcome/rounds", "attestation at /outcome/rounds"},
		{``, "outcome/duration_seconds", "attestation at /outcome/duration_seconds"},
		{`9007199254740991`, "outcome/duration_seconds", ""},
		{`0`, "outcome/terms_count", "attestation at /outcome/terms_count"},
		{``, "outcome/terms_count", ""},
		{`"barter"`, "outcome/resolution_mechanism", "attestation at /outcome/resolution_mechanism"},
		{`"escalation"`, "outcome/resolution_mechanism", ""},
		{`"judge"`, "parties/1/role", "attestation at /parties/1/role"},
		{`1.0001`, "parties/0/behavior/concession_magnitude", "attestation at /parties/0/behavior/concession_magnitude"},
		{`1`, "parties/0/behavior/concession_magnitude", ""},
		{`-0.5`, "parties/0/behavior/concession_magnitude", "attestation at /parties/0/behavior/concession_magnitude"},
		{`"x"`, "parties/0/behavior/concession_magnitude", "attestation at /parties/0/behavior/concession_magnitude"},
		{`-1`, "parties/0/behavior/response_time_avg_seconds", "attestation at /parties/0/behavior/response_time_avg_seconds"},
		{`1e300`, "parties/0/behavior/response_time_avg_seconds", ""},
		{`1`, "parties/0/behavior/withdrawal", "attestation at /parties/0/behavior/withdrawal"},
		{`{}`, "parties/0/behavior", ""},
		{``, "parties/0/behavior", "attestation at /parties/0/behavior"},
		{``, "meta", "attestation at /meta"},
		{`{}`, "meta", ""},
		{`[1]`, "meta/extensions_used", "attestation at /meta/extensions_used/0"},
		{`"Cameras"`, "meta/category", "category at /meta/category"},
		{`"a..b"`, "meta/category", "category at /meta/category"},
		{`"` + strings.Repeat("a", 65) + `"`, "meta/category", "category at /meta/category"},
		{`"` + strings.Repeat("a", 64) + `"`, "meta/category", ""},
		{`"a.b\n"`, "meta/category", "category at /meta/category"},
		{`"830-831_EUR"`, "meta/value_range", "value-range at /meta/value_range"},
		{`"1000000+_EUR"`, "meta/value_range", ""},
		{`"100-500_eur"`, "meta/value_range", "value-range at /meta/value_range"},
		{`"100-500_EURO"`, "meta/value_range", "value-range at /meta/value_range"},
		{`"100-500"`, "meta/value_range", "value-range at /meta/value_range"},
		{`"abc"`, "transcript_hash", "attestation at /transcript_hash"},
		{`"abc"`, "chain_head", "attestation at /chain_head"},
		{``, "chain_head", "set-binding at /chain_head"},
		{`0`, "message_count", "attestation at /message_count"},
		{`true`, "message_count", "attestation at /message_count"},
		{``, "message_count", "set-binding at /message_count"},
		{``, "validity_temporal", "validity at /validity_temporal"},
		{`null`, "validity_temporal", "attestation at /validity_temporal"},
		{``, "summary", ""},
		{`"` + strings.Repeat("é", 1024) + `"`, "summary", ""},
		{`"` + strings.Repeat("é", 1025) + `"`, "summary", "attestation at /summary"},
		{`"Outcome: 2050 USD"`, "summary", "deal-terms at /summary"},
		{`"sold for $ 5"`, "summary", "deal-terms at /summary"},
		{`"Price: low"`, "summary", "deal-terms at /summary"},
		{`"qty=3"`, "summary", "deal-terms at /summary"},
		{`"12 pcs"`, "summary", "deal-terms at /summary"},
		{`"830  EUR"`, "summary", "deal-terms at /summary"},
		{`"830\u00a0eur"`, "summary", "deal-terms at /summary"},
		{`"830\nEUR"`, "summary", "deal-terms at /summary"},
		{`"\u20ac\u202f\u0663"`, "summary", "deal-terms at /summary"},
		{`"price\t\t: low"`, "summary", "deal-terms at /summary"},
		{`"agent_5usd, reprice: ...d3cAd"`, "summary", ""},
		{`"Transcript hash: cad5000000000000"`, "summary", "deal-terms at /summary"},
		{``, "references", ""},
		{``, "fulfillment", ""},
		{`{}`, "fulfillment", "attestation at /fulfillment/status"},
	} {
		v := edit(t, unsigned(t), test.text, strings.Split(test.path, "/")...)
		_, report := verifyAttestation(sign(t, v), keys(t), judged, nil)
		if got := broke(report.Err()); report.Err() != nil && got != test.want || report.Err() == nil && test.want != "" {
			t.Errorf("%s = %.60s: got %s, want %q", test.path, test.text, got, test.want)
		}
	}
}

func TestParties(t *testing.T) {
	one := parse(t, `[`+mustAt(t, unsigned(t), "parties", "0").Canonical()+`]`)
	if _, report := verifyAttestation(unsigned(t).With("parties", one), keys(t), judged, nil); broke(report.Err()) != "attestation-parties at /parties" {
		t.Errorf("one party: %v", report.Err())
	}
	twice := edit(t, unsigned(t), `"seller"`, "parties", "1", "agent_id")
	if _, report := verifyAttestation(twice, keys(t), judged, nil); broke(report.Err()) != "attestation-parties at /parties/1/agent_id" {
		t.Errorf("one agent twice: %v", report.Err())
	}
}

func mustAt(tb testing.TB, v wire.Value, path ...string) wire.Value {
	tb.Helper()
	w, ok := v.At(path...)
	if !ok {
		tb.Fatalf("nothing at %v", path)
	}
	return w
}

// SPEC §9.6.5, §9.6.5a
func TestSignatures(t *testing.T) {
	good := sign(t, unsigned(t))
	outsider, err := attest.Countersign(unsigned(t), "seller", key(t, "outsider"))
	if err != nil {
		t.Fatal(err)
	}
	text := mustAt(t, good, "countersignatures", "buyer").Text()
	for _, test := range []struct {
		name string
		v    wire.Value
		want string
	}{
		{"no countersignatures", good.Without("countersignatures"), "outcome-binding at /countersignatures/seller"},
		{"one countersignature missing", edit(t, good, ``, "countersignatures", "buyer"), "outcome-binding at /countersignatures/buyer"},
		{"countersignature of the other", edit(t, good, mustAt(t, good, "countersignatures", "seller").Canonical(), "countersignatures", "buyer"), "outcome-binding at /countersignatures/buyer"},
		{"without padding", edit(t, good, `"`+strings.TrimRight(text, "=")+`"`, "countersignatures", "buyer"), "outcome-binding at /countersignatures/buyer"},
		{"with junk", edit(t, good, `"`+text[:10]+"*"+text[10:]+`"`, "countersignatures", "buyer"), "outcome-binding at /countersignatures/buyer"},
		{"empty countersignature", edit(t, good, `""`, "countersignatures", "buyer"), "attestation at /countersignatures/buyer"},
		{"empty record signature", edit(t, good, `""`, "parties", "1", "signature"), "party-signature at /parties/1/signature"},
		{"no record signature", edit(t, good, ``, "parties", "1", "signature"), "party-signature at /parties/1/signature"},
		{"record changed, not signed again", edit(t, good, `9`, "parties", "0", "behavior", "offers_made"), "party-signature at /parties/0/signature"},
		{"outcome changed, not signed again", edit(t, good, `"rejected"`, "outcome", "status"), "outcome-binding at /countersignatures/seller"},
		{"somebody else's key", sign(t, outsider).With("countersignatures", mustAt(t, outsider, "countersignatures")), "outcome-binding at /countersignatures/seller"},
		{"an entry of a stranger", edit(t, good, `"x"`, "countersignatures", "stranger"), ""},
		{"a record of another session", unsigned(t).With("session_id", wire.Text("ses_2")).With("parties", mustAt(t, good, "parties")), "outcome-binding at /countersignatures/seller"},
	} {
		_, report := verifyAttestation(test.v, keys(t), judged, nil)
		if got := broke(report.Err()); report.Err() != nil && got != test.want || report.Err() == nil && test.want != "" {
			t.Errorf("%s: got %s, want %q", test.name, got, test.want)
		}
	}
	half := edit(t, edit(t, good, `"AAAA"`, "parties", "1", "signature"), `"AAAA"`, "countersignatures", "buyer")
	if _, report := verifyAttestation(half, wire.KeyMap{"buyer": key(t, "buyer").Public()}, judged, nil); report.Outcome() != wire.Failed {
		t.Errorf("a forged signature beside a key nobody has: %v", report.Outcome())
	}
	if _, report := verifyAttestation(good, wire.KeyMap{"seller": key(t, "seller").Public()}, judged, nil); report.Outcome() != wire.NotChecked || !errors.Is(report.Err(), wire.RuleUnknownKey) {
		t.Errorf("a key nobody has: %v, %v", report.Outcome(), report.Err())
	}
}

// A witness signs what the parties signed; its signature decides nothing.
func TestWitness(t *testing.T) {
	good := sign(t, unsigned(t))
	known := keys(t)
	known["notary"] = key(t, "notary").Public()
	seen, err := attest.Witness(good, "notary", key(t, "notary"))
	if err != nil {
		t.Fatal(err)
	}
	outcome := func(v wire.Value) (wire.Outcome, error) {
		_, report := verifyAttestation(v, known, judged, nil)
		for _, f := range report {
			if f.Check == "witnesses" {
				return f.Outcome, report.Err()
			}
		}
		return wire.Failed, errors.New("no such check")
	}
	forged := edit(t, seen, mustAt(t, seen, "countersignatures", "buyer").Canonical(), "countersignatures", "notary")
	for _, test := range []struct {
		name string
		v    wire.Value
		want wire.Outcome
	}{{"none", good, wire.NotChecked}, {"one", seen, wire.Passed}, {"forged", forged, wire.Failed}} {
		if got, err := outcome(test.v); got != test.want || err != nil {
			t.Errorf("%s: %v, %v", test.name, got, err)
		}
	}
	if _, err := attest.Witness(good, "buyer", key(t, "buyer")); !errors.Is(err, attest.ErrIsAParty) {
		t.Errorf("a party as its own witness: %v", err)
	}
}

// The order of countersigning leaves no trace, and again changes nothing.
func TestCountersignIsDeterministic(t *testing.T) {
	ab := sign(t, unsigned(t))
	ba, err := attest.Countersign(unsigned(t), "buyer", key(t, "buyer"))
	if err != nil {
		t.Fatal(err)
	}
	if ba, err = attest.Countersign(ba, "seller", key(t, "seller")); err != nil {
		t.Fatal(err)
	}
	if !ab.Equal(ba) || !sign(t, ab).Equal(ab) {
		t.Error("the bytes depend on who signs first, or how often")
	}
	if _, err := attest.Countersign(ab, "stranger", key(t, "stranger")); !errors.Is(err, attest.ErrNotAParty) {
		t.Errorf("a stranger signs: %v", err)
	}
	again, err := draft().Value()
	if err != nil || !again.Equal(unsigned(t)) {
		t.Error("a draft has two values")
	}
}

// SPEC §9.6.5a, §9.6.5b, §9.7.3: what older versions lack is no fault, and no credit.
func TestLegacyVersions(t *testing.T) {
	bound := attest.OutcomeBound()
	for _, test := range []struct {
		version  string
		without  []string
		want     string
		credited bool
	}{
		{"0.1.0", []string{"chain_head", "message_count", "validity_temporal", "countersignatures"}, "", false},
		{"0.2.0", []string{"chain_head", "message_count", "validity_temporal"}, "", true},
		{"0.2.0", []string{"chain_head", "message_count", "validity_temporal", "countersignatures"}, "outcome-binding at /countersignatures/seller", false},
		{"0.3.0", []string{"validity_temporal"}, "", true},
		{"0.3.0", []string{"validity_temporal", "chain_head"}, "set-binding at /chain_head", true},
		{"0.4.9", []string{"validity_temporal"}, "", true},
		{"0.5.0", []string{"validity_temporal"}, "validity at /validity_temporal", false},
		{"0.10.0", []string{"validity_temporal"}, "validity at /validity_temporal", false},
	} {
		v := edit(t, unsigned(t), `"`+test.version+`"`, "concordia_attestation")
		for _, name := range test.without {
			v = v.Without(name)
		}
		v = sign(t, v)
		for _, name := range test.without {
			v = v.Without(name)
		}
		_, report := verifyAttestation(v, keys(t), judged, nil)
		if got := broke(report.Err()); report.Err() != nil && got != test.want || report.Err() == nil && test.want != "" {
			t.Errorf("%s without %v: got %s, want %q", test.version, test.without, got, test.want)
		}
		if test.want == "" {
			_, report = verifyAttestation(v, keys(t), judged, nil, bound)
			if credited := report.Outcome() == wire.Passed; credited != test.credited {
				t.Errorf("%s: outcome credited %t, want %t", test.version, credited, test.credited)
			}
		}
	}

	// No signatures at all are none that a version must not have.
	for _, test := range []struct {
		version, signatures, want string
	}{
		{"0.1.0", `{}`, "<nil>"},
		{"0.1.0", `{"notary": "x"}`, "outcome-binding at /countersignatures/seller"},
		{"0.2.0", `{}`, "outcome-binding at /countersignatures/seller"},
	} {
		v := edit(t, unsigned(t), `"`+test.version+`"`, "concordia_attestation")
		v = sign(t, v.Without("chain_head").Without("message_count").Without("validity_temporal"))
		v = v.With("countersignatures", parse(t, test.signatures))
		_, report := verifyAttestation(v, keys(t), judged, nil)
		if got := broke(report.Err()); got != test.want {
			t.Errorf("%s with countersignatures %s: got %s, want %s", test.version, test.signatures, got, test.want)
		}
		if _, report = verifyAttestation(v, keys(t), judged, nil, bound); report.Outcome() == wire.Passed {
			t.Errorf("%s with countersignatures %s: outcome credited", test.version, test.signatures)
		}
	}
}

// SPEC §9.7: each bound at the edge and one second beyond.
func TestTime(t *testing.T) {
	day := 24 * time.Hour
	absolute := func(from, until string) string {
		return `{"mode":"absolute","from":"` + from + `","until":"` + until + `"}`
	}
	for _, test := range []struct {
		name, validity string
		at             time.Duration // from issued
		policy         *attest.Policy
		want           string
	}{
		{"made just now", "", 0, nil, ""},
		{"made in the future, within the skew", "", -120 * time.Second, nil, ""},
		{"made in the future, beyond", "", -121 * time.Second, nil, "not-yet-valid at /validity_temporal"},
		{"default validity, last second", "", 90*day - time.Second, nil, ""},
		{"default validity, over", "", 90 * day, nil, "expired at /validity_temporal"},
		{"age, edge", absolute("2026-10-01T00:00:00Z", "2026-12-20T00:00:00Z"), 90 * day, nil, ""},
		{"age, beyond", absolute("2026-10-01T00:00:00Z", "2026-12-20T00:00:00Z"), 90*day + time.Second, nil, "age at /timestamp"},
		{"own age", "", time.Hour + time.Second, &attest.Policy{MaxAge: time.Hour}, "age at /timestamp"},
		{"own skew", "", -time.Second, &attest.Policy{Skew: time.Nanosecond}, "not-yet-valid at /validity_temporal"},
		{"lifetime, edge", absolute("2026-09-14T09:00:00Z", "2026-12-13T09:00:00Z"), 0, nil, ""},
		{"lifetime, beyond", absolute("2026-09-14T09:00:00Z", "2026-12-13T09:00:01Z"), 0, nil, "lifetime at /validity_temporal"},
		{"lifetime of a relative one", `{"mode":"relative","from":"2026-09-14T09:00:00Z","duration_seconds":7776001}`, 0, nil, "lifetime at /validity_temporal"},
		{"lifetime of centuries", `{"mode":"relative","from":"2026-09-14T09:00:00Z","duration_seconds":9007199254740991}`, 0, nil, "lifetime at /validity_temporal"},
		{"own lifetime", "", 0, &attest.Policy{MaxLifetime: time.Hour}, "lifetime at /validity_temporal"},
		{"from, within the skew", absolute("2026-09-14T09:02:00Z", "2026-09-15T00:00:00Z"), 0, nil, ""},
		{"from, beyond", absolute("2026-09-14T09:02:01Z", "2026-09-15T00:00:00Z"), 0, nil, "not-yet-valid at /validity_temporal"},
		{"until gets no skew", absolute("2026-09-14T09:00:00Z", "2026-09-14T10:00:00Z"), time.Hour, nil, "expired at /validity_temporal"},
		{"until, last second", absolute("2026-09-14T09:00:00Z", "2026-09-14T10:00:00Z"), time.Hour - time.Second, nil, ""},
		{"relative, last second", `{"mode":"relative","from":"2026-09-14T09:00:00Z","duration_seconds":60}`, 59 * time.Second, nil, ""},
		{"relative, over", `{"mode":"relative","from":"2026-09-14T09:00:00Z","duration_seconds":60}`, 60 * time.Second, nil, "expired at /validity_temporal"},
		{"window with room", `{"mode":"window","start":"2026-09-14T09:00:00Z","end":"2026-09-14T10:00:00Z","duration_seconds":600}`, 50 * time.Minute, nil, ""},
		{"window without room", `{"mode":"window","start":"2026-09-14T09:00:00Z","end":"2026-09-14T10:00:00Z","duration_seconds":600}`, 50*time.Minute + time.Second, nil, "expired at /validity_temporal"},
		{"window shorter than its duration", `{"mode":"window","start":"2026-09-14T09:00:00Z","end":"2026-09-14T10:00:00Z","duration_seconds":3601}`, 0, nil, "validity at /validity_temporal/duration_seconds"},
		{"ends before it begins", absolute("2026-09-14T10:00:00Z", "2026-09-14T10:00:00Z"), 0, nil, "validity at /validity_temporal"},
		{"unknown mode", `{"mode":"forever"}`, 0, nil, "validity at /validity_temporal/mode"},
		{"members of another mode", `{"mode":"relative","from":"2026-09-14T09:00:00Z","until":"2026-09-15T00:00:00Z"}`, 0, nil, "validity at /validity_temporal/until"},
		{"no duration", `{"mode":"relative","from":"2026-09-14T09:00:00Z","duration_seconds":0}`, 0, nil, "validity at /validity_temporal/duration_seconds"},
		{"boolean duration", `{"mode":"relative","from":"2026-09-14T09:00:00Z","duration_seconds":true}`, 0, nil, "validity at /validity_temporal/duration_seconds"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := unsigned(t)
			if test.validity != "" {
				v = edit(t, v, test.validity, "validity_temporal")
			}
			_, report := verifyAttestation(sign(t, v), keys(t), issued.Add(test.at), test.policy)
			if got := broke(report.Err()); report.Err() != nil && got != test.want || report.Err() == nil && test.want != "" {
				t.Errorf("got %s, want %q", got, test.want)
			}
		})
	}
}

// SPEC §11.5.6, §11.5.8
func TestReferences(t *testing.T) {
	reference := func(members string) string {
		return `[{"type":"receipt","id":"x","relationship":"extends"` + members + `}]`
	}
	deep := strings.Repeat(`{"a":`, 8) + `1` + strings.Repeat(`}`, 8)
	for _, test := range []struct{ references, want string }{
		{reference(``), ""},
		{reference(`,"version":"1","signed_at":"2026-09-14T09:00:00Z","signer_did":"did:x","extensions":{"anything":[1,{"goes":null}]}`), ""},
		{`[{"type":"poem","id":"x","relationship":"rhymes"}]`, ""},
		{`[{"id":"x","relationship":"extends"}]`, "reference at /references/0/type"},
		{`[{"type":"receipt","relationship":"extends"}]`, "reference at /references/0/id"},
		{`[{"type":"receipt","id":"x"}]`, "reference at /references/0/relationship"},
		{`[{"type":"receipt","id":"","relationship":"extends"}]`, "reference at /references/0/id"},
		{`[{"type":"receipt","id":"a b","relationship":"extends"}]`, "reference at /references/0/id"},
		{`[{"type":"receipt","id":"a\u00a0b","relationship":"extends"}]`, "reference at /references/0/id"},
		{`[{"type":"receipt","id":"a\u001cb","relationship":"extends"}]`, "reference at /references/0/id"},
		{`[{"type":"receipt","id":"a\ufeffb","relationship":"extends"}]`, "reference at /references/0/id"},
		{`[{"type":"receipt","id":"a\n","relationship":"extends"}]`, "reference at /references/0/id"},
		{`[{"type":"receipt","id":"` + strings.Repeat("i", 257) + `","relationship":"extends"}]`, "reference at /references/0/id"},
		{`[{"type":"` + strings.Repeat("t", 65) + `","id":"x","relationship":"extends"}]`, "reference at /references/0/type"},
		{reference(`,"version":""`), "reference at /references/0/version"},
		{reference(`,"signed_at":"yesterday"`), "reference at /references/0/signed_at"},
		{reference(`,"note":"x"`), "reference at /references/0/note"},
		{reference(`,"extensions":[]`), "reference at /references/0/extensions"},
		{reference(`,"extensions":` + deep), ""},
		{reference(`,"extensions":{"a":` + deep + `}`), "reference at /references/0/extensions"},
		{reference(`,"extensions":{"a":[` + strings.TrimSuffix(strings.Repeat("1,", 254), ",") + `]}`), ""},
		{reference(`,"extensions":{"a":[` + strings.TrimSuffix(strings.Repeat("1,", 255), ",") + `]}`), "reference at /references/0/extensions"},
		{reference(`,"extensions":{"a":"` + strings.Repeat("x", 2040) + `"}`), ""},
		{reference(`,"extensions":{"a":"` + strings.Repeat("x", 2041) + `"}`), "reference at /references/0/extensions"},
		{`[` + strings.TrimSuffix(strings.Repeat(`{"type":"a","id":"b","relationship":"c"},`, 32), ",") + `]`, ""},
		{`[` + strings.TrimSuffix(strings.Repeat(`{"type":"a","id":"b","relationship":"c"},`, 33), ",") + `]`, "reference at /references"},
		{`{}`, "attestation at /references"},
	} {
		v := edit(t, unsigned(t), test.references, "references")
		_, report := verifyAttestation(sign(t, v), keys(t), judged, nil)
		if got := broke(report.Err()); report.Err() != nil && got != test.want || report.Err() == nil && test.want != "" {
			t.Errorf("%.80s: got %s, want %q", test.references, got, test.want)
		}
	}
}

// SPEC §9.6.4, §9.6.5a: a fulfillment comes after the countersignatures and
// stands on its own signature.
func TestFulfillment(t *testing.T) {
	require := attest.FulfillmentBound()
	good := sign(t, unsigned(t))
	confirm := func(who, signer, notes string) wire.Value {
		c := parse(t, `{"agent_id":"`+who+`","confirms_fulfillment":true,"notes":"`+notes+`"}`)
		sig, _ := key(t, signer).Sign([]byte(c.Canonical()))
		block := parse(t, `{"status":"fulfilled","settled_at":"2026-09-14T09:20:00Z","fulfilled_at":null,"settlement_protocol":"acp","delivery_confirmed":true,"disputes":[]}`)
		return good.With("fulfillment", block.With("counterparty_attestation", c.With("signature", wire.Text(sig.String()))))
	}
	denial := parse(t, `{"agent_id":"buyer","confirms_fulfillment":false}`)
	denied, _ := key(t, "buyer").Sign([]byte(denial.Canonical()))
	denial = denial.With("signature", wire.Text(denied.String()))
	for _, test := range []struct {
		name     string
		v        wire.Value
		plain    string
		required string
	}{
		{"denied", edit(t, confirm("buyer", "buyer", "x"), denial.Canonical(), "fulfillment", "counterparty_attestation"), "", "fulfillment-bound at /fulfillment/counterparty_attestation/confirms_fulfillment"},
		{"denied and disputed", edit(t, edit(t, confirm("buyer", "buyer", "x"), denial.Canonical(), "fulfillment", "counterparty_attestation"), `"disputed"`, "fulfillment", "status"), "", ""},
		{"none", good, "", "fulfillment-bound at /fulfillment"},
		{"confirmed", confirm("buyer", "buyer", "as described"), "", ""},
		{"signed by another", confirm("buyer", "seller", "as described"), "", "fulfillment-bound at /fulfillment/counterparty_attestation/signature"},
		{"by a stranger", confirm("stranger", "stranger", "as described"), "", "fulfillment-bound at /fulfillment/counterparty_attestation/agent_id"},
		{"note changed", edit(t, confirm("buyer", "buyer", "as described"), `"as promised"`, "fulfillment", "counterparty_attestation", "notes"), "", "fulfillment-bound at /fulfillment/counterparty_attestation/signature"},
		{"unconfirmed", edit(t, confirm("buyer", "buyer", "x"), ``, "fulfillment", "counterparty_attestation"), "", "fulfillment-bound at /fulfillment/counterparty_attestation"},
		{"note tells the price", confirm("buyer", "buyer", "paid 2050 USD"), "deal-terms at /fulfillment/counterparty_attestation/notes", "deal-terms at /fulfillment/counterparty_attestation/notes"},
		{"unknown status", edit(t, confirm("buyer", "buyer", "x"), `"happy"`, "fulfillment", "status"), "attestation at /fulfillment/status", "attestation at /fulfillment/status"},
		{"dispute tells a quantity", edit(t, confirm("buyer", "buyer", "x"), `[{"description":"only 3 pieces","resolution":null}]`, "fulfillment", "disputes"), "deal-terms at /fulfillment/disputes/0/description", "deal-terms at /fulfillment/disputes/0/description"},
		{"long note", confirm("buyer", "buyer", strings.Repeat("n", 513)), "attestation at /fulfillment/counterparty_attestation/notes", "attestation at /fulfillment/counterparty_attestation/notes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, plain := verifyAttestation(test.v, keys(t), judged, nil)
			_, required := verifyAttestation(test.v, keys(t), judged, nil, require)
			for _, got := range []struct {
				report wire.Report
				want   string
			}{{plain, test.plain}, {required, test.required}} {
				if err := got.report.Err(); err != nil && broke(err) != got.want || err == nil && got.want != "" {
					t.Errorf("got %s, want %q", broke(err), got.want)
				}
			}
		})
	}
}

// SPEC §9.6.6, §9.7.1, §11.5.8: what an issuer refuses to write.
func TestDraftRefuses(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*attest.Draft)
		want  string
	}{
		{"free text as category", func(d *attest.Draft) { d.Meta.Category = "my old camera" }, "category at /meta/category"},
		{"a price as range", func(d *attest.Draft) { d.Meta.ValueRange = "2050-2051_USD" }, "value-range at /meta/value_range"},
		{"lifetime", func(d *attest.Draft) {
			d.Validity = &attest.Validity{Mode: "absolute", From: issued, Until: issued.Add(attest.DefaultMaxLifetime + time.Second)}
		}, "lifetime at /validity_temporal"},
		{"one party", func(d *attest.Draft) { d.Parties = d.Parties[:1] }, "attestation-parties at /parties"},
		{"one party twice", func(d *attest.Draft) { d.Parties[1].Agent = "seller" }, "attestation-parties at /parties/1/agent_id"},
		{"magnitude", func(d *attest.Draft) { d.Parties[0].Behavior.ConcessionMagnitude = 1.5 }, "attestation at /parties/0/behavior/concession_magnitude"},
		{"no messages", func(d *attest.Draft) { d.MessageCount = 0 }, "attestation at /message_count"},
		{"reference with a space", func(d *attest.Draft) {
			d.References = []wire.Value{parse(t, `{"type":"receipt","id":"a b","relationship":"extends"}`)}
		}, "reference at /references/0/id"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := draft()
			test.spoil(&d)
			if _, err := d.Value(); broke(err) != test.want {
				t.Errorf("got %s, want %s", broke(err), test.want)
			}
		})
	}
	// An id that happens to look like a price costs the summary, not the receipt.
	for _, id := range []wire.AgentID{"2050USD", "did:web:5eur.example"} {
		d := draft()
		d.Parties[0].Agent = id
		v, err := d.Value()
		if err != nil || mustAt(t, v, "outcome").Kind() != wire.Object {
			t.Errorf("%s: %v", id, err)
		}
		if _, ok := v.Get("summary"); ok {
			t.Errorf("%s: the summary tells it", id)
		}
	}
	for _, v := range []*attest.Validity{
		{Mode: "relative", From: issued, Until: issued.Add(time.Hour)},
		{Mode: "window", From: issued, Until: issued.Add(time.Hour), Duration: time.Minute},
	} {
		d := draft()
		d.Validity = v
		value, err := d.Value()
		if err != nil {
			t.Fatalf("%s: %v", v.Mode, err)
		}
		if a, _ := verifyAttestation(value, keys(t), judged, nil); *a.Validity != *v {
			t.Errorf("%s: read back %+v", v.Mode, a.Validity)
		}
	}
}

// No single flipped bit of a signed attestation leaves it standing.
func TestBitFlips(t *testing.T) {
	good := []byte(sign(t, unsigned(t)).Canonical())
	k := keys(t)
	for i := range good {
		for bit := range 8 {
			if testing.Short() && (i+bit)%7 != 0 {
				continue
			}
			flipped := append([]byte(nil), good...)
			flipped[i] ^= 1 << bit
			v, err := wire.Parse(flipped, wire.DocumentLimits)
			if err != nil {
				continue
			}
			if _, report := verifyAttestation(v, k, judged, nil); report.Outcome() == wire.Passed {
				t.Fatalf("bit %d of byte %d (%q) flipped, and it still stands", bit, i, good[max(0, i-20):min(len(good), i+20)])
			}
		}
	}
}

func FuzzReadAttestation(f *testing.F) {
	good := sign(f, unsigned(f))
	for _, v := range []wire.Value{
		good, unsigned(f), good.Without("validity_temporal"), edit(f, good, `"0.1.0"`, "concordia_attestation"),
		edit(f, good, `{"mode":"window","start":"2026-09-14T09:00:00Z","end":"2026-09-14T10:00:00Z","duration_seconds":600}`, "validity_temporal"),
		edit(f, good, `{"status":"disputed","settled_at":"2026-09-15T09:00:00Z","disputes":[{"description":"late"}]}`, "fulfillment"),
	} {
		f.Add([]byte(v.Canonical()))
	}
	k := keys(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := wire.Parse(data, wire.DocumentLimits)
		if err != nil {
			return
		}
		a, report := verifyAttestation(v, k, judged, nil)
		if (a == nil) != (report[0].Outcome == wire.Failed) {
			t.Fatal("an attestation without a shape, or a shape without an attestation")
		}
		issued := func(v wire.Value) wire.Value {
			return v.Without("countersignatures").Without("fulfillment").StripSignatures()
		}
		if report.Outcome() == wire.Passed && !issued(v).Equal(issued(good)) && mustAt(t, v, "concordia_attestation").Text() >= "0.2.0" {
			t.Fatalf("something nobody signed stands: %s", v)
		}
	})
}

func BenchmarkVerifyAttestation(b *testing.B) {
	v, k := sign(b, unsigned(b)), keys(b)
	b.Run("attestation", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, r := verifyAttestation(v, k, judged, nil); r.Outcome() != wire.Passed {
				b.Fatal(r.Err())
			}
		}
	})
	b.Run("four bare signatures", func(b *testing.B) {
		message := []byte(v.Canonical())
		sig, _ := key(b, "seller").Sign(message)
		for b.Loop() {
			for range 4 {
				if !k["seller"].Verify(message, sig) {
					b.Fatal("bad signature")
				}
			}
		}
	})
}

func ExampleCountersign() {
	sellerKey, _ := wire.NewPrivateKey([]byte("seller.........................."))
	buyerKey, _ := wire.NewPrivateKey([]byte("buyer..........................."))
	receipt, _ := draft().Value()
	receipt, _ = attest.Countersign(receipt, "seller", sellerKey)
	receipt, _ = attest.Countersign(receipt, "buyer", buyerKey)

	known := wire.KeyMap{"seller": sellerKey.Public(), "buyer": buyerKey.Public()}
	a, report := verifyAttestation(receipt, known, judged, nil)
	fmt.Println(a.Outcome.Status, report.Outcome())
	_, report = verifyAttestation(receipt.Without("countersignatures"), known, judged, nil)
	fmt.Println(report.Err())
	// Output:
	// agreed pass
	// SPEC §9.6.5a outcome-binding: from version 0.2.0 every listed party countersigned the attestation as issued (at /countersignatures/seller): there is no signature
}
