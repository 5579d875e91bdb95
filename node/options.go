package node

import (
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// Options say who a node is, where it keeps what it knows, whom it believes and what it
// lets through.
type Options struct {
	Dir   string       // made if it is missing; one process holds it
	Key   wire.Signer  // the agent's key; required
	Agent wire.AgentID // "": the did:key of the key
	Keys  wire.Keys    // of agents that are no contacts; nil: did:key ids alone

	Relay   string // URL of the home relay; "": none
	RelayID string // its id; "": the one that it says, the first time

	// Public is the origin at which others reach Node.Handler: https://HOST. If it is
	// empty, sessions can only be opened by way of the home relay. Limits are those of the
	// relay that the node is for its own sessions.
	Public string
	Limits relay.Limits

	// Address returns where a request to Handler comes from; nil: who is connected. It is
	// for proxies in front: what it returns is what rates of requests are counted by.
	Address func(*http.Request) netip.Addr

	// Loopback lets the node talk to this machine, and over http:// as well. Otherwise it
	// dials public addresses only, over https://, and the home relay wherever it is.
	Loopback bool

	// Roots are the certificates that count, for networks of one's own; nil: the system's.
	Roots *x509.CertPool

	Policy  Policy
	Metrics *prometheus.Registry // nil: none
	Log     *slog.Logger         // nil: none
	Now     func() time.Time     // nil: time.Now
	Random  io.Reader            // nil: crypto/rand
	Timing  relay.Timing         // of the connections to relays
}

// A Policy is what the owner of a node lets through. The zero Policy asks about
// strangers and has no thresholds.
type Policy struct {
	Unknown Answer         `json:"unknown,omitempty"` // to invitations of strangers; "": Ask
	Allow   []wire.AgentID `json:"allow,omitempty"`   // besides the contacts whose consent is so
	Deny    []wire.AgentID `json:"deny,omitempty"`

	// JoinKnown has the node join sessions of those that are allowed, without being asked.
	JoinKnown bool `json:"join_known,omitempty"`

	Thresholds []Threshold `json:"thresholds,omitempty"`

	// BrokenMandate is what happens when a counterparty does what the mandate that it has
	// presented does not allow: a notice, and with Block this node does not accept its
	// offers any more. "": Block.
	BrokenMandate Reaction `json:"broken_mandate,omitempty"`

	// FlagAfter is how many sessions a counterparty may open, take signals or offers in,
	// and leave without an agreement, before its invitations are flagged. 0: DefaultFlagAfter.
	FlagAfter int `json:"flag_after,omitempty"`

	// Revokers are whose revocation records count against what others issued. Whoever issued
	// a mandate or an approval revokes it; receipts, which all parties made, are revoked by
	// these alone (SPEC §9.6.4c).
	Revokers []wire.AgentID `json:"revokers,omitempty"`

	// ReportTo names the providers of reputation that sessions may be reported to, by the
	// https URL of their endpoint (API.Report). Nobody: no session is reported.
	ReportTo []string `json:"report_to,omitempty"`
}

// DefaultFlagAfter is the FlagAfter of a Policy that does not say.
const DefaultFlagAfter = 3

// An Answer is what becomes of the invitation of a stranger.
type Answer string

// The answers. A session that the node joins by itself is not accepted by that.
const (
	Ask    Answer = "ask"    // it waits, with a notice
	Accept Answer = "accept" // the node joins, as long as they are not too many; then it waits
	Refuse Answer = "refuse" // the node declines, and nobody hears of it
)

// A Reaction is what follows from a broken mandate.
type Reaction string

// The reactions.
const (
	Tell  Reaction = "tell"  // a notice
	Block Reaction = "block" // and no accept
)

// A Threshold says which deals need somebody's signature before this node accepts them
// or commits to them. A deal crosses it if it is in the category and its amount is at
// least Amount. What cannot be compared crosses: a term that is no number or below zero, a
// currency for which no threshold of the same term is written, a session that names no
// category.
type Threshold struct {
	Name     string         `json:"name"`
	Category string         `json:"category,omitempty"` // that of the session, or one above it: "goods" is above "goods.cameras"; "": all
	Term     string         `json:"term,omitempty"`     // that has the amount; "": all deals of the category cross
	Amount   float64        `json:"amount,omitempty"`
	Currency string         `json:"currency,omitempty"` // "": whatever it is
	Needs    Requirement    `json:"needs"`
	By       []wire.AgentID `json:"by"` // approvers, or issuers of the mandate; at least one
}

// A Requirement is what a threshold asks for.
type Requirement string

// The requirements.
const (
	NeedApproval Requirement = "approval" // an approval receipt for exactly this offer, and the amount if it leaves a choice (SPEC §9.6.4b)
	NeedMandate  Requirement = "mandate"  // a mandate for this agent that allows the deal (SPEC §9.9)
)
