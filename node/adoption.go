package node

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/wire"
)

// Adoption is how a node deals with those who do not speak Concordia. The agent talks to
// them in a way of its own: the node sends nothing. It keeps what the agent tells it, so
// that what others said is the agent's word and proves nothing, and it measures.
type Adoption interface {
	// ProposeProtocol makes a document that proposes Concordia to somebody, for the agent
	// to hand over. Made again under the same id it is the same document. The last
	// MaxProposals are kept.
	ProposeProtocol(ctx context.Context, p Proposing) (Proposal, error)

	// AnswerProposal takes note of what somebody answered to a proposal that was made for
	// it. The last answer counts. Interactions that name the proposal are upgraded by a yes,
	// and degraded again by a no.
	AnswerProposal(ctx context.Context, a Answering) (Proposal, error)

	// StartDegraded begins to take note of dealings without Concordia. At most
	// MaxInteractions are kept: a new one takes the place of an upgraded one, or else of
	// the one in which nothing has happened for the longest time.
	StartDegraded(ctx context.Context, s Starting) (Interaction, error)

	// TellDegraded takes note of something that was said. Told again under the same id it
	// is there once. An interaction takes MaxTold messages of MaxToldBytes together, and
	// none once it is upgraded.
	TellDegraded(ctx context.Context, t Telling) (Recorded, error)

	// Told returns at most most of what was said in an interaction, from position from (0
	// is the first) on.
	Told(ctx context.Context, id InteractionID, from, most int) ([]Told, error)

	// Efficiency compares an interaction with what the node's own sessions came to.
	Efficiency(ctx context.Context, id InteractionID) (Efficiency, error)
}

// Identities of what has to do with adoption, in the form of SPEC §9.1.
type (
	ProposalID    string // "proto_prop_…"
	InteractionID string // "degraded_…"
)

// Bounds of what is kept.
const (
	MaxProposals    = 200
	MaxInteractions = 100
	MaxTold         = 1000    // messages of an interaction
	MaxToldBytes    = 1 << 20 // of the contents of those
	MaxToldText     = 10_000  // bytes of one content, or of a reason
)

// Proposing is a proposal to make.
type Proposing struct {
	ID ProposalID   `json:"proposal_id,omitempty"` // "": a new one
	To wire.AgentID `json:"to"`                    // whoever it is, by an id that the agent knows it by
}

// A Proposal asks somebody to use Concordia.
type Proposal struct {
	ID       ProposalID   `json:"proposal_id"`
	To       wire.AgentID `json:"to"`
	Made     time.Time    `json:"made"`
	Document wire.Value   `json:"document"` // to be handed over
	Answer   *Answered    `json:"answer,omitempty"`
}

// An Answered is what the agent says was answered to a proposal.
type Answered struct {
	Accepted bool      `json:"accepted"`
	Reason   string    `json:"reason,omitempty"` // words of whoever answered; data, never instructions
	At       time.Time `json:"at"`               // when the node was told
}

// Answering is an answer to take note of.
type Answering struct {
	ID       ProposalID   `json:"proposal_id"`
	From     wire.AgentID `json:"from,omitempty"` // "": whom the proposal was made for; nobody else's answer counts
	Accepted bool         `json:"accepted"`
	Reason   string       `json:"reason,omitempty"`
}

// A PeerStatus says why somebody is dealt with without Concordia.
type PeerStatus string

// The peer statuses.
const (
	PeerUnknown      PeerStatus = "unknown"
	PeerDeclined     PeerStatus = "declined"     // it was asked, and said no
	PeerIncompatible PeerStatus = "incompatible" // it speaks something else
	PeerConcordia    PeerStatus = "concordia"    // it was asked, and said yes
)

// A Mode says how far an interaction has come.
type Mode string

// The modes.
const (
	Degraded Mode = "degraded"
	Upgraded Mode = "upgraded" // the peer said that it will use Concordia: a session can be opened
)

// Starting is an interaction to begin with.
type Starting struct {
	ID       InteractionID `json:"interaction_id,omitempty"` // "": a new one; the same again is no harm
	With     wire.AgentID  `json:"with"`
	Status   PeerStatus    `json:"peer_status,omitempty"` // "": what the answer to the proposal says, or unknown
	Proposal ProposalID    `json:"proposal_id,omitempty"` // that was made for With before
}

// An Interaction is what was told of dealings without Concordia.
type Interaction struct {
	ID       InteractionID `json:"interaction_id"`
	With     wire.AgentID  `json:"with"`
	Status   PeerStatus    `json:"peer_status"`
	Mode     Mode          `json:"mode"`
	Proposal ProposalID    `json:"proposal_id,omitempty"`
	Started  time.Time     `json:"started"`
	Last     time.Time     `json:"last"` // when something was told last
	From     wire.AgentID  `json:"from,omitempty"`
	Rounds   int           `json:"rounds"` // turns: what one side says in a row is one
	Messages int           `json:"messages"`
	Bytes    int           `json:"bytes"` // of the contents

	Replaced InteractionID `json:"replaced,omitempty"` // of StartDegraded: what had to go
}

// Telling is something said to take note of.
type Telling struct {
	Interaction InteractionID  `json:"interaction_id"`
	ID          wire.MessageID `json:"id,omitempty"`   // "": a new one
	From        wire.AgentID   `json:"from,omitempty"` // this agent or the other; "": this agent
	Content     string         `json:"content"`
}

// A Told is something that was said, as the agent told it.
type Told struct {
	ID      wire.MessageID `json:"id"`
	From    wire.AgentID   `json:"from"`
	Round   int            `json:"round"`
	At      time.Time      `json:"at"` // when the node was told
	Content string         `json:"content"`
}

// A Recorded is something that was told, in its interaction as that stands.
type Recorded struct {
	Told        Told        `json:"told"`
	Interaction Interaction `json:"interaction"`
}

var (
	errNoProposal    = refuse(CodeNotFound, "there is no such proposal of this node")
	errNoInteraction = refuse(CodeNotFound, "there is no such interaction here")
	errToldTwice     = refuse(CodeBadRequest, "the id is that of something else already")
)

// checkPeer refuses who cannot be the other side.
func (n *Node) checkPeer(id wire.AgentID) error {
	switch {
	case wire.CheckID(id) != nil:
		return refuse(CodeBadRequest, "the other side has no id: want 1 to 256 printable characters without white space")
	case wire.PlainDIDKey(id) == n.agent:
		return refuse(CodeBadRequest, "that is this node's own agent")
	}
	return nil
}

// nameNew gives an id to what has none.
func nameNew[ID ~string](n *Node, id *ID, prefix string) (err error) {
	if *id == "" {
		*id, err = wire.NewID[ID](prefix, n.opts.Random)
	} else if wire.CheckID(*id) != nil {
		err = refuse(CodeBadRequest, "the id is no id")
	}
	return err
}

func isSame(a, b wire.AgentID) bool { return wire.PlainDIDKey(a) == wire.PlainDIDKey(b) }

// ProposeProtocol implements [API].
func (n *Node) ProposeProtocol(ctx context.Context, p Proposing) (Proposal, error) {
	if err := n.checkPeer(p.To); err != nil {
		return Proposal{}, n.failed(err)
	}
	if err := nameNew(n, &p.ID, "proto_prop_"); err != nil {
		return Proposal{}, n.failed(err)
	}
	made := Proposal{ID: p.ID, To: p.To, Made: n.now()}
	var err error
	if made.Document, err = n.proposalDocument(made); err != nil {
		return made, n.failed(err)
	}
	var result Proposal
	again := false
	err = n.disk.db.Commit(ctx, groupcommit.Op{
		Check: func(tx *bolt.Tx) (err error) {
			var old Proposal
			result = made
			if again, err = get(tx, bucketProposals, string(p.ID), &old); err != nil || !again {
				return err
			}
			if !isSame(old.To, p.To) {
				return errToldTwice
			}
			result = old
			return nil
		},
		Apply: func(tx *bolt.Tx) error {
			if again {
				return nil
			}
			var all []Proposal
			if err := readAll(tx, bucketProposals, &all); err != nil {
				return err
			}
			if len(all) >= MaxProposals {
				oldest := slices.MinFunc(all, func(a, b Proposal) int { return a.Made.Compare(b.Made) })
				if err := tx.Bucket(bucketProposals).Delete([]byte(oldest.ID)); err != nil {
					return err
				}
			}
			return put(tx, bucketProposals, string(made.ID), made)
		},
	})
	return result, n.failed(err)
}

// readAll reads all records of a bucket.
func readAll[T any](tx *bolt.Tx, bucket []byte, all *[]T) error {
	*all = nil
	return tx.Bucket(bucket).ForEach(func(key, _ []byte) error {
		var x T
		if _, err := get(tx, bucket, string(key), &x); err != nil {
			return err
		}
		*all = append(*all, x)
		return nil
	})
}

// proposalDocument is what is handed over. It makes no promises that a program could not
// keep, and names no figures: how many rounds a matter takes depends on the matter.
func (n *Node) proposalDocument(p Proposal) (wire.Value, error) {
	return wire.Encode(wire.M{
		"type": "concordia.protocol_proposal", "proposal_id": p.ID, "proposer_agent_id": n.agent, "target_agent_id": p.To,
		"timestamp": wire.FormatTime(p.Made),
		"protocol":  wire.M{"name": "concordia", "version": wire.ProtocolVersion, "spec_url": "https://github.com/concordia-node/concordia/blob/main/SPEC.md"},
		"benefits": []string{
			"An offer has typed terms, so that both sides read the same in it",
			"Each message is signed and names the one before: nobody can take back or change what was said",
			"What was agreed follows from the messages, and both sides derive the same",
			"Both sides sign a receipt, which anyone can verify offline",
			"Receipts add up to a history that you can show to others, without the terms",
			"A mediator whom both sides name can propose when they are stuck",
		},
		"comparison": wire.M{
			"without_concordia": wire.M{
				"offer_structure": "as each side writes it", "binding_commitments": false, "session_receipts": false, "reputation_building": false,
				"resolution_mechanisms": false, "typical_rounds": "not counted",
			},
			"with_concordia": wire.M{
				"offer_structure": "typed terms: whole, partial, conditional, or in bundles", "binding_commitments": true, "session_receipts": true,
				"reputation_building": true, "resolution_mechanisms": true, "typical_rounds": "counted, and bounded by what the opening says",
			},
		},
		"adoption": wire.M{
			"how":    "Run an implementation of the protocol, such as go install github.com/concordia-node/concordia/cmd/concordia@latest, and tell me your agent id: I invite you to a session",
			"effort": "one program, and a key that it makes", "backwards_compatible": true,
		},
	})
}

// AnswerProposal implements [API].
func (n *Node) AnswerProposal(ctx context.Context, a Answering) (Proposal, error) {
	if err := checkWords(a.Reason); err != nil {
		return Proposal{}, n.failed(err)
	}
	answer := Answered{Accepted: a.Accepted, Reason: a.Reason, At: n.now()}
	mode, status := Degraded, PeerDeclined
	if a.Accepted {
		mode, status = Upgraded, PeerConcordia
	}
	var p Proposal
	err := n.disk.db.Commit(ctx, groupcommit.Op{
		Check: func(tx *bolt.Tx) error {
			p = Proposal{}
			switch known, err := get(tx, bucketProposals, string(a.ID), &p); {
			case err != nil:
				return err
			case !known:
				return errNoProposal
			case a.From != "" && !isSame(a.From, p.To):
				return refuse(CodeBadRequest, "the proposal was made for somebody else, who alone can answer it: leave out who responds")
			}
			return nil
		},
		Apply: func(tx *bolt.Tx) error {
			p.Answer = &answer
			var all []Interaction
			if err := readAll(tx, bucketInteractions, &all); err != nil {
				return err
			}
			for _, i := range all {
				if i.Proposal != p.ID || !isSame(i.With, p.To) { // an id may be used again once a proposal is gone
					continue
				}
				i.Mode, i.Status = mode, status
				if err := put(tx, bucketInteractions, string(i.ID), i); err != nil {
					return err
				}
			}
			return put(tx, bucketProposals, string(p.ID), p)
		},
	})
	return p, n.failed(err)
}

func checkWords(s string) error {
	if len(s) > MaxToldText || !utf8.ValidString(s) {
		return refuse(CodeBadRequest, fmt.Sprintf("want text of at most %d bytes", MaxToldText))
	}
	return nil
}

// StartDegraded implements [API].
func (n *Node) StartDegraded(ctx context.Context, s Starting) (Interaction, error) {
	if err := n.checkPeer(s.With); err != nil {
		return Interaction{}, n.failed(err)
	}
	if !slices.Contains([]PeerStatus{"", PeerUnknown, PeerDeclined, PeerIncompatible}, s.Status) {
		return Interaction{}, refuse(CodeBadRequest, "the status is one of unknown, declined, incompatible")
	}
	if err := nameNew(n, &s.ID, "degraded_"); err != nil {
		return Interaction{}, n.failed(err)
	}
	now := n.now()
	var result Interaction
	again := false
	err := n.disk.db.Commit(ctx, groupcommit.Op{
		Check: func(tx *bolt.Tx) (err error) {
			var old Interaction
			if again, err = get(tx, bucketInteractions, string(s.ID), &old); err != nil {
				return err
			}
			if again {
				if result = old; !isSame(old.With, s.With) || old.Proposal != s.Proposal {
					return errToldTwice
				}
				return nil
			}
			result = Interaction{ID: s.ID, With: s.With, Status: s.Status, Mode: Degraded, Proposal: s.Proposal, Started: now, Last: now}
			if result.Status == "" {
				result.Status = PeerUnknown
			}
			if s.Proposal == "" {
				return nil
			}
			var p Proposal
			switch known, err := get(tx, bucketProposals, string(s.Proposal), &p); {
			case err != nil:
				return err
			case !known:
				return errNoProposal
			case !isSame(p.To, s.With):
				return refuse(CodeBadRequest, "the proposal was made for somebody else")
			case p.Answer != nil && p.Answer.Accepted:
				return refuse(CodeBadRequest, "the proposal was accepted: open a session instead")
			case p.Answer != nil && s.Status == "":
				result.Status = PeerDeclined
			}
			return nil
		},
		Apply: func(tx *bolt.Tx) error {
			if again {
				return nil
			}
			var all []Interaction
			if err := readAll(tx, bucketInteractions, &all); err != nil {
				return err
			}
			if result.Replaced = ""; len(all) >= MaxInteractions {
				least := slices.MinFunc(all, func(a, b Interaction) int {
					return cmp.Or(cmp.Compare(b.Mode, a.Mode), a.Last.Compare(b.Last)) // "upgraded" comes after "degraded"
				})
				result.Replaced = least.ID
				if err := forget(tx, least.ID); err != nil {
					return err
				}
			}
			kept := result
			kept.Replaced = ""
			return put(tx, bucketInteractions, string(s.ID), kept)
		},
	})
	return result, n.failed(err)
}

// Keys of bucketTold: what was said in an interaction by its position, and the position
// of each id.
func toldKey(id InteractionID, position int) string {
	return string(id) + "\x00p" + string(number(uint64(position)))
}
func toldIDKey(id InteractionID, message wire.MessageID) string {
	return string(id) + "\x00i" + string(message)
}

// forget removes an interaction.
func forget(tx *bolt.Tx, id InteractionID) error {
	var gone [][]byte
	prefix := []byte(string(id) + "\x00")
	c := tx.Bucket(bucketTold).Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		gone = append(gone, bytes.Clone(k)) // what a cursor returns does not outlast a change
	}
	for _, k := range gone {
		if err := tx.Bucket(bucketTold).Delete(k); err != nil {
			return err
		}
	}
	return tx.Bucket(bucketInteractions).Delete([]byte(id))
}

// TellDegraded implements [API].
func (n *Node) TellDegraded(ctx context.Context, t Telling) (Recorded, error) {
	if err := checkWords(t.Content); err != nil {
		return Recorded{}, n.failed(err)
	}
	if t.Content == "" {
		return Recorded{}, refuse(CodeBadRequest, "nothing was said")
	}
	if err := nameNew(n, &t.ID, "msg_"); err != nil {
		return Recorded{}, n.failed(err)
	}
	if t.From == "" {
		t.From = n.agent
	}
	now := n.now()
	var i Interaction
	var result Recorded
	again := false
	err := n.disk.db.Commit(ctx, groupcommit.Op{
		Check: func(tx *bolt.Tx) error {
			i = Interaction{}
			switch known, err := get(tx, bucketInteractions, string(t.Interaction), &i); {
			case err != nil:
				return err
			case !known:
				return errNoInteraction
			case !isSame(t.From, n.agent) && !isSame(t.From, i.With):
				return refuse(CodeBadRequest, "only this agent and the other side say something in this interaction")
			}
			var position int
			var err error
			if again, err = get(tx, bucketTold, toldIDKey(i.ID, t.ID), &position); err != nil {
				return err
			}
			if again {
				result = Recorded{Interaction: i}
				old := &result.Told
				if _, err = get(tx, bucketTold, toldKey(i.ID, position), old); err == nil && (old.Content != t.Content || !isSame(old.From, t.From)) {
					err = errToldTwice
				}
				return err
			}
			switch {
			case i.Mode == Upgraded:
				return refuse(CodeBadRequest, "the other side uses Concordia now: open a session")
			case i.Messages >= MaxTold:
				return refuse(CodeRefused, fmt.Sprintf("the interaction has %d messages, as many as are kept: start another", MaxTold))
			case i.Bytes+len(t.Content) > MaxToldBytes:
				return refuse(CodeRefused, fmt.Sprintf("the interaction would have more than %d bytes: start another", MaxToldBytes))
			}
			return nil
		},
		Apply: func(tx *bolt.Tx) error {
			if again {
				return nil
			}
			next := i
			if next.From == "" || !isSame(next.From, t.From) {
				next.Rounds++
			}
			told := Told{ID: t.ID, From: t.From, Round: next.Rounds, At: now, Content: t.Content}
			if err := put(tx, bucketTold, toldKey(i.ID, next.Messages), told); err != nil {
				return err
			}
			if err := put(tx, bucketTold, toldIDKey(i.ID, t.ID), next.Messages); err != nil {
				return err
			}
			next.Messages, next.Bytes, next.From, next.Last = next.Messages+1, next.Bytes+len(t.Content), t.From, now
			result = Recorded{Told: told, Interaction: next}
			return put(tx, bucketInteractions, string(i.ID), next)
		},
	})
	return result, n.failed(err)
}

// Told implements [API].
func (n *Node) Told(_ context.Context, id InteractionID, from, many int) (list []Told, err error) {
	err = n.disk.db.View(func(tx *bolt.Tx) error {
		switch known, err := get(tx, bucketInteractions, string(id), new(Interaction)); {
		case err != nil:
			return err
		case !known:
			return errNoInteraction
		}
		for position := max(0, from); len(list) < most(many); position++ {
			var t Told
			if known, err := get(tx, bucketTold, toldKey(id, position), &t); err != nil || !known {
				return err
			}
			list = append(list, t)
		}
		return nil
	})
	return list, n.failed(err)
}

// The operations of Adoption.
type (
	ofInteraction struct {
		ID InteractionID `json:"interaction_id"`
	}
	toldArgs struct {
		ID   InteractionID `json:"interaction_id"`
		From int           `json:"from"`
		Most int           `json:"most"`
	}
)

var (
	opProposeProtocol = takes("propose_protocol", func(ctx context.Context, api API, p Proposing) (Proposal, error) { return api.ProposeProtocol(ctx, p) })
	opAnswerProposal  = takes("answer_proposal", func(ctx context.Context, api API, a Answering) (Proposal, error) { return api.AnswerProposal(ctx, a) })
	opStartDegraded   = takes("start_degraded", func(ctx context.Context, api API, s Starting) (Interaction, error) { return api.StartDegraded(ctx, s) })
	opTellDegraded    = takes("tell_degraded", func(ctx context.Context, api API, t Telling) (Recorded, error) { return api.TellDegraded(ctx, t) })
	opTold            = asks("told", func(ctx context.Context, api API, in toldArgs) ([]Told, error) {
		return api.Told(ctx, in.ID, in.From, in.Most)
	})
	opEfficiency = asks("efficiency", func(ctx context.Context, api API, in ofInteraction) (Efficiency, error) {
		return api.Efficiency(ctx, in.ID)
	})

	adoptionOperations = []*operation{opProposeProtocol, opAnswerProposal, opStartDegraded, opTellDegraded, opTold, opEfficiency}
)

// ProposeProtocol implements [API].
func (r *Remote) ProposeProtocol(ctx context.Context, p Proposing) (Proposal, error) {
	return ask[Proposal](ctx, r, opProposeProtocol, p)
}

// AnswerProposal implements [API].
func (r *Remote) AnswerProposal(ctx context.Context, a Answering) (Proposal, error) {
	return ask[Proposal](ctx, r, opAnswerProposal, a)
}

// StartDegraded implements [API].
func (r *Remote) StartDegraded(ctx context.Context, s Starting) (Interaction, error) {
	return ask[Interaction](ctx, r, opStartDegraded, s)
}

// TellDegraded implements [API].
func (r *Remote) TellDegraded(ctx context.Context, t Telling) (Recorded, error) {
	return ask[Recorded](ctx, r, opTellDegraded, t)
}

// Told implements [API].
func (r *Remote) Told(ctx context.Context, id InteractionID, from, most int) ([]Told, error) {
	return ask[[]Told](ctx, r, opTold, toldArgs{id, from, most})
}

// Efficiency implements [API].
func (r *Remote) Efficiency(ctx context.Context, id InteractionID) (Efficiency, error) {
	return ask[Efficiency](ctx, r, opEfficiency, ofInteraction{id})
}
