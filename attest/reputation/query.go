package reputation

import (
	"errors"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// The types of a query and of its answer.
const (
	QueryType    = "concordia.reputation.query"
	ResponseType = "concordia.reputation.response"
)

// A Query asks what is known of an agent before one deals with it. Nobody signs it:
// who asks is what it says. (SPEC §9.6.7)
type Query struct {
	Subject   wire.AgentID
	Requester wire.AgentID
	Category  string      // "" if any; also those below it
	Range     string      // "" if any
	Role      attest.Role // "" if any; receipts have initiator and responder alone

	context wire.Value // absent if there is none
}

var (
	errCategory = errors.New("not a category")
	errRange    = errors.New("not a value range")
	errRole     = errors.New("longer than 64 characters")
)

// bounded checks how much there is to read.
func bounded(v wire.Value) error {
	switch {
	case v.Depth() > wire.MaxDepth:
		return wire.RuleDepth.At("")
	case len(v.Canonical()) > attest.MaxArtifactSize:
		return wire.RuleSize.At("")
	}
	return nil
}

// ReadQuery checks the shape of a query.
func ReadQuery(v wire.Value) (*Query, error) {
	if err := bounded(v); err != nil {
		return nil, err
	}
	r := wire.Read(v, "", RuleQuery)
	r.Open("type", "subject_agent_id", "requester_agent_id", "context")
	r.OneOf("type", QueryType)
	q := &Query{Subject: wire.ReadID[wire.AgentID](r, "subject_agent_id"), Requester: wire.ReadID[wire.AgentID](r, "requester_agent_id")}
	if c, _ := v.Get("context"); c.Kind() != wire.Absent && c.Kind() != wire.Null {
		q.readContext(r.Object("context"))
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return q, nil
}

// readContext reads what kind of deal is asked about. A member that is null or empty
// asks nothing.
func (q *Query) readContext(r wire.Reader) {
	r = r.WithoutNulls()
	r.Open("category", "value_range", "role")
	q.context = r.Whole()
	q.Category, q.Range, q.Role = r.OptText("category"), r.OptText("value_range"), attest.Role(r.OptText("role"))
	if q.Category != "" && attest.CheckCategory(q.Category) != nil {
		r.Fail("category", errCategory)
	}
	if q.Range != "" && attest.CheckValueRange(q.Range) != nil {
		r.Fail("value_range", errRange)
	}
	if len([]rune(q.Role)) > 64 {
		r.Fail("role", errRole)
	}
}

// covers reports whether a category is the one that is asked about, or below it.
func (q *Query) covers(category string) bool {
	return category == q.Category || strings.HasPrefix(category, q.Category+".")
}

// proven reports whether receipts say who had the role that is asked about.
func (q *Query) proven() bool {
	return q.Role == "" || q.Role == attest.RoleInitiator || q.Role == attest.RoleResponder
}
