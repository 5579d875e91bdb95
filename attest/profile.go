package attest

import (
	"math"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// An AgentProfile is what an agent publishes of itself: what it negotiates and
// where it is reached (SPEC §9.12). All of it is the agent's own word.
type AgentProfile struct {
	Agent       wire.AgentID
	Name        string
	Description string
	Categories  []string
	OfferTypes  []string
	Languages   []string
	Currencies  []string
	Endpoints   Endpoints
	TTL         time.Duration // from UpdatedAt on
	UpdatedAt   time.Time     // zero if it is none

	signed wire.Value
	value  wire.Value
}

// Endpoints are where an agent is reached, "" if it does not say. That they are
// URLs of that agent nobody checked.
type Endpoints struct{ Negotiate, A2ACard, MCPManifest string }

// The rules of agent profiles.
var (
	RuleProfile          = &wire.Rule{Section: "9.12", Name: "profile", Class: wire.ClassSchema, Text: "an agent profile has the members of its shape and, but for two open places, no others"}
	RuleProfileValues    = &wire.Rule{Section: "9.12", Name: "profile-values", Class: wire.ClassSchema, Text: "type and version of a profile are those that are known, its rate is a share and its update an instant"}
	RuleProfileSignature = &wire.Rule{Section: "9.12", Name: "profile-signature", Class: wire.ClassSignature, Text: "the agent signed the canonical form of its profile"}
	RuleProfileTTL       = &wire.Rule{Section: "9.12", Name: "profile-ttl", Class: wire.ClassTemporal, Text: "the profile is no older than its ttl"}
)

var profileRules = []*wire.Rule{RuleProfile, RuleProfileValues, RuleProfileSignature, RuleProfileTTL}

// ReadAgentProfile checks the shape of a profile as far as the published contract
// does. It verifies nothing.
func ReadAgentProfile(v wire.Value) (*AgentProfile, error) {
	r, err := Shape(v, "agent_profile", RuleProfile)
	if err != nil {
		return nil, err
	}
	p := &AgentProfile{
		Agent: wire.ReadID[wire.AgentID](r, "agent_id"), Name: r.Text("name"), Description: r.Text("description"),
		TTL:    time.Duration(min(r.Int("ttl", 0, maxCount), math.MaxInt64/int64(time.Second))) * time.Second,
		signed: SignedProfile(v), value: v,
	}
	p.UpdatedAt, _ = wire.ParseTime(r.Text("updated_at"))
	capabilities := r.Object("capabilities")
	for name, to := range map[string]*[]string{
		"categories": &p.Categories, "offer_types": &p.OfferTypes, "languages": &p.Languages, "currencies": &p.Currencies,
	} {
		if capabilities.Has(name) {
			*to = capabilities.Strings(name)
		}
	}
	e := r.Object("endpoints").WithoutNulls()
	p.Endpoints = Endpoints{e.OptText("negotiate"), e.OptText("a2a_card"), e.OptText("mcp_manifest")}
	return p, r.Err()
}

// Value returns the profile as it was received.
func (p *AgentProfile) Value() wire.Value { return p.value }

// Signed returns the part of the profile that the agent signed. The rest, which is
// the signature, "verified" and what stands in the two open places, is nobody's
// word.
func (p *AgentProfile) Signed() wire.Value { return p.signed }

// What the agent signs, by object. The objects that are not named here are signed
// whole.
var (
	profileMembers = []string{
		"type", "version", "agent_id", "name", "description", "capabilities", "negotiation_profile", "trust_signals",
		"endpoints", "location", "ttl", "updated_at",
	}
	trustMembers = []string{
		"verascore_did", "verascore_tier", "verascore_composite", "sovereignty", "concordia_sessions_completed",
		"attestation_count", "concordia_preferred", "reputation",
	}
	reputationMembers = []string{"provider", "subject_did", "tier", "composite"}
)

// SignedProfile cuts what the agent signs out of a profile as it was received:
// nothing that is missing is filled in.
func SignedProfile(v wire.Value) wire.Value {
	v = v.Only(profileMembers...)
	trust, _ := v.Get("trust_signals")
	trust = withoutNulls(trust.Only(trustMembers...))
	if list, ok := trust.Get("reputation"); ok {
		items := make([]wire.Value, 0, list.Len())
		for _, item := range list.Elems() {
			items = append(items, withoutNulls(item.Only(reputationMembers...)))
		}
		trust = trust.With("reputation", arrayOf(items))
	}
	endpoints, _ := v.Get("endpoints")
	return v.With("trust_signals", trust).With("endpoints", withoutNulls(endpoints))
}

// withoutNulls returns the object v less the members that are null, and the empty
// object if v is none.
func withoutNulls(v wire.Value) wire.Value {
	if v.Kind() != wire.Object {
		return emptyObject
	}
	return v.WithoutNulls()
}

// arrayOf makes an array of values that were read from JSON.
func arrayOf(items []wire.Value) wire.Value {
	v, err := wire.Encode(items)
	if err != nil {
		panic("attest: what was JSON is not: " + err.Error())
	}
	return v
}

// A ProfileSubject is a profile with what it is verified by.
type ProfileSubject struct {
	Verifier
	Profile *AgentProfile
}

// ProfileChecks are the checks of an agent profile in order (SPEC §9.12). Whether
// the ttl has passed does not decide: it says when to ask the agent again.
func ProfileChecks() []wire.Check[*ProfileSubject] {
	return []wire.Check[*ProfileSubject]{
		{Name: "signature", Run: (*ProfileSubject).checkSignature},
		{Name: "values", Run: (*ProfileSubject).checkValues},
		{Name: "freshness", Run: func(s *ProfileSubject) error { return s.CheckAnchor(s.Profile.UpdatedAt, "/updated_at") }},
		{Name: "ttl", Optional: true, Run: (*ProfileSubject).checkTTL},
	}
}

// VerifyProfile checks an agent profile.
func (f Verifier) VerifyProfile(v wire.Value) (*AgentProfile, wire.Report) {
	return Judge(v, ReadAgentProfile, func(p *AgentProfile) *ProfileSubject {
		return &ProfileSubject{Verifier: f, Profile: p}
	}, ProfileChecks())
}

func (s *ProfileSubject) checkSignature() error {
	text, _ := s.Profile.value.Get("signature")
	return s.CheckSignature(Claim{
		Rule: RuleProfileSignature, Signer: s.Profile.Agent, Algorithm: wire.EdDSA, Signed: s.Profile.UpdatedAt,
		Preimage: s.Profile.signed, Text: text, At: "/signature",
	})
}

// checkValues checks what the contract leaves out of the shape.
func (s *ProfileSubject) checkValues() error {
	r := wire.Read(s.Profile.value, "", RuleProfileValues)
	r.OneOf("type", "concordia.agent_profile")
	r.OneOf("version", "1.0")
	r.Time("updated_at")
	readNumber(r.Object("negotiation_profile"), "agreement_rate", 1, errNumber)
	return r.Err()
}

func (s *ProfileSubject) checkTTL() error {
	if s.Now.Sub(s.Profile.UpdatedAt) > s.Profile.TTL {
		return RuleProfileTTL.At("/ttl")
	}
	return nil
}

// DefaultProfileTTL is how long a profile stands if its draft does not say.
const DefaultProfileTTL = 24 * time.Hour

// Profile issues a profile. The draft says what the agent wants to be known by; what
// it leaves out is empty. (SPEC §9.12)
func (i Issuer) Profile(v wire.Value) (wire.Value, error) {
	d := i.draft("a profile", v)
	d.only(wire.EdDSA)
	d.signer("agent_id")
	for name, x := range map[string]any{
		"type": "concordia.agent_profile", "version": "1.0", "name": d.Agent, "description": "",
		"ttl": int64(DefaultProfileTTL / time.Second), "updated_at": wire.FormatTime(d.Now),
		"capabilities": wire.M{}, "negotiation_profile": wire.M{}, "trust_signals": wire.M{}, "endpoints": wire.M{}, "location": wire.M{},
	} {
		d.fill(x, name)
	}
	for path, x := range profileDefaults {
		d.fill(x, strings.Split(path, ".")...)
	}
	if d.err == nil {
		d.sign(SignedProfile(d.v), "signature")
	}
	return d.done(func(f Verifier, v wire.Value) wire.Report {
		_, report := f.VerifyProfile(v)
		return report
	})
}

// profileDefaults are what a profile says that says nothing. Every reader gets the
// same canonical form from it: none has to fill anything in, as readers do that hold a
// profile in types of their own and verify what they made of it.
var profileDefaults = map[string]any{
	"capabilities.categories": []string{}, "capabilities.offer_types": []string{"basic"}, "capabilities.resolution_methods": []string{},
	"capabilities.max_concurrent_sessions": 1, "capabilities.languages": []string{}, "capabilities.currencies": []string{},
	"negotiation_profile.style": "", "negotiation_profile.avg_rounds_to_agreement": 0, "negotiation_profile.agreement_rate": 0,
	"negotiation_profile.avg_session_duration_seconds": 0, "negotiation_profile.concession_pattern": "",
	"trust_signals.concordia_preferred": true, "trust_signals.concordia_sessions_completed": 0, "trust_signals.attestation_count": 0,
	"trust_signals.sovereignty.L1": "", "trust_signals.sovereignty.L2": "", "trust_signals.sovereignty.L3": "", "trust_signals.sovereignty.L4": "",
	"location.regions": []string{}, "location.jurisdictions": []string{},
}
