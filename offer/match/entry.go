package match

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// An ID names a want or a have: "want_…" or "have_…".
type ID string

// A Kind is whether an entry is a want or a have, as its member type says it.
type Kind string

// The kinds.
const (
	Want Kind = "concordia.want"
	Have Kind = "concordia.have"
)

// Other returns the kind of the entries that one of kind k can match.
func (k Kind) Other() Kind {
	if k == Want {
		return Have
	}
	return Want
}

// Limits of one entry (SPEC §7.1).
const (
	MaxSize   = 8 << 10 // bytes of its JSON
	MaxDepth  = 16
	MaxTerms  = 32
	MaxEnum   = 64  // values of an enum
	maxTermID = 128 // bytes
	MaxTTL    = 366 * 24 * time.Hour
)

// ParseLimits bound the JSON of one entry.
var ParseLimits = wire.Limits{Size: MaxSize, Depth: MaxDepth}

// An Entry is a want or a have (SPEC §7.1, §7.2). It is immutable.
type Entry struct {
	Kind     Kind
	ID       ID
	Agent    wire.AgentID
	Category string
	TTL      time.Duration
	Created  time.Time // zero if it does not say
	Notify   bool      // the agent of a want wants to be told of new matches
	Location *Location // nil: it does not say

	owner  wire.AgentID // Agent, as each agent is named once
	value  wire.Value
	terms  []term // in the order of their ids
	weight int    // what it costs to compare
	depth  int    // words of the category
}

var (
	errTooLarge = fmt.Errorf("an entry has at most %d bytes, %d levels and %d terms", MaxSize, MaxDepth, MaxTerms)
	errSigned   = errors.New("who signs says when: created_at is missing")
	errPrefix   = errors.New("the id of a want begins with want_, that of a have with have_")
)

// Read checks a want or a have. It verifies no signature.
func Read(v wire.Value) (*Entry, error) {
	r := wire.Read(v, "", RuleEntry)
	r = r.WithoutNulls()
	if members := []string{"type", "id", "agent_id", "category", "terms", "location", "ttl", "created_at", "notify", "metadata", "signature"}; r.Has("signature") {
		r.Closed(members...) // so that what was signed is no artifact of another kind, too
	} else {
		r.Open(members...)
	}
	if len(v.Canonical()) > MaxSize || v.Depth() > MaxDepth {
		r.Fail("", errTooLarge)
		return nil, r.Err()
	}
	e := &Entry{
		Kind: Kind(r.OneOf("type", string(Want), string(Have))), ID: wire.ReadID[ID](r, "id"), Agent: wire.ReadID[wire.AgentID](r, "agent_id"),
		Category: r.Text("category"), TTL: time.Duration(r.Int("ttl", 1, int64(MaxTTL/time.Second))) * time.Second, Notify: true, value: v,
	}
	if prefix := strings.TrimPrefix(string(e.Kind), "concordia.") + "_"; !strings.HasPrefix(string(e.ID), prefix) {
		r.Fail("id", errPrefix)
	}
	if err := CheckCategory(e.Category); err != nil {
		r.FailRule(RuleCategory, "category", err)
	}
	if r.Has("created_at") {
		e.Created = r.Time("created_at")
	}
	_ = r.OptText("signature")
	if r.Has("notify") {
		e.Notify = r.Bool("notify")
	}
	if r.Has("signature") && e.Created.IsZero() {
		r.Fail("created_at", errSigned)
	}
	if location, ok := r.OptObject("location"); ok {
		e.Location = readLocation(location)
	}
	terms := r.Object("terms")
	if terms.Whole().Len() > MaxTerms {
		r.Fail("terms", errTooLarge)
		return nil, r.Err()
	}
	for id, tr := range terms.For(RuleTerm).Each() {
		t := readTerm(id, tr)
		if r.Err() != nil {
			break
		}
		e.terms = append(e.terms, t)
		e.weight += t.weight()
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	sortTerms(e.terms)
	e.owner = wire.PlainDIDKey(e.Agent)
	e.depth = strings.Count(e.Category, ".") + 1
	return e, nil
}

// Parse reads the JSON of a want or a have.
func Parse(text []byte) (*Entry, error) {
	v, err := wire.Parse(text, ParseLimits)
	if err != nil {
		return nil, err
	}
	return Read(v)
}

// Owner returns whose entry it is, by the one name of an agent that has several.
func (e *Entry) Owner() wire.AgentID { return e.owner }

// Value returns the entry as it was received.
func (e *Entry) Value() wire.Value { return e.value }

// Expires returns when the entry ends that was posted at a time: it says itself from
// when on its ttl counts, unless that is later.
func (e *Entry) Expires(posted time.Time) time.Time {
	if !e.Created.IsZero() && e.Created.Before(posted) {
		posted = e.Created
	}
	return posted.Add(e.TTL)
}

// IsSigned reports whether the entry has a signature. Whether it is good says Verify.
func (e *Entry) IsSigned() bool {
	s, ok := e.value.Get("signature")
	return ok && s.Kind() == wire.String
}

// Sign signs an entry: the canonical JSON without signature (SPEC §7.1).
func Sign(v wire.Value, by wire.Signer) (wire.Value, error) {
	v = v.Without("signature")
	sig, err := by.Sign([]byte(v.Canonical()))
	if err != nil {
		return v, fmt.Errorf("signing an entry: %w", err)
	}
	return v.With("signature", wire.Text(sig.String())), nil
}

// Verify checks the signature of an entry. One that has none breaks the rule.
func (e *Entry) Verify(keys wire.Keys) error {
	text, _ := e.value.Get("signature")
	key, err := keys.Key(e.Agent, e.Created)
	if err != nil {
		return err
	}
	if err := key.VerifyText(e.value.AppendWithout(nil, "signature"), text.Text()); err != nil {
		return RuleSignature.Because("/signature", err)
	}
	return nil
}
