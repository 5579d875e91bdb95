package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// Bridge is what a node makes of its deals for Sanctuary, another system of identity and
// reputation. The node makes calls for its agent to hand over to Sanctuary, and makes none
// itself. It is off until it is configured.
type Bridge interface {
	// Bridge returns how the bridge is configured. The configuration is the node's own, and
	// kept on disk.
	Bridge(ctx context.Context) (BridgeConfig, error)

	// ConfigureBridge changes the configuration, and returns it. Identities are of this
	// agent, of contacts, and of parties of its sessions; at most MaxIdentities are kept.
	// Those that are given are added or replaced, and one without a Sanctuary identity is
	// removed.
	ConfigureBridge(ctx context.Context, c BridgeConfig) (BridgeConfig, error)

	// Commitment makes the commitment to what was agreed in a session of which this agent
	// is initiator or responder. It follows from the transcript: made again, and by the other
	// side, it is the same.
	Commitment(ctx context.Context, id wire.SessionID) (BridgeCalls, error)

	// Recording makes the records of a receipt for the reputation of its counterparties, in
	// the name of this agent alone, which has to be initiator or responder in it. The receipt
	// has to verify, with the outcome signed by all parties, not to be revoked, and to be of
	// the session's last end.
	Recording(ctx context.Context, receipt wire.Value) (BridgeCalls, error)
}

// MaxIdentities is how many identities a bridge keeps.
const MaxIdentities = 1000

// DefaultContext is in what context reputation is recorded that a receipt gives no
// category.
const DefaultContext = "concordia_negotiation"

// A BridgeConfig says what a bridge does.
type BridgeConfig struct {
	Enabled    bool       `json:"enabled"`
	Commit     bool       `json:"commitment_on_agree"`   // commitments are made
	Record     bool       `json:"reputation_on_receipt"` // reputation is recorded
	Context    string     `json:"default_context"`       // "": as it was, DefaultContext at first
	Identities []Identity `json:"identity_mappings,omitempty"`
}

// An Identity is who an agent is in Sanctuary.
type Identity struct {
	Agent     wire.AgentID `json:"agent_id"`
	Sanctuary string       `json:"sanctuary_id"`  // of an identity there
	DID       string       `json:"did,omitempty"` // by which others know it there
}

// BridgeCalls are calls of tools of Sanctuary, for the agent to make: objects with tool
// and arguments. Words of other parties are in them.
type BridgeCalls struct {
	Session    wire.SessionID `json:"session_id"`
	Commitment wire.Value     `json:"commitment,omitzero"`
	Records    []wire.Value   `json:"records,omitempty"`
	Skipped    string         `json:"skipped,omitempty"` // why there is none
}

const bridgeKey = "sanctuary"

var errBridgeOff = refuse(CodePolicy, "the bridge to Sanctuary is off: configure it with enabled true")

// Bridge implements [API].
func (n *Node) Bridge(context.Context) (BridgeConfig, error) {
	c := BridgeConfig{Commit: true, Record: true, Context: DefaultContext}
	_, err := n.disk.get(bucketBridge, bridgeKey, &c)
	return c, n.failed(err)
}

// ConfigureBridge implements [API].
func (n *Node) ConfigureBridge(ctx context.Context, c BridgeConfig) (BridgeConfig, error) {
	if c.Context != "" && wire.CheckID(wire.AgentID(c.Context)) != nil {
		return c, refuse(CodeBadRequest, "the context is 1 to 256 printable characters without white space")
	}
	known, err := n.counterparties()
	if err != nil {
		return c, n.failed(err)
	}
	for _, i := range c.Identities {
		switch {
		case wire.CheckID(i.Agent) != nil:
			return c, refuse(CodeBadRequest, "an agent id is no id")
		case i.Sanctuary == "": // is removed
		case !known[wire.PlainDIDKey(i.Agent)]:
			return c, refuse(CodePolicy, "only this agent, its contacts, and parties of its sessions are mapped to identities of Sanctuary")
		case wire.CheckID(wire.AgentID(i.Sanctuary)) != nil:
			return c, refuse(CodeBadRequest, "an identity of Sanctuary is 1 to 256 printable characters without white space")
		case i.DID != "" && (wire.CheckID(wire.AgentID(i.DID)) != nil || !strings.HasPrefix(i.DID, "did:")):
			return c, refuse(CodeBadRequest, "a did starts with did: and has at most 256 printable characters without white space")
		}
	}
	var next BridgeConfig
	err = n.disk.db.Commit(ctx, groupcommit.Op{
		Check: func(tx *bolt.Tx) error {
			old := BridgeConfig{Context: DefaultContext}
			if _, err := get(tx, bucketBridge, bridgeKey, &old); err != nil {
				return err
			}
			byID := map[wire.AgentID]Identity{}
			for _, i := range append(old.Identities, c.Identities...) {
				if plain := wire.PlainDIDKey(i.Agent); i.Sanctuary == "" {
					delete(byID, plain)
				} else {
					byID[plain] = i
				}
			}
			if len(byID) > MaxIdentities {
				return refuse(CodeRefused, fmt.Sprintf("a bridge keeps %d identities: remove some", MaxIdentities))
			}
			next = c
			next.Identities = slices.SortedFunc(maps.Values(byID), func(a, b Identity) int { return cmpID(a.Agent, b.Agent) })
			if next.Context == "" {
				next.Context = old.Context
			}
			return nil
		},
		Apply: func(tx *bolt.Tx) error { return put(tx, bucketBridge, bridgeKey, next) },
	})
	return next, n.failed(err)
}

// counterparties are whom the node knows: its own agent, contacts, and the parties of its
// sessions.
func (n *Node) counterparties() (map[wire.AgentID]bool, error) {
	known := map[wire.AgentID]bool{n.agent: true}
	n.contacts.mu.RLock()
	for id := range n.contacts.byID {
		known[id] = true
	}
	n.contacts.mu.RUnlock()
	err := n.disk.backward(func(r *record) bool {
		for _, p := range r.Parties {
			known[wire.PlainDIDKey(p)] = true
		}
		return true
	})
	return known, err
}

// in returns who an agent is in Sanctuary.
func (c *BridgeConfig) in(agent wire.AgentID) (Identity, bool) {
	at := slices.IndexFunc(c.Identities, func(i Identity) bool { return isSame(i.Agent, agent) })
	if at < 0 {
		return Identity{}, false
	}
	return c.Identities[at], true
}

// Commitment implements [API].
func (n *Node) Commitment(ctx context.Context, id wire.SessionID) (BridgeCalls, error) {
	calls := BridgeCalls{Session: id}
	c, err := n.Bridge(ctx)
	if err != nil {
		return calls, err
	}
	if !c.Enabled {
		return calls, n.failed(errBridgeOff)
	}
	l, err := n.acquire(id)
	if err != nil {
		return calls, n.failed(err)
	}
	defer n.release(l)
	l.mu.Lock()
	s := n.standing(l)
	l.mu.Unlock()
	a, err := s.Agreement()
	if err != nil {
		return calls, n.failed(err)
	}
	if !isDealing(s.Role(n.agent)) {
		return calls, refuse(CodePolicy, "only those who agreed commit to what was agreed")
	}
	if !c.Commit {
		calls.Skipped = "the configuration says that no commitments are made"
		return calls, nil
	}
	calls.Commitment, err = commitment(a)
	return calls, n.failed(err)
}

// commitment makes the call that commits to an agreement. What is committed to is the
// text of value, in canonical form: the terms that were agreed on, at the time at which
// they were, and the hash of the message that made the deal.
func commitment(a session.Agreement) (wire.Value, error) {
	parties := slices.Clone(a.Parties)
	slices.Sort(parties)
	value, err := wire.Encode(wire.M{
		"concordia_session_id": a.Session, "agreed_terms": a.Terms.Value(), "parties": parties,
		"timestamp": wire.FormatTime(a.At), "transcript_hash": a.Head,
	})
	if err != nil {
		return value, err
	}
	return wire.Encode(wire.M{
		"tool": "sanctuary/proof_commitment", "arguments": wire.M{"value": value.Canonical()}, "raw_value": value.Canonical(),
		"agreement_summary": wire.M{"session_id": a.Session, "parties": parties, "term_count": len(a.Terms), "has_transcript_hash": true},
	})
}

// Recording implements [API].
func (n *Node) Recording(ctx context.Context, receipt wire.Value) (BridgeCalls, error) {
	var calls BridgeCalls
	c, err := n.Bridge(ctx)
	if err != nil {
		return calls, err
	}
	if !c.Enabled {
		return calls, n.failed(errBridgeOff)
	}
	f, err := n.verifier(n.now())
	if err != nil {
		return calls, n.failed(err)
	}
	a, report := f.VerifyAttestation(receipt, attest.OutcomeBound())
	if report.Err() == nil { // nor deals anybody with itself
		_, report = reputation.VerifyReceipt(f, receipt)
	}
	switch report.Outcome() {
	case wire.Failed:
		return calls, n.failed(report.Err())
	case wire.NotChecked:
		return calls, refuse(CodeBadRequest, "the receipt cannot be verified: the key of a party is not known, or it binds no outcome")
	}
	own := slices.IndexFunc(a.Parties, func(p attest.Party) bool { return isSame(p.Agent, n.agent) && isDealing(protocol.Role(p.Role)) })
	if own < 0 {
		return calls, refuse(CodePolicy, "this agent neither agreed nor refused to in that receipt: it is no initiator and no responder")
	}
	switch later, err := n.endedAgain(f, a); {
	case err != nil:
		return calls, n.failed(err)
	case later:
		return calls, refuse(CodePolicy, "the session went on, and has a later receipt: only the last one is recorded")
	}
	calls.Session = a.Session
	switch me, ok := c.in(n.agent); {
	case !c.Record:
		calls.Skipped = "the configuration says that no reputation is recorded"
	case !ok:
		calls.Skipped = "no identity of Sanctuary is configured for this agent"
	default:
		calls.Records, err = c.records(a, own, me)
	}
	return calls, n.failed(err)
}

// endedAgain reports whether a session has a receipt of this agent of a later end than that
// of a receipt.
func (n *Node) endedAgain(f attest.Verifier, a *attest.Attestation) (bool, error) {
	for e, err := range n.artifacts.List(store.Filter{Kind: receiptKind, Agent: n.agent, Session: string(a.Session)}) {
		switch {
		case errors.Is(err, store.ErrDamaged):
			continue
		case err != nil:
			return false, err
		case e.Unverified || messagesOf(e.Value) <= a.MessageCount:
			continue
		}
		if _, report := reputation.VerifyReceipt(f, e.Value); report.Err() == nil {
			return true, nil
		}
	}
	return false, nil
}

// results are the results of Sanctuary.
var results = map[attest.Status]string{
	attest.StatusAgreed: "completed", attest.StatusRejected: "failed", attest.StatusExpired: "failed", attest.StatusWithdrawn: "partial",
}

// records makes the calls that record a receipt, one for each counterparty.
func (c *BridgeConfig) records(a *attest.Attestation, own int, me Identity) (list []wire.Value, err error) {
	behavior := a.Parties[own].Behavior
	metrics := wire.M{"concession_magnitude": behavior.ConcessionMagnitude, "offers_made": behavior.OffersMade}
	if a.Outcome.Rounds > 0 {
		metrics["rounds"] = a.Outcome.Rounds
	}
	if s := a.Outcome.Duration.Seconds(); s > 0 {
		metrics["duration_seconds"] = s
	}
	about := a.Meta.Category
	if about == "" {
		about = c.Context
	}
	for i, p := range a.Parties {
		if i == own || !isDealing(protocol.Role(p.Role)) {
			continue
		}
		did := "concordia:" + string(p.Agent)
		if known, ok := c.in(p.Agent); ok && known.DID != "" {
			did = known.DID
		}
		v, err := wire.Encode(wire.M{
			"tool": "sanctuary/reputation_record", "concordia_attestation_id": a.ID, "concordia_session_id": a.Session,
			"arguments": wire.M{
				"interaction_id": a.Session, "counterparty_did": did, "identity_id": me.Sanctuary, "context": about,
				"outcome": wire.M{"type": "negotiation", "result": results[a.Outcome.Status], "metrics": metrics},
			},
		})
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// The operations of Bridge.
type recordingArgs struct {
	Receipt wire.Value `json:"receipt"`
}

var (
	opBridge          = asks("bridge", func(ctx context.Context, api API, _ nothing) (BridgeConfig, error) { return api.Bridge(ctx) })
	opConfigureBridge = takes("configure_bridge", func(ctx context.Context, api API, c BridgeConfig) (BridgeConfig, error) {
		return api.ConfigureBridge(ctx, c)
	})
	opCommitment = asks("commitment", func(ctx context.Context, api API, in ofSession) (BridgeCalls, error) {
		return api.Commitment(ctx, in.Session)
	})
	opRecording = asks("recording", func(ctx context.Context, api API, in recordingArgs) (BridgeCalls, error) {
		return api.Recording(ctx, in.Receipt)
	})

	bridgeOperations = []*operation{opBridge, opConfigureBridge, opCommitment, opRecording}
)

// Bridge implements [API].
func (r *Remote) Bridge(ctx context.Context) (BridgeConfig, error) {
	return ask[BridgeConfig](ctx, r, opBridge, nothing{})
}

// ConfigureBridge implements [API].
func (r *Remote) ConfigureBridge(ctx context.Context, c BridgeConfig) (BridgeConfig, error) {
	return ask[BridgeConfig](ctx, r, opConfigureBridge, c)
}

// Commitment implements [API].
func (r *Remote) Commitment(ctx context.Context, id wire.SessionID) (BridgeCalls, error) {
	return ask[BridgeCalls](ctx, r, opCommitment, ofSession{id})
}

// Recording implements [API].
func (r *Remote) Recording(ctx context.Context, receipt wire.Value) (BridgeCalls, error) {
	return ask[BridgeCalls](ctx, r, opRecording, recordingArgs{receipt})
}
