package node

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// The buckets of node.db. Records are JSON of this program's own.
var (
	bucketSelf            = []byte("self")             // who the directory belongs to
	bucketSessions        = []byte("sessions")         // session id -> record
	bucketOrder           = []byte("order")            // number -> session id
	bucketInvitations     = []byte("invitations")      // session id -> Invitation
	bucketNotices         = []byte("notices")          // number -> Notice
	bucketContacts        = []byte("contacts")         // agent id -> Contact
	bucketAgents          = []byte("agents")           // agent id -> conduct
	bucketRelays          = []byte("relays")           // URL -> relayMemory
	bucketUses            = []byte("uses")             // useOf a mandate, zero, session id -> nothing
	bucketMail            = []byte("mail")             // session id -> mailRecord
	bucketLetters         = []byte("letters")          // session id, zero, number -> letterRecord
	bucketLetterTexts     = []byte("letter_texts")     // the same -> enclosure
	bucketLetterIDs       = []byte("letter_ids")       // session id, zero, id -> number
	bucketMailInvitations = []byte("mail_invitations") // session id -> Invitation
	bucketArchives        = []byte("archives")         // archive id -> MailArchive
	bucketArchiveTexts    = []byte("archive_texts")    // archive id -> document
	bucketProposals       = []byte("proposals")        // proposal id -> Proposal
	bucketInteractions    = []byte("interactions")     // interaction id -> Interaction
	bucketTold            = []byte("told")             // see toldKey
	bucketBridge          = []byte("bridge")           // the configuration of the bridge to Sanctuary

	buckets = [][]byte{
		bucketSelf, bucketSessions, bucketOrder, bucketInvitations, bucketNotices,
		bucketContacts, bucketAgents, bucketRelays, bucketUses,
		bucketMail, bucketLetters, bucketLetterTexts, bucketLetterIDs, bucketMailInvitations, bucketArchives, bucketArchiveTexts,
		bucketProposals, bucketInteractions, bucketTold, bucketBridge,
	}
)

// maxNotices is how many notices are kept. The oldest go first.
const maxNotices = 10_000

// A record is what node.db keeps of a session. It is written in one transaction with the
// notices of what it takes note of, and the transcript is read up to Len: what was
// appended there and not noted here comes again from the relay.
type record struct {
	Session wire.SessionID `json:"session"`
	Relay   string         `json:"relay"` // URL; ownRelay: this node's own
	Order   uint64         `json:"order"`
	Version uint64         `json:"version"`
	Mine    bool           `json:"mine,omitempty"` // this node opened it
	Began   time.Time      `json:"began"`
	From    wire.AgentID   `json:"from"` // who opens it

	At       relay.Position `json:"at"`
	Len      int            `json:"len"` // messages that count
	State    protocol.State `json:"state"`
	Deadline time.Time      `json:"deadline,omitzero"`
	Parties  []wire.AgentID `json:"parties,omitempty"`
	Category string         `json:"category,omitempty"`
	Last     wire.AgentID   `json:"last,omitempty"`    // who spoke last
	Expired  bool           `json:"expired,omitempty"` // that is certain
	Closed   string         `json:"closed,omitempty"`  // why no message counts any more
	Evidence wire.Value     `json:"evidence,omitzero"` // of a breach

	Joined     bool           `json:"joined,omitempty"`     // the relay said so
	Coming     []wire.AgentID `json:"coming,omitempty"`     // of Mine: who is named in the reservation
	Places     int            `json:"places,omitempty"`     // of Mine
	Came       []wire.AgentID `json:"came,omitempty"`       // of Mine: who has joined
	Reserved   bool           `json:"reserved,omitempty"`   // of Mine: the relay has it
	Opening    *opening       `json:"opening,omitempty"`    // to be sent when somebody has joined
	Uninvited  []wire.AgentID `json:"uninvited,omitempty"`  // to be told directly
	Pending    wire.Value     `json:"pending,omitzero"`     // a signed message on its way
	PendingAt  int            `json:"pending_at,omitempty"` // messages before it
	Mandates   []mandate      `json:"mandates,omitempty"`
	Relied     []string       `json:"relied,omitempty"` // mandates on whose strength this node made offers or accepted: see useOf
	Misconduct string         `json:"misconduct,omitempty"`
	Over       relay.End      `json:"over,omitempty"` // the relay takes nothing more

	Signed     wire.Hash                              `json:"signed,omitzero"`      // chain head of the receipt that this node signed
	Sent       wire.Hash                              `json:"sent,omitzero"`        // and has sent
	Sealed     bool                                   `json:"sealed,omitempty"`     // the initiator has proposed the receipt of an agreement
	Signatures map[wire.AgentID]attest.PartySignature `json:"signatures,omitempty"` // of the receipt at Head
	Adopted    wire.Value                             `json:"adopted,omitzero"`     // the receipt at Head, as the reference implementation made it
	Differing  map[wire.AgentID]int                   `json:"differing,omitempty"`  // notices of receipts at the tip that are none
	Presented  map[wire.AgentID]int                   `json:"presented,omitempty"`  // artifacts that others presented and that were kept
	Head       wire.Hash                              `json:"head,omitzero"`
	Done       wire.Hash                              `json:"done,omitzero"`  // chain head of the last complete receipt
	Gave       bool                                   `json:"gave,omitempty"` // this node has made offers or sent signals
	Left       bool                                   `json:"left,omitempty"` // counted in conduct
}

// An opening is an open message to be made.
type opening struct {
	To        []wire.AgentID `json:"to,omitempty"`
	Body      wire.Value     `json:"body"`
	Reasoning string         `json:"reasoning,omitempty"`
	Mandate   wire.Value     `json:"mandate,omitzero"`
}

// ownRelay stands for the URL of the node's own relay, whose name may change.
const ownRelay = "own"

// live reports whether something may still come.
func (r *record) live() bool {
	switch {
	case r.Over != "" && r.Done == r.At.Tip.Hash, r.Misconduct != "":
		return false
	}
	return r.Over == "" || r.Len > 0 && r.Done == wire.Hash{}
}

// A relayMemory is what the node knows of a relay.
type relayMemory struct {
	ID    string `json:"id,omitempty"`
	Token string `json:"token,omitempty"` // secret, as the whole directory is

	Untold []wire.AgentID `json:"untold,omitempty"` // of home: whose consent it has to be told
}

// A conduct counts what a counterparty does with the sessions that it opens.
type conduct struct {
	Opened int `json:"opened,omitempty"`
	Left   int `json:"left,omitempty"` // after it took signals or offers
	Agreed int `json:"agreed,omitempty"`
}

// A selfRecord says whose directory it is.
type selfRecord struct {
	Agent wire.AgentID `json:"agent_id"`
}

// A disk is node.db.
type disk struct{ db *groupcommit.DB }

func openDisk(path string) (*disk, error) {
	db, err := groupcommit.Open(path, nil)
	if err != nil {
		return nil, err
	}
	err = db.Commit(context.Background(), groupcommit.CreateBuckets(buckets...))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", path, err), db.Close())
	}
	return &disk{db}, nil
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func fromNumber(key []byte) uint64 {
	if len(key) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key)
}

// get reads a record into x, and reports whether there is one.
func get(tx *bolt.Tx, bucket []byte, key string, x any) (bool, error) {
	text := tx.Bucket(bucket).Get([]byte(key))
	if text == nil {
		return false, nil
	}
	if err := json.Unmarshal(text, x); err != nil {
		return false, fmt.Errorf("reading a record of %s: %w", bucket, err)
	}
	return true, nil
}

func put(tx *bolt.Tx, bucket []byte, key string, x any) error {
	text, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("writing a record of %s: %w", bucket, err)
	}
	return tx.Bucket(bucket).Put([]byte(key), text)
}

// get reads a record in a transaction of its own.
func (d *disk) get(bucket []byte, key string, x any) (known bool, err error) {
	err = d.db.View(func(tx *bolt.Tx) error {
		known, err = get(tx, bucket, key, x)
		return err
	})
	return known, err
}

func (d *disk) put(ctx context.Context, bucket []byte, key string, x any) error {
	return d.update(ctx, func(tx *bolt.Tx) error { return put(tx, bucket, key, x) })
}

func (d *disk) delete(ctx context.Context, bucket []byte, key string) error {
	return d.update(ctx, func(tx *bolt.Tx) error { return tx.Bucket(bucket).Delete([]byte(key)) })
}

// update runs f in a transaction. It may run more than once.
func (d *disk) update(ctx context.Context, f func(*bolt.Tx) error) error {
	return d.db.Commit(ctx, groupcommit.Op{Apply: f})
}

// each calls f with the records of a bucket, in the order of their keys, after a key.
func each[T any](d *disk, bucket []byte, after string, f func(key string, x *T) (more bool)) error {
	return d.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucket).Cursor()
		k, text := c.Seek([]byte(after))
		if after != "" && bytes.Equal(k, []byte(after)) {
			k, text = c.Next()
		}
		for ; k != nil; k, text = c.Next() {
			x := new(T)
			if err := json.Unmarshal(text, x); err != nil {
				return fmt.Errorf("reading a record of %s: %w", bucket, err)
			}
			if !f(string(k), x) {
				return nil
			}
		}
		return nil
	})
}

// eachIn calls f with the records of a bucket in a transaction, which f does not change.
func eachIn[T any](tx *bolt.Tx, bucket []byte, f func(key string, x *T) error) error {
	return tx.Bucket(bucket).ForEach(func(k, _ []byte) error {
		x := new(T)
		if _, err := get(tx, bucket, string(k), x); err != nil {
			return err
		}
		return f(string(k), x)
	})
}

// add appends notices.
func add(tx *bolt.Tx, list []Notice) (last uint64, err error) {
	b := tx.Bucket(bucketNotices)
	for i := range list {
		n, err := b.NextSequence()
		if err != nil {
			return 0, err
		}
		notice := list[i]
		notice.Number = n
		if err := put(tx, bucketNotices, string(number(n)), notice); err != nil {
			return 0, err
		}
		if n > maxNotices {
			if err := b.Delete(number(n - maxNotices)); err != nil {
				return 0, err
			}
		}
		last = n
	}
	return last, nil
}
