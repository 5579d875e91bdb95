package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/internal/outbound"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

func refuse(code Code, text string) *Error { return &Error{Code: code, Message: text} }

// failed makes an *Error of whatever went wrong, and passes on that a context was done.
func (n *Node) failed(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		if _, byRelay := errors.AsType[*relay.Error](err); !byRelay {
			return broken(v, err)
		}
	}
	refused, isRefusal := errors.AsType[*relay.Error](err)
	_, misbehaves := errors.AsType[*relay.Misconduct](err)
	switch {
	case errors.Is(err, errStopping), errors.Is(err, groupcommit.ErrClosed):
		return &Error{Code: CodeClosed, Message: errStopping.Error(), err: err}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, errNoSession):
		return &Error{Code: CodeNotFound, Message: errNoSession.Error(), err: err}
	case errors.Is(err, session.ErrNotAgreed), errors.Is(err, session.ErrNotConcluded):
		return &Error{Code: CodeNotAgreed, Message: err.Error(), err: err}
	case misbehaves:
		return &Error{Code: CodeMisconduct, Message: "the relay of the session misbehaves", err: err}
	case isRefusal:
		return ofRelay(refused, err)
	}
	if e, ok := errors.AsType[*outbound.Error](err); ok {
		return &Error{Code: CodeUnreachable, Message: e.Error(), err: err}
	}
	for _, known := range []error{
		session.ErrNoPrice, session.ErrNoExpiry, session.ErrNoMeans, session.ErrFraction, session.ErrQuantity, session.ErrFormat, errCarriers, errNoOwn,
	} {
		if errors.Is(err, known) {
			return &Error{Code: CodeBadRequest, Message: known.Error(), err: err}
		}
	}
	n.log.Error("the node could not do what it was asked", "why", kindOf(err))
	return &Error{Code: CodeInternal, Message: "the node could not: its log says why", err: err}
}

// broken tells which rule was broken, and what would have been allowed. What the rule
// says of the data is left out: it may repeat terms.
func broken(v *wire.Violation, err error) *Error {
	e := &Error{
		Code: CodeRule, Message: fmt.Sprintf("%s (SPEC §%s)", v.Rule.Text, v.Rule.Section), err: err,
		Rule: &RuleView{Section: v.Rule.Section, Name: v.Rule.Name, Class: v.Rule.Class, At: v.At},
	}
	if r, ok := errors.AsType[*session.Refusal](err); ok {
		e.State, e.Moves = r.State, r.Moves
	}
	return e
}

func ofRelay(r *relay.Error, err error) *Error {
	e := &Error{Code: CodeRefused, Message: "the relay refuses: " + word(string(r.Code)), Limit: word(r.Limit), RetryAfter: int(r.RetryAfter / time.Second), err: err}
	if e.Limit != "" {
		e.Message += " (" + e.Limit + ")"
	}
	switch r.Code {
	case relay.CodeNotFound:
		e.Code, e.Message = CodeNotFound, "the relay knows of no such session that is for this agent"
	case relay.CodeEnded:
		e.Code, e.Message = CodeEnded, "the session has ended at its relay"
	case relay.CodeRate, relay.CodeUnavailable, relay.CodeInternal:
		e.Code = CodeUnreachable
	case relay.CodeRejected:
		if r.Violation != nil {
			e.Rule = &RuleView{Section: word(r.Violation.Rule.Section), Name: word(r.Violation.Rule.Name), Class: r.Violation.Rule.Class, At: r.Violation.At}
		}
	}
	return e
}

// word returns the name of a code, a limit or a rule as a relay says it, or nothing if it
// is no name: errors do not repeat what others wrote.
func word(s string) string {
	const most = 64
	if len(s) > most || strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.'
	}) {
		return ""
	}
	return s
}

// kindOf says of an error what a log may have: which rule, which refusal, what kind of
// trouble. Its text may repeat what somebody wrote.
func kindOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return string(e.Code)
	}
	if e, ok := errors.AsType[*relay.Error](err); ok {
		return "the relay refuses: " + string(e.Code)
	}
	if m, ok := errors.AsType[*relay.Misconduct](err); ok {
		return "the relay misbehaves: " + string(m.Kind)
	}
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		return "rule " + v.Rule.Name
	}
	if e, ok := errors.AsType[*outbound.Error](err); ok {
		return e.Error()
	}
	if _, ok := errors.AsType[*groupcommit.CorruptError](err); ok {
		return "the database is damaged"
	}
	for _, known := range []error{
		errStopping, errNoSession, errRelayID, errNoOwn, errCarriers, errFuture, errReceipt,
		context.Canceled, context.DeadlineExceeded, groupcommit.ErrClosed, groupcommit.ErrFailed, groupcommit.ErrLocked,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return fmt.Sprintf("%T", rootOf(err))
}

func rootOf(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
