package match

import (
	"encoding/hex"
	"errors"
	"math"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// full is a score of 1, in ten-thousandths.
const full = 10_000

// unshared is what a term is worth that only one of two entries names: the other leaves
// it open, which is neither good nor bad.
const unshared = 4_000

// locationTerm is where a match says how far two entries are apart.
const locationTerm = "_location"

func share(n int) float64 { return float64(n) / full }

// A Match is that a want and a have leave room for a deal (SPEC §7.4). It is the word of
// whoever compared them, who may be anybody with both.
type Match struct {
	ID        string
	Want      ID
	Have      ID
	WantAgent wire.AgentID
	HaveAgent wire.AgentID
	Overlap   wire.Value // what is left of each term that both name
	Score     float64    // above 0, at most 1, in ten-thousandths
	Created   time.Time  // zero if it does not say
}

// Suggestion is what to do about a match: open a session.
const Suggestion = string(wire.TypeOpen)

// Score compares a want and a have, in either order, and says how well they fit, in
// ten-thousandths. They do not match if it is 0.
func Score(a, b *Entry) int {
	score, _ := compare(a, b, false)
	return score
}

// Between compares a want and a have, in either order, and says what they have in
// common; nil if they do not match.
func Between(a, b *Entry) *Match {
	score, overlap := compare(a, b, true)
	if score == 0 {
		return nil
	}
	if a.Kind == Have {
		a, b = b, a
	}
	v, err := wire.Encode(overlap)
	if err != nil { // every part has been parsed before
		panic("match: encoding an overlap: " + err.Error())
	}
	return &Match{
		ID: matchID(a.ID, b.ID), Want: a.ID, Have: b.ID, WantAgent: a.Agent, HaveAgent: b.Agent,
		Overlap: v, Score: share(score),
	}
}

// matchID names a match by its two entries, so that it has one name.
func matchID(want, have ID) string {
	h := wire.HashOf("concordia match\x00" + string(want) + "\x00" + string(have))
	return "match_" + hex.EncodeToString(h[:16])
}

func compare(a, b *Entry, say bool) (score int, overlap wire.M) {
	if a.Kind == b.Kind || !onOnePath(a.Category, b.Category) {
		return 0, nil
	}
	return deal(a, b, say)
}

// deal is compare for a want and a have, in either order, whose categories are on one
// path.
func deal(a, b *Entry, say bool) (score int, overlap wire.M) {
	switch {
	case a.owner == b.owner:
		return 0, nil
	case a.Kind == Have:
		a, b = b, a
	}
	if say {
		overlap = wire.M{}
	}
	sum, parts, shared := 0, 0, 0
	c := common{say: say}
	switch l, m := a.Location, b.Location; {
	case l != nil && m != nil:
		kilometers, quality, ok := l.near(m)
		if !ok {
			return 0, nil
		}
		parts, sum = 1, quality
		if say {
			overlap[locationTerm] = wire.M{"distance_km": kilometers, "quality": share(quality)}
		}
	case l != nil || m != nil:
		parts, sum = 1, unshared
	}
	small, large := a.terms, b.terms
	if len(large) < len(small) {
		small, large = large, small
	}
	for i := range small {
		other := termOf(large, &small[i].id)
		if other == nil {
			continue
		}
		if c.want, c.have = &small[i], other; len(b.terms) < len(a.terms) {
			c.want, c.have = other, &small[i]
		}
		if !c.meet() {
			return 0, nil
		}
		shared++
		sum += c.quality
		if say {
			overlap[c.want.id.text] = c.members()
		}
	}
	named := len(a.terms) + len(b.terms) - shared
	parts, sum = parts+named, sum+unshared*(named-shared)
	if parts == 0 {
		parts, sum = 1, unshared
	}
	return sum / parts * nearness(a.depth, b.depth) / full, overlap
}

// Value returns a match as a JSON object.
func (m *Match) Value() wire.Value {
	members := wire.M{
		"type": "concordia.match", "match_id": m.ID, "want_id": m.Want, "have_id": m.Have,
		"want_agent_id": m.WantAgent, "have_agent_id": m.HaveAgent, "overlap": m.Overlap, "score": m.Score, "suggestion": Suggestion,
	}
	if !m.Created.IsZero() {
		members["created_at"] = wire.FormatTime(m.Created)
	}
	v, err := wire.Encode(members)
	if err != nil { // every part has been parsed before
		panic("match: encoding a match: " + err.Error())
	}
	return v
}

var errScore = errors.New("want a number above 0, at most 1")

// ReadMatch reads a match. Who has both entries can compare them anew.
func ReadMatch(v wire.Value) (*Match, error) {
	r := wire.Read(v, "", RuleMatch)
	r = r.WithoutNulls()
	r.Open("type", "match_id", "want_id", "have_id", "want_agent_id", "have_agent_id", "overlap", "score", "suggestion", "created_at")
	r.OneOf("type", "concordia.match")
	m := &Match{
		ID: wire.ReadID[string](r, "match_id"), Want: wire.ReadID[ID](r, "want_id"), Have: wire.ReadID[ID](r, "have_id"),
		WantAgent: wire.OptID[wire.AgentID](r, "want_agent_id"), HaveAgent: wire.OptID[wire.AgentID](r, "have_agent_id"),
		Overlap: r.Object("overlap").Whole(),
	}
	score, ok := r.Value("score").Float()
	if !ok || score <= 0 || score > 1 || math.IsNaN(score) {
		r.Fail("score", errScore)
	}
	m.Score = score
	if r.Has("created_at") {
		m.Created = r.Time("created_at")
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return m, nil
}
