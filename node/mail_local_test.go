package node

import (
	"context"

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
