package reputation

import (
	"errors"
	"fmt"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// A Response is what a service says of an agent, and answers for with its signature.
// It is the service's word: whoever has the receipts computes the same. (SPEC §9.6.7)
type Response struct {
	Subject    wire.AgentID
	Service    wire.AgentID
	ComputedAt time.Time
	Overall    float64 // 0 to 1
	Confidence float64 // 0 to 1
	Flags      []Flag

	value wire.Value
}

// Value returns the response as it was received.
func (a *Response) Value() wire.Value { return a.value }

// Answer answers a query from the ledger and signs the answer as the issuer, an
// Ed25519 key that those who ask know. The subject's key is the one that the issuer's
// Keys have for it now; of an agent that they do not know, nothing is known.
func (l *Ledger) Answer(q *Query, by attest.Issuer) (wire.Value, error) {
	if by.Key.Public().Algorithm() != wire.EdDSA {
		return wire.Value{}, fmt.Errorf("answering a query: %w", attest.ErrAlgorithm)
	}
	key, err := by.Verifier().Keys.Key(q.Subject, by.Now)
	if err != nil && !errors.Is(err, wire.RuleUnknownKey) {
		return wire.Value{}, fmt.Errorf("answering a query: %w", err)
	}
	v, err := wire.Encode(l.Score(key, by.Now).answer(q, by.Agent, by.Now))
	if err != nil {
		return v, fmt.Errorf("answering a query: %w", err)
	}
	signature, err := by.Key.SignText([]byte(v.Canonical()))
	if err != nil {
		return v, fmt.Errorf("signing an answer: %w", err)
	}
	return v.With("service_signature", wire.Text(signature)), nil
}

// answer is what is signed.
func (s *Score) answer(q *Query, service wire.AgentID, now time.Time) wire.M {
	f := s.Figures
	flags := s.Flags
	if !q.proven() {
		flags = append(flags, RoleNotProven)
	}
	m := wire.M{
		"type": ResponseType, "subject_agent_id": q.Subject, "service_id": service, "computed_at": wire.FormatTime(now),
		"summary": wire.M{
			"overall_score": s.Overall, "confidence": s.Confidence,
			"total_negotiations": f.Negotiations, "total_agreements": f.Agreements, "agreement_rate": f.AgreementRate,
			"fulfillment_rate": f.FulfillmentRate, "avg_concession_willingness": f.AvgConcession, "reasoning_rate": f.ReasoningRate,
			"median_rounds_to_agreement": f.MedianRounds, "categories_active": f.Categories,
		},
		"context_specific": s.Context(q), "flags": flags, "attestation_count": f.Attestations, "counterparty_count": f.Counterparties,
		"earliest_attestation": nil, "latest_attestation": nil,
	}
	if f.Attestations > 0 {
		m["earliest_attestation"], m["latest_attestation"] = f.Earliest, f.Latest
	}
	if q.context.Kind() != wire.Absent {
		m["context"] = q.context
	}
	return m
}

// Context is the score of the receipts of the kind that a query asks about, for each of
// category, value range and role that it names, by the names of a response: null where
// receipts cannot say. (SPEC §9.6.7)
func (s *Score) Context(q *Query) wire.M {
	m := wire.M{}
	if q.Category != "" {
		m["category_score"], m["category_negotiations"] = s.part(func(a *account) bool { return q.covers(a.category) })
	}
	if q.Range != "" {
		m["value_range_score"], _ = s.part(func(a *account) bool { return a.valueRange == q.Range })
	}
	switch {
	case !q.proven():
		m["role_score"] = nil
	case q.Role != "":
		m["role_score"], _ = s.part(func(a *account) bool { return a.dealers[a.own].role == q.Role })
	}
	return m
}

var (
	errShare = errors.New("want a number from 0 to 1")
	errMore  = errors.New("more than there are")
	errOrder = errors.New("before the earliest")
)

// maxCount bounds what is counted.
const maxCount = wire.MaxSafeInteger

// ReadResponse checks the shape of a response. It verifies nothing.
func ReadResponse(v wire.Value) (*Response, error) {
	if err := bounded(v); err != nil {
		return nil, err
	}
	r := wire.Read(v, "", RuleResponse)
	r.Open("type", "subject_agent_id", "service_id", "computed_at", "summary", "context_specific", "flags", "attestation_count",
		"earliest_attestation", "latest_attestation", "service_signature", "context", "counterparty_count")
	r.OneOf("type", ResponseType)
	a := &Response{
		Subject: wire.ReadID[wire.AgentID](r, "subject_agent_id"), Service: wire.ReadID[wire.AgentID](r, "service_id"),
		ComputedAt: r.Time("computed_at"), value: v,
	}
	a.readSummary(r)
	readParts(r.Object("context_specific").WithoutNulls())
	for _, f := range r.Strings("flags") {
		a.Flags = append(a.Flags, Flag(f))
	}
	r.OptInt("counterparty_count", 0, maxCount, 0)
	if r.Has("context") {
		r.Object("context")
	}
	readSpan(r.WithoutNulls())
	r.Text("service_signature")
	if err := r.Err(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Response) readSummary(r wire.Reader) {
	all := r.Int("attestation_count", 0, maxCount)
	s := r.Object("summary")
	s.Open("overall_score", "confidence", "total_negotiations", "total_agreements", "agreement_rate", "fulfillment_rate",
		"avg_concession_willingness", "reasoning_rate", "median_rounds_to_agreement", "categories_active")
	a.Overall, a.Confidence = share(s, "overall_score"), share(s, "confidence")
	total := s.Int("total_negotiations", 0, maxCount)
	if total > all {
		s.Fail("total_negotiations", errMore)
	}
	if s.Int("total_agreements", 0, maxCount) > total {
		s.Fail("total_agreements", errMore)
	}
	for _, name := range []string{"agreement_rate", "fulfillment_rate", "avg_concession_willingness", "reasoning_rate"} {
		share(s, name)
	}
	s.Int("median_rounds_to_agreement", 0, maxCount)
	s.Strings("categories_active")
}

func readParts(r wire.Reader) {
	r.Open("category_score", "category_negotiations", "value_range_score", "role_score")
	for _, name := range []string{"category_score", "value_range_score", "role_score"} {
		if r.Has(name) {
			share(r, name)
		}
	}
	r.OptInt("category_negotiations", 0, maxCount, 0)
}

// readSpan reads when the first and the last receipt are of, null if there is none.
func readSpan(r wire.Reader) {
	if !r.Has("earliest_attestation") && !r.Has("latest_attestation") {
		return
	}
	if r.Time("latest_attestation").Before(r.Time("earliest_attestation")) {
		r.Fail("latest_attestation", errOrder)
	}
}

// share reads a number from 0 to 1.
func share(r wire.Reader, name string) float64 {
	n, ok := r.Value(name).Float()
	if !ok || n < 0 || n > 1 {
		r.Fail(name, errShare)
	}
	return n
}

// A ResponseSubject is a response with what it is verified by.
type ResponseSubject struct {
	attest.Verifier
	Response *Response
	Query    *Query // that it has to answer; nil if any
}

// ResponseChecks are the checks of a response in order (SPEC §9.6.7).
func ResponseChecks() []wire.Check[*ResponseSubject] {
	return []wire.Check[*ResponseSubject]{
		{Name: "signature", Run: (*ResponseSubject).checkSignature},
		{Name: "freshness", Run: func(s *ResponseSubject) error { return s.CheckAge(s.Response.ComputedAt, "/computed_at") }},
		{Name: "subject", Run: (*ResponseSubject).checkSubject},
		{Name: "context", Run: (*ResponseSubject).checkContext},
	}
}

// VerifyResponse checks a response to a query; nil stands for any. Whom to believe as a
// service is for the verifier's Keys to say, how old an answer may be for its Policy.
func VerifyResponse(f attest.Verifier, v wire.Value, q *Query) (*Response, wire.Report) {
	return attest.Judge(v, ReadResponse, func(r *Response) *ResponseSubject {
		return &ResponseSubject{Verifier: f, Response: r, Query: q}
	}, ResponseChecks())
}

func (s *ResponseSubject) checkSignature() error {
	text, _ := s.Response.value.Get("service_signature")
	return s.CheckSignature(attest.Claim{
		Rule: RuleSignature, Signer: s.Response.Service, Algorithm: wire.EdDSA, Signed: s.Response.ComputedAt,
		Preimage: s.Response.value.Without("service_signature"), Text: text, At: "/service_signature",
	})
}

func (s *ResponseSubject) checkSubject() error {
	switch {
	case s.Query == nil:
		return &wire.Unchecked{Why: "no query was given", Moot: true}
	case wire.PlainDIDKey(s.Query.Subject) != wire.PlainDIDKey(s.Response.Subject):
		return RuleAnswer.At("/subject_agent_id")
	}
	return nil
}

// checkContext compares the context, which the reference implementation does not
// repeat. Then nobody signed what kind of deal the answer is about.
func (s *ResponseSubject) checkContext() error {
	context, told := s.Response.value.Get("context")
	switch {
	case s.Query == nil:
		return &wire.Unchecked{Why: "no query was given", Moot: true}
	case !told && s.Query.context.Kind() == wire.Absent:
		return nil
	case !told:
		return &wire.Unchecked{Why: "the response does not say what kind of deal it is about", Moot: true}
	case !context.Equal(s.Query.context):
		return RuleAnswer.At("/context")
	}
	return nil
}
