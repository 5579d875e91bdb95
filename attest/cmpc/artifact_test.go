package cmpc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/wire"
)

// A fault is one change to a sound artifact, signed again, so that only one rule
// can catch it.
type fault struct {
	kind string
	rule string // broken rule and pointer, "" if none
	path string // of the value that text replaces
	text string
	at   time.Duration // after judged
}

var faults = []fault{
	{"commitment", "", "", "", 0},
	{"commitment", "", "/mandate_proof_id", `null`, 0},
	{"commitment", "", "/commitment_terms", `{}`, 0},
	{"commitment", "", "/issued_at", `"2026-09-14T11:00:00+02:00"`, 0},
	{"commitment", "commitment at /commitment_id", "/commitment_id", `"urn:concordia:unwind:a"`, 0},
	{"commitment", "commitment at /mandate_proof_id", "/mandate_proof_id", `"urn:other:mandate:1"`, 0},
	{"commitment", "commitment at /mandate_proof_id", "/mandate_proof_id", `7`, 0},
	{"commitment", "chain-instant at /issued_at", "/issued_at", `"2026-09-14T09:00Z"`, 0}, // the published schema would let it pass
	{"commitment", "commitment at /committer_did", "/committer_did", `"did:web:al pha"`, 0},
	{"commitment", "commitment at /algorithm", "/algorithm", `"ES256"`, 0},
	{"commitment", "commitment at ", "/note", `"a closed object"`, 0},
	{"commitment", "commitment-signature at /signature", "/committer_did", `"did:web:beta"`, 0},
	{"commitment", "", "", "", time.Hour}, // expires_at is the last moment
	{"commitment", "commitment-expired at /expires_at", "", "", time.Hour + time.Second},
	{"commitment", "", "/issued_at", `"2026-09-14T10:02:00Z"`, 0}, // the skew
	{"commitment", "not-yet-valid at /issued_at", "/issued_at", `"2026-09-14T10:02:01Z"`, 0},
	{"commitment", "commitment-window at /expires_at", "/issued_at", `"2026-09-14T11:00:00Z"`, time.Hour},
	{"commitment", "", "/issued_at", `"2026-09-14T10:59:59Z"`, time.Hour},
	{"commitment", "", "/expires_at", `"2026-12-13T09:00:00Z"`, 0}, // 90 days
	{"commitment", "lifetime at /expires_at", "/expires_at", `"2026-12-13T09:00:01Z"`, 0},
	{"commitment", "commitment-session at /chain_session_id", "/chain_session_id", `"urn:concordia:chain-session:2"`, 0},
	{"commitment", "commitment-session at /predicate_reference", "/predicate_reference", `"urn:concordia:predicate:2"`, 0},

	{"commitment", "commitment at /commitment_id", "/commitment_id", `"urn:concordia:commitment:"`, 0},
	{"commitment", "commitment at /mandate_proof_id", "/mandate_proof_id", `"urn:concordia:"`, 0},
	{"activation", "activation at /activation_proof_id", "/activation_proof_id", `"urn:concordia:activation-proof:"`, 0},
	{"activation", "activation at /commitment_ids/1", "/commitment_ids/1", `"urn:concordia:commitment:"`, 0},
	{"unwind", "unwind at /unwind_record_id", "/unwind_record_id", `"urn:concordia:unwind:"`, 0},
	{"predicate", "closure-predicate at /predicate_id", "/predicate_id", `"urn:concordia:predicate:"`, 0},
	{"predicate", "closure-predicate at /authority", "/authority", `"did:"`, 0},
	{"session", "chain-session at /chain_session_id", "/chain_session_id", `"urn:concordia:chain-session:"`, 0},
	{"session", "chain-session at /participants/1", "/participants/1", `"did:"`, 0},

	{"activation", "", "", "", 0},
	{"activation", "", "/predicate_evaluation", `{"evidence":{"total":25}}`, 0},
	{"activation", "activation at /commitment_ids", "/commitment_ids", `[]`, 0},
	{"activation", "chain-instant at /activated_at", "/activated_at", `"2026-09-14Tnoon"`, 0},
	{"activation", "activation at ", "/note", `1`, 0},
	{"activation", "activation-signature at /signature", "/issuer_did", `"did:web:beta"`, 0},
	{"activation", "activation-evaluation at /predicate_evaluation/result", "/predicate_evaluation/result", `"unsatisfied"`, 0},
	{"activation", "activation-evaluation at /predicate_evaluation/result", "/predicate_evaluation/result", `true`, 0},
	{"activation", "activation at /predicate_evaluation/Result", "/predicate_evaluation", `{"result":"satisfied","Result":"unsatisfied"}`, 0},
	{"activation", "activation-commitments at /commitment_ids/1", "/commitment_ids/1", `"urn:concordia:commitment:b"`, 0},
	{"activation", "", "/activated_at", `"2026-09-14T10:02:00Z"`, 0},
	{"activation", "not-yet-valid at /activated_at", "/activated_at", `"2026-09-14T10:02:01Z"`, 0},
	{"activation", "", "/activated_at", `"2020-01-01T00:00:00Z"`, 0}, // a proof does not get old
	{"activation", "activation-session at /chain_session_id", "/chain_session_id", `"urn:concordia:chain-session:2"`, 0},
	{"activation", "activation-session at /closure_predicate_id", "/closure_predicate_id", `"urn:concordia:predicate:2"`, 0},
	{"activation", "activation-session at /commitment_ids", "/commitment_ids", `["urn:concordia:commitment:a"]`, 0},
	{"activation", "", "/activated_at", `"2026-09-14T11:59:59Z"`, 2 * time.Hour},
	{"activation", "activation-session at /activated_at", "/activated_at", `"2026-09-14T12:00:00Z"`, 2 * time.Hour}, // the deadline

	{"unwind", "", "", "", 0},
	{"unwind", "", "/dissolution_reason", `"mandate_violation"`, 0},
	{"unwind", "", "/counterparty_acknowledgment", `{"by":"did:web:beta"}`, 0},
	{"unwind", "", "/affected_commitment_ids", `[]`, 0},
	{"unwind", "unwind at /dissolution_reason", "/dissolution_reason", `"mood"`, 0},
	{"unwind", "unwind at /counterparty_acknowledgment", "/counterparty_acknowledgment", `[]`, 0},
	{"unwind", "unwind at ", "/note", `1`, 0},
	{"unwind", "unwind-signature at /signature", "/issuer_did", `"did:web:beta"`, 0},
	{"unwind", "", "/issued_at", `"2026-09-14T10:02:00Z"`, 0},
	{"unwind", "not-yet-valid at /issued_at", "/issued_at", `"2026-09-14T10:02:01Z"`, 0},
	{"unwind", "", "/issued_at", `"2020-01-01T00:00:00Z"`, 0},
	{"unwind", "chain-instant at /issued_at", "/issued_at", `"2026-09-14T24:00:00Z"`, 0},
	{"unwind", "unwind-session at /chain_session_id", "/chain_session_id", `"urn:concordia:chain-session:2"`, 0},
	{"unwind", "unwind-session at /affected_commitment_ids/0", "/affected_commitment_ids", `["urn:concordia:commitment:c"]`, 0},

	{"predicate", "", "", "", 0},
	{"predicate", "closure-predicate at /type", "/type", `"closure_language:v1"`, 0},
	{"predicate", "closure-predicate at /references/0", "/references", `["urn:concordia:chain-session:1"]`, 0},
	{"predicate", "closure-signature at /signature", "/issuer", `"did:web:beta"`, 0},
	{"predicate", "closure-predicate at /Status", "/Status", `"suspended"`, 0},
	{"predicate", "closure-status at /status", "/status", `"suspended"`, 0},
	{"predicate", "", "", "", time.Hour},
	{"predicate", "closure-expired at /expires_at", "", "", time.Hour + time.Second},
	{"predicate", "closure-window at /expires_at", "/issued_at", `"2026-09-14T11:00:00Z"`, time.Hour},
	{"predicate", "not-yet-valid at /issued_at", "/issued_at", `"2026-09-14T10:02:01Z"`, 0},
	{"predicate", "chain-instant at /expires_at", "/expires_at", `"2026-09-14T9:00:00Z"`, 0},
	{"predicate", "closure-session at /subject", "/subject", `"urn:concordia:chain-session:2"`, 0},
	{"predicate", "closure-session at /predicate_id", "/predicate_id", `"urn:concordia:predicate:2"`, 0},

	{"session", "", "", "", 0},
	{"session", "chain-session at /participants", "/participants", `[]`, 0},
	{"session", "chain-session at /state", "/state", `"CLOSED"`, 0},
	{"session", "chain-session at /activated_at", "/activated_at", `"2026-09-14"`, 0},
	{"session", "chain-session at ", "/note", `1`, 0},
	{"session", "chain-instant at /activation_deadline", "/activation_deadline", `"2026-09-14T12:00:00"`, 0},
	{"session", "chain-lists at /participants/1", "/participants/1", `"did:web:alpha"`, 0},
	{"session", "chain-lists at /commitments/1", "/commitments/1", `"urn:concordia:commitment:a"`, 0},
	{"session", "chain-live at /activated_at", "/activated_at", `"2026-09-14T09:00:00Z"`, 0},
	{"session", "chain-live at /dissolved_at", "/dissolved_at", `"2026-09-14T09:00:00Z"`, 0},
	{"session", "", "/created_at", `"2026-09-14T10:02:00Z"`, 0},
	{"session", "not-yet-valid at /created_at", "/created_at", `"2026-09-14T10:02:01Z"`, 0},
	{"session", "chain-activating at /activation_proof_id", "/activation_proof_id", `null`, 0},
	{"session", "", "", "", 2*time.Hour - time.Second},
	{"session", "chain-activating-in-time at /activation_deadline", "", "", 2 * time.Hour},
	{"session", "chain-transition at /state", "/state", `"PROPOSED"`, 0},
	{"session", "transition-record at /transitions", "/transitions", `{}`, 0},
}

// broken counts, by name, the rules that the tests of this package saw broken.
func broken(t *testing.T) map[string]int {
	seen := map[string]int{}
	for _, test := range faults {
		s := specimens[test.kind]
		v := s.issue(t)
		if test.path != "" {
			v = s.sign(t, edit(t, v, test.text, strings.Split(test.path, "/")[1:]...))
		}
		f := verifier(t)
		f.Now = f.Now.Add(test.at)
		if got := broke(s.verify(f, v, session(t)).Err()); got != test.rule {
			t.Errorf("%s %s %s after %v: got %q, want %q", test.kind, test.path, test.text, test.at, got, test.rule)
		}
		seen[strings.Split(test.rule, " ")[0]]++
	}
	return seen
}

// Every rule is broken by some test, alone.
func TestEveryRule(t *testing.T) {
	seen := broken(t)
	for _, more := range []func(*testing.T, map[string]int){stateFaults, transitionFaults, recordFaults, closureFaults} {
		more(t, seen)
	}
	for _, r := range cmpc.Rules() {
		if seen[r.Name] == 0 {
			t.Errorf("no test breaks %s", r.Name)
		}
	}
}

// stateFaults are artifacts about a session that is not in the state for them.
func stateFaults(t *testing.T, seen map[string]int) {
	const (
		commitments = `["urn:concordia:commitment:b","urn:concordia:commitment:c"]`
		this, other = `"urn:concordia:activation-proof:1"`, `"urn:concordia:activation-proof:2"`
		unwind      = `"urn:concordia:unwind:1"`
	)
	for _, test := range []struct {
		kind, state, member, text, rule string
	}{
		{"commitment", "PROPOSED", "commitments", `[]`, ""}, // it collects them
		{"commitment", "OPEN", "commitments", commitments, "commitment-listed at /commitment_id"},
		{"commitment", "ACTIVATED", "", "", "commitment-state at /chain_session_id"},
		{"commitment", "DISSOLVED", "", "", "commitment-state at /chain_session_id"},
		{"commitment", "EXPIRED", "", "", "commitment-state at /chain_session_id"},
		{"activation", "OPEN", "activation_proof_id", `null`, ""},
		{"activation", "OPEN", "activation_proof_id", other, "activation-state at /activation_proof_id"},
		{"activation", "ACTIVATED", "activation_proof_id", this, ""},
		{"activation", "ACTIVATED", "activation_proof_id", other, "activation-state at /activation_proof_id"},
		{"activation", "ACTIVATED", "activation_proof_id", `null`, "activation-state at /activation_proof_id"},
		{"activation", "PROPOSED", "activation_proof_id", this, "activation-state at /activation_proof_id"},
		{"activation", "DISSOLVED", "activation_proof_id", this, "activation-state at /activation_proof_id"},
		{"activation", "EXPIRED", "activation_proof_id", this, "activation-state at /activation_proof_id"},
		{"unwind", "OPEN", "unwind_record_id", unwind, ""},
		{"unwind", "OPEN", "unwind_record_id", `"urn:concordia:unwind:2"`, "unwind-state at /unwind_record_id"},
		{"unwind", "DISSOLVED", "unwind_record_id", unwind, ""},
		{"unwind", "DISSOLVED", "unwind_record_id", `"urn:concordia:unwind:2"`, "unwind-state at /unwind_record_id"},
		{"unwind", "PROPOSED", "", "", "unwind-state at /unwind_record_id"},
		{"unwind", "ACTIVATED", "unwind_record_id", unwind, "unwind-state at /unwind_record_id"},
		{"unwind", "EXPIRED", "unwind_record_id", unwind, "unwind-state at /unwind_record_id"},
	} {
		v := edit(t, parse(t, sessionText), `"`+test.state+`"`, "state")
		if test.member != "" {
			v = edit(t, v, test.text, test.member)
		}
		of, err := cmpc.ReadChainSession(v)
		if err != nil {
			t.Fatal(err)
		}
		s := specimens[test.kind]
		if got := broke(s.verify(verifier(t), s.issue(t), of).Err()); got != test.rule {
			t.Errorf("%s, session %s, %s %s: got %q, want %q", test.kind, test.state, test.member, test.text, got, test.rule)
		}
		seen[strings.Split(test.rule, " ")[0]]++
	}
}

// Who issues for a session takes part in it, or the relying party says that it may.
func TestIssuer(t *testing.T) {
	for kind, checks := range map[string]func(wire.Value, *cmpc.ChainSession, wire.AgentID) wire.Report{
		"activation": func(v wire.Value, of *cmpc.ChainSession, trusted wire.AgentID) wire.Report {
			p, err := cmpc.ReadAtomicActivationProof(v)
			if err != nil {
				t.Fatal(err)
			}
			return wire.Run(&cmpc.ActivationSubject{Verifier: verifier(t), Proof: p, Session: of, Trusted: trusted}, cmpc.ActivationChecks()...)
		},
		"unwind": func(v wire.Value, of *cmpc.ChainSession, trusted wire.AgentID) wire.Report {
			u, err := cmpc.ReadUnwindRecord(v)
			if err != nil {
				t.Fatal(err)
			}
			return wire.Run(&cmpc.UnwindSubject{Verifier: verifier(t), Record: u, Session: of, Trusted: trusted}, cmpc.UnwindChecks()...)
		},
	} {
		s := specimens[kind]
		s.signer = notary
		stranger := s.sign(t, edit(t, s.issue(t), `"`+notary+`"`, "issuer_did"))
		for _, test := range []struct {
			what    string
			v       wire.Value
			of      *cmpc.ChainSession
			trusted wire.AgentID
			want    wire.Outcome
		}{
			{"a participant", specimens[kind].issue(t), session(t), "", wire.Passed},
			{"a stranger", stranger, session(t), "", wire.NotChecked},
			{"a stranger, trusted", stranger, session(t), notary, wire.Passed},
			{"a stranger, another trusted", stranger, session(t), beta, wire.NotChecked},
			{"a stranger, no session", stranger, nil, "", wire.Passed},
		} {
			if report := checks(test.v, test.of, test.trusted); report.Outcome() != test.want {
				t.Errorf("%s by %s: %v, %v, want %v", kind, test.what, report.Outcome(), report.Err(), test.want)
			}
		}
	}
}

// Two spellings of one did:key are one participant and one committer.
func TestTwoSpellings(t *testing.T) {
	plain, reference := string(wire.DIDKey(key(t, alpha).Public())), string(wire.ReferenceDIDKey(key(t, alpha).Public()))
	v := edit(t, parse(t, sessionText), `["`+plain+`","`+reference+`"]`, "participants")
	if _, report := cmpc.VerifyChainSession(verifier(t), v, ""); broke(report.Err()) != "chain-lists at /participants/1" {
		t.Error(report.Err())
	}
	p := edit(t, parse(t, bilateralText), `["`+plain+`","`+reference+`"]`, "expected_participants")
	c := edit(t, edit(t, parse(t, commitmentsText), `"`+plain+`"`, "0", "committer_did"), `"`+reference+`"`, "1", "committer_did")
	if r := cmpc.Evaluate(cmpc.BilateralV1, p, list(c), judged); r.Reason != cmpc.DuplicateParticipant {
		t.Errorf("%+v", r)
	}
}

// Without a chain session at hand nothing is compared with one, and the report
// says so.
func TestWithoutSession(t *testing.T) {
	for kind, member := range map[string]string{
		"commitment": "chain_session_id", "activation": "chain_session_id", "unwind": "chain_session_id", "predicate": "subject",
	} {
		s := specimens[kind]
		v := s.sign(t, edit(t, s.issue(t), `"urn:concordia:chain-session:2"`, member))
		report := s.verify(verifier(t), v, nil)
		if report.Outcome() != wire.Passed {
			t.Errorf("%s: %v", kind, report.Err())
		}
		for _, f := range report {
			if f.Check == "session" && f.Outcome != wire.NotChecked {
				t.Errorf("%s: session is %v", kind, f.Outcome)
			}
		}
	}
}

// A commitment of somebody who takes no part is signed, but of no use.
func TestStrangersCommitment(t *testing.T) {
	s := specimens["commitment"]
	s.signer = notary
	v := s.sign(t, edit(t, s.issue(t), `"did:web:notary"`, "committer_did"))
	if got := broke(s.judge(t, v).Err()); got != "commitment-session at /committer_did" {
		t.Error(got)
	}
	if _, report := cmpc.VerifyCommitment(attest.Verifier{Keys: wire.KeyMap{}, Now: judged}, v, nil); report.Outcome() != wire.NotChecked {
		t.Errorf("nobody knows the key: %v", report.Outcome())
	}
}

// The signature of a closure predicate decides only for who acts on it, and it may
// be the authority's if the issuer's key is not known.
func TestClosureSignature(t *testing.T) {
	s := specimens["predicate"]
	unsigned := parse(t, predicateText)
	if _, report := cmpc.VerifyClosurePredicate(verifier(t), unsigned, nil); report.Outcome() != wire.Passed {
		t.Error(report.Err())
	}
	if _, report := cmpc.VerifyClosurePredicate(verifier(t), unsigned, nil, cmpc.ClosureSigned()); broke(report.Err()) != "closure-signature at /signature" {
		t.Error(report.Err())
	}
	s.signer = alpha // the authority
	v := s.issue(t)
	if _, report := cmpc.VerifyClosurePredicate(verifier(t), v, nil, cmpc.ClosureSigned()); broke(report.Err()) != "closure-signature at /signature" {
		t.Error("the issuer's key is known: ", report.Err())
	}
	f := verifier(t)
	f.Keys = wire.KeyMap{alpha: key(t, alpha).Public()}
	if _, report := cmpc.VerifyClosurePredicate(f, v, nil, cmpc.ClosureSigned()); report.Outcome() != wire.Passed {
		t.Error(report.Err())
	}
	f.Keys = wire.KeyMap{}
	if _, report := cmpc.VerifyClosurePredicate(f, v, nil, cmpc.ClosureSigned()); report.Outcome() != wire.NotChecked {
		t.Error(report.Outcome())
	}
}

// A commitment falls with itself, and with the mandate it was made under.
func TestRevokedCommitment(t *testing.T) {
	record := func(id, scope string) wire.Value {
		v := parse(t, `{
			"revocation_id":"urn:concordia:revocation:1","revoked_artifact_id":"`+id+`","revoked_artifact_type":"mandate",
			"revocation_scope":"`+scope+`","issuer_did":"did:web:alpha",
			"issued_at":"2026-09-14T09:40:00Z","effective_at":"2026-09-14T09:45:00Z","reason":"key lost","cascade_depth":1,
			"references":[{"id":"`+id+`","type":"mandate","relationship":"revokes"}],"signature":{"alg":"EdDSA","value":"x"}}`)
		return edit(t, v, signature(t, v.Without("signature"), alpha).Canonical(), "signature", "value")
	}
	for _, test := range []struct {
		id, scope string
		now       time.Time
		rule      string
	}{
		{"urn:concordia:commitment:a", "single_artifact", judged, "revoked at "},
		{"urn:concordia:commitment:a", "single_artifact", judged.Add(-15*time.Minute - time.Second), ""},
		{"urn:concordia:mandate:1", "cascade_to_dependents", judged, "revoked at /mandate_proof_id"},
		{"urn:concordia:mandate:1", "single_artifact", judged, ""},
		{"urn:concordia:commitment:b", "single_artifact", judged, ""},
	} {
		f := verifier(t)
		var reports []wire.Report
		if f.Revocations, reports = f.ReadRevocations([]wire.Value{record(test.id, test.scope)}, nil); reports[0].Err() != nil {
			t.Fatal(reports[0].Err())
		}
		f.Now = test.now
		if _, report := cmpc.VerifyCommitment(f, specimens["commitment"].issue(t), nil); broke(report.Err()) != test.rule {
			t.Errorf("%s %s at %v: got %v, want %q", test.id, test.scope, test.now, report.Err(), test.rule)
		}
	}
}

// What is read is what was written, and the value is the one received.
func TestRead(t *testing.T) {
	v := specimens["commitment"].issue(t)
	c, err := cmpc.ReadConditionalCommitment(v)
	if err != nil || !c.Value().Equal(v) || c.Mandate != "urn:concordia:mandate:1" || c.Committer != alpha || !c.ExpiresAt.Equal(judged.Add(time.Hour)) {
		t.Errorf("%+v, %v", c, err)
	}
	u, err := cmpc.ReadUnwindRecord(parse(t, unwindText))
	if err != nil || u.Reason != cmpc.Timeout || u.Acknowledged || len(u.Affected) != 1 {
		t.Errorf("%+v, %v", u, err)
	}
	s := session(t)
	if s.State != cmpc.Open || s.Unwind != "" || s.Activation == "" || !s.ActivatedAt.IsZero() || !s.Value().Equal(parse(t, sessionText)) {
		t.Errorf("%+v", s)
	}
	if _, report := cmpc.VerifyUnwind(attest.Verifier{Now: judged}, wire.Value{}, nil); broke(report.Err()) != "unwind at " {
		t.Error(report.Err())
	}
	deep := parse(t, `{"transitions":`+strings.Repeat("[", wire.MaxDepth)+strings.Repeat("]", wire.MaxDepth)+`}`)
	if _, err := cmpc.ReadChainSession(deep); broke(err) != "json-depth at " {
		t.Error(err)
	}
}
