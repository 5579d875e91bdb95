package attest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const profileText = `{
	"type":"concordia.agent_profile","version":"1.0","agent_id":"seller","name":"Seller","description":"Old cameras",
	"capabilities":{"categories":["electronics.cameras"],"offer_types":["basic"],"resolution_methods":["split_difference"],
		"max_concurrent_sessions":10,"languages":["en"],"currencies":["EUR"]},
	"negotiation_profile":{"style":"collaborative","avg_rounds_to_agreement":3.5,"agreement_rate":0.75,
		"avg_session_duration_seconds":180.0,"concession_pattern":"graduated"},
	"trust_signals":{"verascore_did":"did:web:rep","verascore_tier":"gold","verascore_composite":90,
		"sovereignty":{"L1":"Full","L2":"Degraded","L3":"Full","L4":"Full"},
		"concordia_sessions_completed":8,"attestation_count":2,"concordia_preferred":true,
		"reputation":[{"provider":"rep.example","subject_did":"did:web:rep","tier":"gold","composite":90}]},
	"endpoints":{"negotiate":"https://seller.example/n","a2a_card":"https://seller.example/a","mcp_manifest":"https://seller.example/m"},
	"location":{"regions":["eu"],"jurisdictions":["EU"]},
	"ttl":3600,"updated_at":"2026-09-14T09:30:00Z","signature":"x","verified":false}`

// signProfile signs what this test says is signed: the profile without signature and
// verified.
func signProfile(tb testing.TB, v wire.Value) wire.Value {
	tb.Helper()
	if text, ok := v.Get("signature"); !ok || text.Kind() != wire.String {
		return v
	}
	return v.With("signature", signature(tb, v.Without("signature").Without("verified"), "seller"))
}

func profileSpecimen(tb testing.TB) specimen {
	f := verifier(tb, "seller")
	s := specimen{
		name: "profile", value: signProfile(tb, parse(tb, profileText)), sign: signProfile,
		verify: func(v wire.Value) wire.Report {
			_, report := f.VerifyProfile(v)
			return report
		},
		tolerated: map[string]string{"drop /verified": "optional"},
	}
	for parent, names := range map[string][]string{
		"/capabilities":        {"categories", "offer_types", "resolution_methods", "max_concurrent_sessions", "languages", "currencies"},
		"/negotiation_profile": {"style", "avg_rounds_to_agreement", "agreement_rate", "avg_session_duration_seconds", "concession_pattern"},
		"/trust_signals": {"verascore_did", "verascore_tier", "verascore_composite", "sovereignty", "concordia_sessions_completed",
			"attestation_count", "concordia_preferred", "reputation"},
		"/trust_signals/sovereignty":  {"L1", "L2", "L3", "L4"},
		"/trust_signals/reputation/0": {"subject_did", "tier", "composite"},
		"/endpoints":                  {"negotiate", "a2a_card", "mcp_manifest"},
		"/location":                   {"regions", "jurisdictions"},
	} {
		for _, name := range names {
			s.tolerated["drop "+parent+"/"+name] = "optional"
		}
	}
	return s
}

func TestProfile(t *testing.T) {
	for _, test := range []struct {
		want string
		path []string
		text string
	}{
		{"", nil, ""},
		{"profile at ", []string{"endorsed_by"}, `"did:web:authority"`},
		{"profile at /capabilities", []string{"capabilities", "more"}, `1`},
		{"profile at /negotiation_profile", []string{"negotiation_profile", "more"}, `1`},
		{"profile at /trust_signals/sovereignty", []string{"trust_signals", "sovereignty", "L5"}, `"Full"`},
		{"profile at /endpoints", []string{"endpoints", "more"}, `"https://x.example"`},
		{"profile at /location", []string{"location", "more"}, `[]`},
		{"profile-values at /type", []string{"type"}, `"concordia.profile"`},
		{"profile-values at /version", []string{"version"}, `"2.0"`},
		{"profile at /agent_id", []string{"agent_id"}, `"two words"`},
		{"profile-values at /negotiation_profile/agreement_rate", []string{"negotiation_profile", "agreement_rate"}, `1.5`},
		{"profile at /ttl", []string{"ttl"}, `-1`},
		{"profile-values at /updated_at", []string{"updated_at"}, `"2026-09-14"`},
		{"", []string{"updated_at"}, `"2026-09-14T10:02:00Z"`}, // the skew
		{"not-yet-valid at /updated_at", []string{"updated_at"}, `"2026-09-14T10:02:01Z"`},
		{"", []string{"updated_at"}, `"2020-01-01T00:00:00Z"`}, // its ttl does not decide
	} {
		v := parse(t, profileText)
		if test.path != nil {
			v = edit(t, v, test.text, test.path...)
		}
		if got := verdict(verifyProfile(t, signProfile(t, v))); got != test.want {
			t.Errorf("%v %s: got %q, want %q", test.path, test.text, got, test.want)
		}
	}
}

func verifyProfile(tb testing.TB, v wire.Value) wire.Report {
	_, report := verifier(tb, "seller", "buyer").VerifyProfile(v)
	return report
}

// The signature covers what the table of SPEC §9.12 names and not what it does not,
// as received: nothing is filled in, nulls are dropped in three places.
func TestProfileSigned(t *testing.T) {
	sound := signProfile(t, parse(t, profileText))
	const broken = "profile-signature at /signature"
	for _, test := range []struct {
		name, want, text string
		path             []string
	}{
		{"another signal", "", `{"x":1}`, []string{"trust_signals", "future"}},
		{"more of a provider", "", `"x"`, []string{"trust_signals", "reputation", "0", "future"}},
		{"the note of a store", "", `true`, []string{"verified"}},
		{"a rate", broken, `0.8`, []string{"negotiation_profile", "agreement_rate"}},
		{"a language less", broken, ``, []string{"capabilities", "languages"}},
		{"a default", broken, ``, []string{"trust_signals", "concordia_preferred"}},
		{"a signal made null", broken, `null`, []string{"trust_signals", "verascore_did"}},
		{"a tier made null", broken, `null`, []string{"trust_signals", "reputation", "0", "tier"}},
		{"an endpoint made null", broken, `null`, []string{"endpoints", "a2a_card"}},
		{"an endpoint of another", broken, `"https://evil.example"`, []string{"endpoints", "negotiate"}},
	} {
		if got := verdict(verifyProfile(t, edit(t, sound, test.text, test.path...))); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	// Signed without the members, it may show them as null.
	bare := parse(t, profileText)
	paths := [][]string{{"trust_signals", "verascore_did"}, {"trust_signals", "reputation", "0", "tier"}, {"endpoints", "a2a_card"}}
	for _, path := range paths {
		bare = edit(t, bare, "", path...)
	}
	bare = signProfile(t, bare)
	shown := bare
	for _, path := range paths {
		shown = edit(t, shown, "null", path...)
	}
	p, report := verifier(t, "seller").VerifyProfile(shown)
	if report.Err() != nil {
		t.Fatal(report.Err())
	}
	if !p.Value().Equal(shown) || !p.Signed().Equal(bare.Without("signature").Without("verified")) {
		t.Errorf("signed is %s", p.Signed())
	}
	if p.Agent != "seller" || p.TTL != time.Hour || !slices.Equal(p.Categories, []string{"electronics.cameras"}) ||
		p.Endpoints != (attest.Endpoints{Negotiate: "https://seller.example/n", MCPManifest: "https://seller.example/m"}) {
		t.Errorf("read %+v", p)
	}
	if got := verdict(verifyProfile(t, sound.With("signature", signature(t, sound.Without("signature").Without("verified"), "buyer")))); got != broken {
		t.Errorf("signed by another: %s", got)
	}
	if _, report := verifier(t).VerifyProfile(sound); report.Outcome() != wire.NotChecked {
		t.Errorf("without a key: %v", report.Outcome())
	}
}

func TestProfileTTL(t *testing.T) {
	v := signProfile(t, parse(t, profileText))
	for _, test := range []struct {
		after time.Duration // of updated_at
		want  wire.Outcome
	}{{time.Hour, wire.Passed}, {time.Hour + time.Second, wire.Failed}} {
		f := verifier(t, "seller")
		f.Now = time.Date(2026, 9, 14, 9, 30, 0, 0, time.UTC).Add(test.after)
		_, report := f.VerifyProfile(v)
		if report.Outcome() != wire.Passed || outcomeOf(report, "ttl") != test.want {
			t.Errorf("after %v: %v, ttl %v", test.after, report.Outcome(), outcomeOf(report, "ttl"))
		}
		if i := len(report) - 1; test.want == wire.Failed && broke(report[i].Err) != "profile-ttl at /ttl" {
			t.Error(report[i].Err)
		}
	}
}
