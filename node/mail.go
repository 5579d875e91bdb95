package node

import (
	"context"
	"strings"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// Mail is what a node says to other agents outside of negotiations, by way of its home
// relay (RFC 0001): any JSON object, to those who have agreed to hear it. What is sent is an
// enclosure of kind "mail" in the log of a relay session whose id begins with [MailPrefix].
// That prefix alone tells mail from negotiations, in everything that is signed and in
// everything that a relay says: a session with it is never negotiated in, and one without
// it has no mail.
type Mail interface {
	// CreateMail reserves a mail session: for the agent that it names, or with one place
	// for whoever comes first and knows its id.
	CreateMail(ctx context.Context, o MailOpening) (MailView, error)

	// MailInvitations returns the invitations to mail that are neither joined, declined
	// nor over, oldest first. Nothing joins them but JoinMail.
	MailInvitations(ctx context.Context) ([]Invitation, error)

	// JoinMail makes the node a party of the mail session that it is invited to, or that
	// has a place for whoever comes first. Joining again is no harm.
	JoinMail(ctx context.Context, id wire.SessionID) (MailView, error)

	// DeclineMail answers an invitation to mail with no.
	DeclineMail(ctx context.Context, id wire.SessionID) error

	// SendMail sends a letter, and returns when the relay has it. If it is refused,
	// nothing was sent.
	SendMail(ctx context.Context, l Letter) (MailEntry, error)

	// ReceiveMail returns letters of others that were not acknowledged. They keep their
	// numbers, and come again until a call says that the caller had them: whoever is killed
	// between two calls loses nothing. If there are none and the query says so, it waits for
	// one until the context is done, and then returns none and no error.
	ReceiveMail(ctx context.Context, q MailQuery) (MailBatch, error)

	// MailSession returns a mail session as it stands, MailSessions all that are kept, in
	// the order in which they began here.
	MailSession(ctx context.Context, id wire.SessionID) (MailView, error)
	MailSessions(ctx context.Context) ([]MailView, error)

	// CloseMail ends a mail session for all its parties. The note is kept here, and told to
	// nobody.
	CloseMail(ctx context.Context, id wire.SessionID, note string) (MailView, error)

	// MailEntries returns at most most letters of a mail session, its own among them, from a
	// number on.
	MailEntries(ctx context.Context, id wire.SessionID, from uint64, most int) ([]MailEntry, error)

	// MailDocument returns all letters of a mail session as they were signed: what
	// VerifyMail verifies offline.
	MailDocument(ctx context.Context, id wire.SessionID) (wire.Value, error)

	// ArchiveMail keeps the document of a mail session that is over for some days. The same
	// session again is the same archive.
	ArchiveMail(ctx context.Context, id wire.SessionID, days int) (MailArchive, error)

	// MailArchives returns what is archived, the newest first. ArchivedMail returns the
	// document of an archive.
	MailArchives(ctx context.Context, most int) ([]MailArchive, error)
	ArchivedMail(ctx context.Context, archive string) (wire.Value, error)
}

// MailPrefix begins the id of every relay session that carries mail, and of no other.
const MailPrefix = "relay_"

func isMail(id wire.SessionID) bool { return strings.HasPrefix(string(id), MailPrefix) }

// Bounds of mail. A letter that has no room here any more stays at the relay, and is read
// there: no sender takes the room of another.
const (
	MaxMail         = 256              // mail sessions that are kept; those that are over and read make room
	MaxArchives     = 1000             // archives that are kept
	maxMailKept     = 4 << 20          // bytes of letters of one mail session
	maxMailBatch    = 4 << 20          // bytes of what one call returns
	maxMailDocument = 32 << 20         // bytes of letters of a document: what does not fit is left out
	maxMailValues   = 1 << 20          // commas in them, so that the document can be read
	maxArchived     = 256 << 20        // bytes of all archives
	maxMailNote     = 200              // bytes
	maxArchiveDays  = 3650             // that an archive is kept
	defaultMailLife = 24 * time.Hour   // of a mail session whose opening does not say
	maxLetterType   = wire.MaxIDLength // characters
)

// A MailOpening is a mail session to make.
type MailOpening struct {
	Session wire.SessionID `json:"session_id,omitempty"` // begins with MailPrefix; "": a new one; the same again is no harm
	To      wire.AgentID   `json:"to,omitempty"`         // "": one place for whoever comes first
	Seconds int            `json:"seconds,omitempty"`    // that it lives; 0: a day; at most a week
	About   wire.SessionID `json:"about,omitempty"`      // a negotiation of this node; nobody else is told
}

// A MailState is how a mail session stands.
type MailState string

// The states of a mail session.
const (
	MailPending   MailState = "pending" // nobody else has joined
	MailActive    MailState = "active"
	MailConcluded MailState = "concluded" // a party closed it
	MailDeclined  MailState = "declined"  // who was named does not come
	MailTimedOut  MailState = "timed_out" // its time is over, or nothing was said for too long
)

// A MailView is a mail session as the node sees it.
type MailView struct {
	Session    wire.SessionID `json:"session_id"`
	State      MailState      `json:"state"`
	Mine       bool           `json:"mine"` // this node made it
	Parties    []MailParty    `json:"parties"`
	About      wire.SessionID `json:"about,omitempty"`
	Began      time.Time      `json:"began"`
	Expires    time.Time      `json:"expires"`
	Ended      time.Time      `json:"ended,omitzero"`
	Why        relay.End      `json:"why,omitempty"`
	Note       string         `json:"note,omitempty"`
	Letters    int            `json:"letters"`
	Unread     int            `json:"unread"`       // letters of others that were not acknowledged
	Had        uint64         `json:"acknowledged"` // number up to which they were
	Kept       int            `json:"kept"`         // bytes of letters that are kept here
	Misconduct string         `json:"misconduct,omitempty"`
}

// A MailParty is a party of a mail session, the initiator first.
type MailParty struct {
	Agent    wire.AgentID   `json:"agent_id"`
	Standing relay.Standing `json:"standing"`
	Letters  int            `json:"letters"` // that it has sent
}

// A Letter is something to send.
type Letter struct {
	Session wire.SessionID `json:"session_id"`
	Type    string         `json:"message_type"` // any word; it means something to the parties alone
	Payload wire.Value     `json:"payload"`      // an object; with what is around it at most relay.MaxEnclosureSize bytes

	// ID makes the letter one that can be sent again: the same letter under the same id
	// exists once. "": a new one.
	ID wire.MessageID `json:"id,omitempty"`
}

// A MailEntry is a letter in the log of its session.
type MailEntry struct {
	Session  wire.SessionID `json:"session_id"`
	Number   uint64         `json:"number"` // in the log, stable
	ID       wire.MessageID `json:"id"`
	From     wire.AgentID   `json:"from"`
	Own      bool           `json:"own"`
	Appended time.Time      `json:"appended"`       // as the relay says
	Entry    wire.Value     `json:"entry,omitzero"` // as it was signed; absent: the relay had it, and has it no more

	size int // of Entry, in bytes
}

// Type returns the message type of the letter, and Payload the payload: words of its sender.
func (e *MailEntry) Type() string {
	v, _ := e.Entry.At("content", "message_type")
	return v.Text()
}

// Payload returns the payload of the letter, absent if the letter is.
func (e *MailEntry) Payload() wire.Value {
	v, _ := e.Entry.At("content", "payload")
	return v
}

// A MailQuery asks for letters.
type MailQuery struct {
	Session wire.SessionID `json:"session_id,omitempty"` // "": of all mail sessions, in turn
	Had     []MailHad      `json:"had,omitempty"`        // what the caller had, to be acknowledged first
	Most    int            `json:"most,omitempty"`       // letters; 0: 100; at most 1,000
	Wait    bool           `json:"wait,omitempty"`       // for one, if there are none
}

// A MailHad says up to which number a caller had the letters of a mail session.
type MailHad struct {
	Session wire.SessionID `json:"session_id"`
	Number  uint64         `json:"number"`
}

// A MailBatch is what there is to receive.
type MailBatch struct {
	Entries []MailEntry `json:"entries"` // of each session in the order of their numbers
	More    bool        `json:"more"`    // there are more than these
}

// A MailArchive says what an archive has.
type MailArchive struct {
	ID      string         `json:"archive_id"`
	Session wire.SessionID `json:"session_id"`
	Parties []MailParty    `json:"parties"`
	About   wire.SessionID `json:"about,omitempty"`
	Why     relay.End      `json:"why"`
	Note    string         `json:"note,omitempty"`
	Letters int            `json:"letters"`            // that it has
	LeftOut int            `json:"left_out,omitempty"` // that had no room in it
	Bytes   int            `json:"bytes"`
	At      time.Time      `json:"at"`
	Days    int            `json:"days"` // for which it is kept
}

func (a *MailArchive) over(now time.Time) bool {
	return !now.Before(a.At.Add(time.Duration(a.Days) * 24 * time.Hour))
}

// The operations of Mail.
type (
	closeMailArgs struct {
		Session wire.SessionID `json:"session_id"`
		Note    string         `json:"note"`
	}
	mailEntriesArgs struct {
		Session wire.SessionID `json:"session_id"`
		From    uint64         `json:"from"`
		Most    int            `json:"most"`
	}
	archiveMailArgs struct {
		Session wire.SessionID `json:"session_id"`
		Days    int            `json:"days"`
	}
	mailArchivesArgs struct {
		Most int `json:"most"`
	}
	ofArchive struct {
		Archive string `json:"archive_id"`
	}
)

var (
	opCreateMail = takes("create_mail", func(ctx context.Context, api API, o MailOpening) (MailView, error) {
		return api.CreateMail(ctx, o)
	})
	opMailInvitations = asks("mail_invitations", func(ctx context.Context, api API, _ nothing) ([]Invitation, error) {
		return api.MailInvitations(ctx)
	})
	opJoinMail = takes("join_mail", func(ctx context.Context, api API, in ofSession) (MailView, error) {
		return api.JoinMail(ctx, in.Session)
	})
	opDeclineMail = takes("decline_mail", func(ctx context.Context, api API, in ofSession) (nothing, error) {
		return done(api.DeclineMail(ctx, in.Session))
	})
	opSendMail = takes("send_mail", func(ctx context.Context, api API, l Letter) (MailEntry, error) {
		return api.SendMail(ctx, l)
	})
	opReceiveMail = waits("receive_mail", func(ctx context.Context, api API, q MailQuery) (MailBatch, error) {
		return api.ReceiveMail(ctx, q)
	})
	opMailSession = asks("mail_session", func(ctx context.Context, api API, in ofSession) (MailView, error) {
		return api.MailSession(ctx, in.Session)
	})
	opMailSessions = asks("mail_sessions", func(ctx context.Context, api API, _ nothing) ([]MailView, error) {
		return api.MailSessions(ctx)
	})
	opCloseMail = takes("close_mail", func(ctx context.Context, api API, in closeMailArgs) (MailView, error) {
		return api.CloseMail(ctx, in.Session, in.Note)
	})
	opMailEntries = asks("mail_entries", func(ctx context.Context, api API, in mailEntriesArgs) ([]MailEntry, error) {
		return api.MailEntries(ctx, in.Session, in.From, in.Most)
	})
	opMailDocument = asks("mail_document", func(ctx context.Context, api API, in ofSession) (wire.Value, error) {
		return api.MailDocument(ctx, in.Session)
	})
	opArchiveMail = takes("archive_mail", func(ctx context.Context, api API, in archiveMailArgs) (MailArchive, error) {
		return api.ArchiveMail(ctx, in.Session, in.Days)
	})
	opMailArchives = asks("mail_archives", func(ctx context.Context, api API, in mailArchivesArgs) ([]MailArchive, error) {
		return api.MailArchives(ctx, in.Most)
	})
	opArchivedMail = asks("archived_mail", func(ctx context.Context, api API, in ofArchive) (wire.Value, error) {
		return api.ArchivedMail(ctx, in.Archive)
	})
)

var mailOperations = []*operation{
	opCreateMail, opMailInvitations, opJoinMail, opDeclineMail, opSendMail, opReceiveMail, opMailSession, opMailSessions, opCloseMail,
	opMailEntries, opMailDocument, opArchiveMail, opMailArchives, opArchivedMail,
}

// CreateMail implements [Mail].
func (r *Remote) CreateMail(ctx context.Context, o MailOpening) (MailView, error) {
	return ask[MailView](ctx, r, opCreateMail, o)
}

// MailInvitations implements [Mail].
func (r *Remote) MailInvitations(ctx context.Context) ([]Invitation, error) {
	return ask[[]Invitation](ctx, r, opMailInvitations, nothing{})
}

// JoinMail implements [Mail].
func (r *Remote) JoinMail(ctx context.Context, id wire.SessionID) (MailView, error) {
	return ask[MailView](ctx, r, opJoinMail, ofSession{id})
}

// DeclineMail implements [Mail].
func (r *Remote) DeclineMail(ctx context.Context, id wire.SessionID) error {
	_, err := ask[nothing](ctx, r, opDeclineMail, ofSession{id})
	return err
}

// SendMail implements [Mail].
func (r *Remote) SendMail(ctx context.Context, l Letter) (MailEntry, error) {
	return ask[MailEntry](ctx, r, opSendMail, l)
}

// ReceiveMail implements [Mail].
func (r *Remote) ReceiveMail(ctx context.Context, q MailQuery) (MailBatch, error) {
	for {
		b, err := ask[MailBatch](ctx, r, opReceiveMail, q)
		if q.Wait && ctx.Err() != nil {
			return MailBatch{}, nil
		}
		if err != nil || len(b.Entries) > 0 || !q.Wait {
			return b, err
		}
	}
}

// MailSession implements [Mail].
func (r *Remote) MailSession(ctx context.Context, id wire.SessionID) (MailView, error) {
	return ask[MailView](ctx, r, opMailSession, ofSession{id})
}

// MailSessions implements [Mail].
func (r *Remote) MailSessions(ctx context.Context) ([]MailView, error) {
	return ask[[]MailView](ctx, r, opMailSessions, nothing{})
}

// CloseMail implements [Mail].
func (r *Remote) CloseMail(ctx context.Context, id wire.SessionID, note string) (MailView, error) {
	return ask[MailView](ctx, r, opCloseMail, closeMailArgs{id, note})
}

// MailEntries implements [Mail].
func (r *Remote) MailEntries(ctx context.Context, id wire.SessionID, from uint64, most int) ([]MailEntry, error) {
	return ask[[]MailEntry](ctx, r, opMailEntries, mailEntriesArgs{id, from, most})
}

// MailDocument implements [Mail].
func (r *Remote) MailDocument(ctx context.Context, id wire.SessionID) (wire.Value, error) {
	return ask[wire.Value](ctx, r, opMailDocument, ofSession{id})
}

// ArchiveMail implements [Mail].
func (r *Remote) ArchiveMail(ctx context.Context, id wire.SessionID, days int) (MailArchive, error) {
	return ask[MailArchive](ctx, r, opArchiveMail, archiveMailArgs{id, days})
}

// MailArchives implements [Mail].
func (r *Remote) MailArchives(ctx context.Context, most int) ([]MailArchive, error) {
	return ask[[]MailArchive](ctx, r, opMailArchives, mailArchivesArgs{most})
}

// ArchivedMail implements [Mail].
func (r *Remote) ArchivedMail(ctx context.Context, archive string) (wire.Value, error) {
	return ask[wire.Value](ctx, r, opArchivedMail, ofArchive{archive})
}
