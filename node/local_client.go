package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// A Remote is a node that another process runs. It is an [API].
type Remote struct {
	dir    string
	client *http.Client

	// again, if there is one, waits after a call that did not reach the node until it
	// makes sense to try again.
	again func(ctx context.Context, cause error) error
}

var _ API = (*Remote)(nil)

// ErrNotServed means that no process serves a directory.
var ErrNotServed = errors.New("no node runs there")

// Dial returns the node that another process runs in a directory. It fails with
// ErrNotServed if there is none.
func Dial(ctx context.Context, dir string) (*Remote, error) {
	r := newRemote(dir)
	if _, err := r.Self(ctx); err != nil {
		r.Close()
		return nil, fmt.Errorf("reaching the node in %s: %w", dir, err)
	}
	return r, nil
}

func newRemote(dir string) *Remote {
	// Each call has a connection of its own: one that was kept would lead to a process
	// that has ended.
	return &Remote{dir: dir, client: &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DialContext: dialer(dir)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close ends what the Remote has open. It does nothing to the node.
func (r *Remote) Close() { r.client.CloseIdleConnections() }

// A dialError is a failure before anything was sent.
type dialError struct{ err error }

func (e *dialError) Error() string        { return ErrNotServed.Error() }
func (e *dialError) Is(target error) bool { return target == ErrNotServed }
func (e *dialError) Unwrap() error        { return e.err }

// dialer reaches the socket of a directory, or the address that is written there.
func dialer(dir string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		socket := filepath.Join(dir, socketName)
		if err := checkOwner(socket); err != nil {
			return nil, &dialError{err}
		}
		c, err := d.DialContext(ctx, "unix", socket)
		if err == nil {
			return c, nil
		}
		at, _, read := readAddress(dir)
		if read != nil {
			return nil, &dialError{err}
		}
		if c, err = d.DialContext(ctx, "tcp", at); err != nil {
			return nil, &dialError{err}
		}
		return c, nil
	}
}

// errOwner is about what somebody else put there, who may write to the directory: it is
// not told what the owner wants of a node.
var errOwner = errors.New("what answers in the node's directory is another user's")

// readAddress reads where the node of a directory listens without a socket.
func readAddress(dir string) (hostPort, token string, err error) {
	path := filepath.Join(dir, addressName)
	if err := checkOwner(path); err != nil {
		return "", "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	var at localAddress
	if err := json.Unmarshal(text, &at); err != nil {
		return "", "", fmt.Errorf("reading %s: %w", addressName, err)
	}
	u, err := url.Parse(at.URL)
	if err != nil || u.Hostname() != "127.0.0.1" {
		return "", "", fmt.Errorf("reading %s: want an address of this machine", addressName)
	}
	return u.Host, at.Token, nil
}

// ask calls an operation.
func ask[Out any](ctx context.Context, r *Remote, o *operation, in any) (out Out, err error) {
	text, err := json.Marshal(in)
	if err != nil {
		return out, &Error{Code: CodeBadRequest, Message: "the arguments of " + o.name + " cannot be written", err: err}
	}
	for {
		status, answer, err := r.post(ctx, o.name, text)
		switch {
		case ctx.Err() != nil:
			return out, ctx.Err()
		case err != nil || status == http.StatusServiceUnavailable && o.reads:
			lost := errors.Is(err, ErrNotServed) || o.reads // or it may have happened
			if r.again != nil && lost && r.again(ctx, err) == nil {
				continue
			}
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
		}
		switch {
		case errors.Is(err, ErrNotServed):
			return out, &Error{Code: CodeUnreachable, Message: ErrNotServed.Error(), err: err}
		case err != nil:
			return out, &Error{Code: CodeUnreachable, Message: "the node ended before it answered: it may have done what it was asked", err: err}
		case status == http.StatusNoContent && o.waits:
			continue
		case status != http.StatusOK:
			return out, readRefusal(answer)
		}
		if err := json.Unmarshal(answer, &out); err != nil {
			return out, &Error{Code: CodeInternal, Message: "the answer of the node to " + o.name + " cannot be read", err: err}
		}
		return out, nil
	}
}

func readRefusal(answer []byte) error {
	var e errorAnswer
	if err := json.Unmarshal(answer, &e); err != nil || e.Error == nil || e.Error.Code == "" {
		return &Error{Code: CodeInternal, Message: "what answers in the node's directory is no node", err: err}
	}
	return e.Error
}

func (r *Remote) post(ctx context.Context, name string, text []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://node"+localPrefix+name, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if _, token, err := readAddress(r.dir); err == nil {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, answer, err
}

// Self implements [API].
func (r *Remote) Self(ctx context.Context) (Self, error) { return ask[Self](ctx, r, opSelf, nothing{}) }

// Open implements [API].
func (r *Remote) Open(ctx context.Context, o Opening) (View, error) {
	return ask[View](ctx, r, opOpen, o)
}

// Invitation implements [API].
func (r *Remote) Invitation(ctx context.Context, id wire.SessionID, to wire.AgentID) (wire.Value, error) {
	return ask[wire.Value](ctx, r, opInvitation, invitationArgs{id, to})
}

// Invited implements [API].
func (r *Remote) Invited(ctx context.Context, invitation wire.Value) (Invitation, error) {
	return ask[Invitation](ctx, r, opInvited, invitedArgs{invitation})
}

// Invitations implements [API].
func (r *Remote) Invitations(ctx context.Context) ([]Invitation, error) {
	return ask[[]Invitation](ctx, r, opInvitations, nothing{})
}

// Join implements [API].
func (r *Remote) Join(ctx context.Context, id wire.SessionID) (View, error) {
	return ask[View](ctx, r, opJoin, ofSession{id})
}

// Decline implements [API].
func (r *Remote) Decline(ctx context.Context, id wire.SessionID) error {
	_, err := ask[nothing](ctx, r, opDecline, ofSession{id})
	return err
}

// Move implements [API].
func (r *Remote) Move(ctx context.Context, m Move) (View, error) { return ask[View](ctx, r, opMove, m) }

// Present implements [API].
func (r *Remote) Present(ctx context.Context, id wire.SessionID, artifact wire.Value) error {
	_, err := ask[nothing](ctx, r, opPresent, presentArgs{id, artifact})
	return err
}

// Sessions implements [API].
func (r *Remote) Sessions(ctx context.Context, f Filter) ([]Summary, error) {
	return ask[[]Summary](ctx, r, opSessions, f)
}

// Session implements [API].
func (r *Remote) Session(ctx context.Context, id wire.SessionID) (View, error) {
	return ask[View](ctx, r, opSession, ofSession{id})
}

// Wait implements [API].
func (r *Remote) Wait(ctx context.Context, id wire.SessionID, version uint64) (View, error) {
	return ask[View](ctx, r, opWait, waitArgs{id, version})
}

// Messages implements [API].
func (r *Remote) Messages(ctx context.Context, id wire.SessionID, from, most int) ([]wire.Value, error) {
	return ask[[]wire.Value](ctx, r, opMessages, messagesArgs{id, from, most})
}

// Document implements [API].
func (r *Remote) Document(ctx context.Context, id wire.SessionID) (wire.Value, error) {
	return ask[wire.Value](ctx, r, opDocument, ofSession{id})
}

// Export implements [API].
func (r *Remote) Export(ctx context.Context, id wire.SessionID, as session.Format) (wire.Value, error) {
	return ask[wire.Value](ctx, r, opExport, exportArgs{id, as})
}

// Receipts implements [API].
func (r *Remote) Receipts(ctx context.Context, id wire.SessionID) ([]wire.Value, error) {
	return ask[[]wire.Value](ctx, r, opReceipts, ofSession{id})
}

// Notices implements [API].
func (r *Remote) Notices(ctx context.Context, after uint64, most int) ([]Notice, error) {
	for {
		list, err := ask[[]Notice](ctx, r, opNotices, noticesArgs{after, most})
		if ctx.Err() != nil {
			return nil, nil
		}
		if err != nil || len(list) > 0 {
			return list, err
		}
	}
}

// Contacts implements [API].
func (r *Remote) Contacts(ctx context.Context) ([]Contact, error) {
	return ask[[]Contact](ctx, r, opContacts, nothing{})
}

// SetContact implements [API].
func (r *Remote) SetContact(ctx context.Context, c Contact) error {
	_, err := ask[nothing](ctx, r, opSetContact, c)
	return err
}

// RemoveContact implements [API].
func (r *Remote) RemoveContact(ctx context.Context, id wire.AgentID) error {
	_, err := ask[nothing](ctx, r, opRemoveContact, ofAgent{id})
	return err
}

// Needs implements [API].
func (r *Remote) Needs(ctx context.Context, m Move) ([]Need, error) {
	return ask[[]Need](ctx, r, opNeeds, m)
}

// Approve implements [API].
func (r *Remote) Approve(ctx context.Context, artifact wire.Value) error {
	_, err := ask[nothing](ctx, r, opApprove, approveArgs{artifact})
	return err
}
