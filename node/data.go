package node

import (
	"time"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// Self is who a node is.
type Self struct {
	Agent   wire.AgentID `json:"agent_id"`
	Key     string       `json:"public_key"`         // base64url
	Relay   string       `json:"relay,omitempty"`    // URL of the home relay
	Public  string       `json:"public,omitempty"`   // URL at which others reach this node; "": they do not
	Serving bool         `json:"serving"`            // this node is a relay for its own sessions
	Links   []Link       `json:"links,omitempty"`    // relays that are in use
	Notices uint64       `json:"notices"`            // number of the last notice
	Version string       `json:"protocol,omitempty"` // of the wire protocol
}

// A Link is a relay that the node uses.
type Link struct {
	Relay     string `json:"relay"` // URL
	Connected bool   `json:"connected"`
	Sessions  int    `json:"sessions"` // of which it is asked for news
}

// A Way is how an invitation reaches those who are invited, and with it who carries the
// session.
type Way string

// The ways.
const (
	AnyWay    Way = ""       // ByRelay if there is a home relay, else Direct
	ByRelay   Way = "relay"  // the home relay carries the session, and tells who is named
	Direct    Way = "direct" // this node carries the session, and asks the responder's inbox
	Otherwise Way = "none"   // this node carries the session or else its home relay, and tells nobody: see API.Invitation
)

// An Opening is a session to open.
type Opening struct {
	Session   wire.SessionID `json:"session_id,omitempty"` // "": a new one; the same again is no harm
	To        []wire.AgentID `json:"to,omitempty"`         // the responders
	Others    []wire.AgentID `json:"others,omitempty"`     // who else may join: witnesses, and mediators that may be nominated
	Places    int            `json:"places,omitempty"`     // if To is empty: for how many who come first; at most 1
	Way       Way            `json:"way,omitempty"`
	Body      wire.Value     `json:"body"` // of the open message: terms, timing, category and so on (SPEC §4.2)
	Reasoning string         `json:"reasoning,omitempty"`
	Mandate   wire.Value     `json:"mandate,omitzero"` // presented right behind the open message
}

// An Invitation is a session that the node is asked to join.
type Invitation struct {
	Session  wire.SessionID `json:"session_id"`
	From     wire.AgentID   `json:"from"` // proven by a signature if Signed, else the relay's word
	Signed   bool           `json:"signed"`
	Relay    string         `json:"relay"` // URL of the relay that carries the session
	Category string         `json:"category,omitempty"`
	Created  time.Time      `json:"created"`
	Expires  time.Time      `json:"expires"`
	Known    bool           `json:"known"` // From is a contact, or allowed
	Flags    []string       `json:"flags,omitempty"`
}

// A Move is a message to make.
type Move struct {
	Session   wire.SessionID   `json:"session_id"`
	Type      wire.MessageType `json:"type"`                // such as negotiate.offer; "offer" will do
	Body      wire.Value       `json:"body,omitzero"`       // absent: {}; an offer_id is added where one is missing
	Reasoning string           `json:"reasoning,omitempty"` // signed, and binds nobody

	// ID makes the move one that can be asked for again: the same move under the same id
	// exists once, however often it is made, also across a restart. "": a new one.
	ID wire.MessageID `json:"id,omitempty"`

	// Tip, if given, is the hash of the last message that the caller knows: the move is
	// refused with CodeConflict if another one has come since.
	Tip wire.Hash `json:"tip,omitzero"`

	to []wire.AgentID // of open
}

// A View is a session as the node sees it.
type View struct {
	Summary
	Role    protocol.Role      `json:"role"` // of this node
	Moves   []wire.MessageType `json:"legal_moves"`
	Terms   wire.Value         `json:"terms,omitzero"` // of the open message
	Offer   *OfferView         `json:"offer,omitempty"`
	Deal    wire.Value         `json:"deal,omitzero"`      // the terms that were agreed on
	Hash    wire.Hash          `json:"agreement,omitzero"` // of the agreement
	Rounds  int                `json:"rounds"`
	Rounded int                `json:"max_rounds"` // how many there may be
	Ending  *EndingView        `json:"ending,omitempty"`
	Last    wire.Value         `json:"last,omitzero"` // the last message

	Coming      []wire.AgentID `json:"coming,omitempty"`      // who is invited and has not joined
	Undelivered []wire.AgentID `json:"undelivered,omitempty"` // who could not be invited yet
	Mandates    []MandateView  `json:"mandates,omitempty"`    // that parties have presented
	Misconduct  string         `json:"misconduct,omitempty"`  // what the relay did wrong: nothing more is taken from it
}

// A Summary is a session in a list.
type Summary struct {
	Session  wire.SessionID `json:"session_id"`
	State    protocol.State `json:"state"` // as of now: EXPIRED once that is certain (SPEC §5.3)
	Parties  []wire.AgentID `json:"parties"`
	Relay    string         `json:"relay"` // URL of the relay that carries it
	Category string         `json:"category,omitempty"`
	Began    time.Time      `json:"began"`
	Deadline time.Time      `json:"deadline,omitzero"` // in PROPOSED and ACTIVE
	Len      int            `json:"messages"`
	Tip      wire.Hash      `json:"tip"`
	Version  uint64         `json:"version"` // for Wait
	Receipt  ReceiptState   `json:"receipt,omitempty"`
	Turn     bool           `json:"turn"` // somebody else spoke last, and this node may speak
}

// A ReceiptState is how far a receipt has come.
type ReceiptState string

// The states of a receipt.
const (
	NoReceipt      ReceiptState = ""
	ReceiptPending ReceiptState = "pending"  // signatures are missing
	ReceiptDone    ReceiptState = "complete" // every party has signed it
)

// An OfferView is the current offer.
type OfferView struct {
	ID       wire.OfferID `json:"offer_id,omitempty"`
	From     wire.AgentID `json:"from"`
	Body     wire.Value   `json:"body"` // as it was signed
	Hash     wire.Hash    `json:"hash"` // of the body: what an approval receipt names
	Complete bool         `json:"complete"`
	Own      bool         `json:"own"`
	Ends     time.Time    `json:"ends"`             // when it lapses
	Lapsed   bool         `json:"lapsed,omitempty"` // it has: nobody can accept it any more
}

// An EndingView says how a session ended.
type EndingView struct {
	By            wire.AgentID     `json:"by,omitempty"` // "": the time ran out
	Type          wire.MessageType `json:"type,omitempty"`
	At            time.Time        `json:"at"`
	Reason        string           `json:"reason,omitempty"` // what the sender said; data, never instructions
	Reactivatable bool             `json:"reactivatable,omitempty"`
	Breach        string           `json:"breach,omitempty"` // the rule that the last message broke
}

// A MandateView is a mandate that a party has presented in a session.
type MandateView struct {
	By      wire.AgentID `json:"by"`
	ID      string       `json:"mandate_id"`
	Issuer  wire.AgentID `json:"issuer"`
	Broken  string       `json:"broken,omitempty"` // why what the party did is not allowed by it
	Message int          `json:"message,omitempty"`
}

// A Filter says which sessions are listed. Zero fields admit all.
type Filter struct {
	State protocol.State `json:"state,omitempty"`
	With  wire.AgentID   `json:"with,omitempty"`
	Live  bool           `json:"live,omitempty"`  // PROPOSED, ACTIVE and DORMANT ones only
	After wire.SessionID `json:"after,omitempty"` // those that began later
	Most  int            `json:"most,omitempty"`  // 0: 100; at most 1,000
}

// A Kind is what a notice is about.
type Kind string

// The kinds of notices.
const (
	InvitationCame   Kind = "invitation"
	PartyJoined      Kind = "joined"
	MessageCame      Kind = "message"
	Concluded        Kind = "concluded"
	SessionExpired   Kind = "expired"
	CameBack         Kind = "came_back" // a dormant session is active again
	Declined         Kind = "declined"  // those who were named did not come
	RelayMisconduct  Kind = "misconduct"
	Flagged          Kind = "flagged" // a counterparty that opens, takes and leaves again and again
	ReceiptCompleted Kind = "receipt"
	ReceiptDiffers   Kind = "receipt_differs" // a party signed another receipt than the one that follows from the transcript
	MandateBroken    Kind = "mandate"         // a party did what its mandate does not allow
	MailInvited      Kind = "mail_invitation"
	MailJoined       Kind = "mail_joined" // a mail session that this node made
	MailCame         Kind = "mail"        // there are letters that were not acknowledged: one notice, not one for each
	MailEnded        Kind = "mail_ended"
	MessageLate      Kind = "late"  // an admitted message came when the time was up, and changes nothing
	MatchCame        Kind = "match" // the market says that something new matches a want or a have of this agent
)

// A Notice is something that happened. Notices are numbered from 1 and kept across
// restarts.
type Notice struct {
	Number  uint64           `json:"number"`
	Kind    Kind             `json:"kind"`
	At      time.Time        `json:"at"`
	Session wire.SessionID   `json:"session_id,omitempty"`
	Agent   wire.AgentID     `json:"agent_id,omitempty"` // whom it is about
	Type    wire.MessageType `json:"type,omitempty"`
	State   protocol.State   `json:"state,omitempty"`
	Len     int              `json:"messages,omitempty"`
	Detail  string           `json:"detail,omitempty"`   // words of this node; no terms, no reasoning
	Entry   string           `json:"entry_id,omitempty"` // of MatchCame: the own want or have
	Flags   []string         `json:"flags,omitempty"`
}

// A Contact is an agent that the owner of the node knows.
type Contact struct {
	Agent wire.AgentID `json:"agent_id"`
	Name  string       `json:"name,omitempty"`
	Keys  []ContactKey `json:"keys,omitempty"` // none: what its id says
	URL   string       `json:"url,omitempty"`  // https origin of its node, for direct delivery

	// Reference says that the contact runs the reference implementation. A receipt that it
	// proposes is signed if it agrees with the transcript in everything that both
	// implementations derive in the same way; what else it says is its own word (SPEC §9.6.5).
	// Toward it this node moves in strict turns and commits to nothing first.
	Reference bool `json:"reference,omitempty"`

	Consent Consent `json:"consent,omitempty"`
}

// A ContactKey is a key of a contact, and when it is valid (SPEC §9.1).
type ContactKey struct {
	Key   string    `json:"key"` // base64url
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// A Need is what the policy asks for before a move.
type Need struct {
	Threshold string         `json:"threshold"` // its name in the policy
	Needs     Requirement    `json:"needs"`
	Session   wire.SessionID `json:"session_id"`
	OfferHash wire.Hash      `json:"offer_hash,omitzero"` // what an approval has to name
	Amount    string         `json:"amount,omitempty"`    // with the currency behind it
	Approvers []wire.AgentID `json:"approvers,omitempty"` // of whom one has to sign
	Draft     wire.Value     `json:"draft,omitzero"`      // of the approval receipt, for whoever signs it
	Why       string         `json:"why,omitempty"`       // what is wrong with what there is
	Offer     wire.Value     `json:"offer,omitzero"`      // what is to be approved, as it was signed
	Terms     wire.Value     `json:"terms,omitzero"`      // what it comes to
	Parties   []wire.AgentID `json:"parties,omitempty"`   // of the session
	By        time.Time      `json:"offer_ends,omitzero"` // when the offer lapses
}

// A Consent is what the owner has decided about the invitations of a contact.
type Consent string

// The consents.
const (
	Undecided Consent = ""
	Allowed   Consent = "allowed"
	Denied    Consent = "denied" // the contact does not learn that
)
