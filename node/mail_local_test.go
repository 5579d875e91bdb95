package node

import (
	"context"
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
)

func (r *recorder) CreateMail(_ context.Context, o MailOpening) (MailView, error) {
	return recorded[MailView](r, "CreateMail", o)
}
func (r *recorder) MailInvitations(context.Context) ([]Invitation, error) {
	return recorded[[]Invitation](r, "MailInvitations")
}
func (r *recorder) JoinMail(_ context.Context, id wire.SessionID) (MailView, error) {
	return recorded[MailView](r, "JoinMail", id)
}
func (r *recorder) DeclineMail(_ context.Context, id wire.SessionID) error {
	_, err := recorded[any](r, "DeclineMail", id)
	return err
}
func (r *recorder) SendMail(_ context.Context, l Letter) (MailEntry, error) {
	return recorded[MailEntry](r, "SendMail", l)
}
func (r *recorder) ReceiveMail(_ context.Context, q MailQuery) (MailBatch, error) {
	return recorded[MailBatch](r, "ReceiveMail", q)
}
func (r *recorder) MailSession(_ context.Context, id wire.SessionID) (MailView, error) {
	return recorded[MailView](r, "MailSession", id)
}
func (r *recorder) MailSessions(context.Context) ([]MailView, error) {
	return recorded[[]MailView](r, "MailSessions")
}
func (r *recorder) CloseMail(_ context.Context, id wire.SessionID, note string) (MailView, error) {
	return recorded[MailView](r, "CloseMail", id, note)
}
func (r *recorder) MailEntries(_ context.Context, id wire.SessionID, from uint64, most int) ([]MailEntry, error) {
	return recorded[[]MailEntry](r, "MailEntries", id, from, most)
}
func (r *recorder) MailDocument(_ context.Context, id wire.SessionID) (wire.Value, error) {
	return recorded[wire.Value](r, "MailDocument", id)
}
func (r *recorder) ArchiveMail(_ context.Context, id wire.SessionID, days int) (MailArchive, error) {
	return recorded[MailArchive](r, "ArchiveMail", id, days)
}
func (r *recorder) MailArchives(_ context.Context, most int) ([]MailArchive, error) {
	return recorded[[]MailArchive](r, "MailArchives", most)
}
func (r *recorder) ArchivedMail(_ context.Context, archive string) (wire.Value, error) {
	return recorded[wire.Value](r, "ArchivedMail", archive)
}

// Whoever waits for letters in another process is held, and asked again, until there is one
// or it does not want to know any more; whoever does not wait is told that there is none.
func TestLocalMail(t *testing.T) {
	r := &recorder{}
	var polls int
	r.answer = func(string, []any) (any, error) {
		if polls++; polls < 3 {
			return MailBatch{}, nil
		}
		return MailBatch{Entries: []MailEntry{{Number: 7}}}, nil
	}
	remote := pollTest(t, r, time.Millisecond)
	if b, err := remote.ReceiveMail(t.Context(), MailQuery{}); err != nil || len(b.Entries) != 0 || polls != 1 {
		t.Errorf("after %d polls %+v, %v", polls, b, err)
	}
	if b, err := remote.ReceiveMail(t.Context(), MailQuery{Wait: true}); err != nil || len(b.Entries) != 1 || polls != 3 {
		t.Errorf("after %d polls %+v, %v", polls, b, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.answer = func(string, []any) (any, error) { cancel(); return MailBatch{}, nil }
	if b, err := remote.ReceiveMail(ctx, MailQuery{Wait: true}); err != nil || len(b.Entries) != 0 {
		t.Errorf("canceled: %+v, %v", b, err)
	}
}
