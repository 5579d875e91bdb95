package relay

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// status is the HTTP status of each code.
var status = map[Code]int{
	CodeBadRequest: http.StatusBadRequest, CodeUnauthenticated: http.StatusUnauthorized, CodeChallenge: http.StatusForbidden,
	CodeKeyConflict: http.StatusConflict, CodeNotFound: http.StatusNotFound, CodeSessionTaken: http.StatusConflict,
	CodeNotActive: http.StatusConflict, CodeEnded: http.StatusConflict, CodeDeclined: http.StatusConflict,
	CodeChainConflict: http.StatusConflict, CodeIDConflict: http.StatusConflict, CodeOutdated: http.StatusConflict, CodeRejected: http.StatusUnprocessableEntity,
	CodeQuota: http.StatusTooManyRequests, CodeRate: http.StatusTooManyRequests,
	CodeUnavailable: http.StatusServiceUnavailable, CodeInternal: http.StatusInternalServerError,
}

// refusal returns what of an error is shown to whoever asked. What is no [*Error] is
// the relay's own trouble and shows nothing of itself.
func refusal(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Error{Code: CodeUnavailable, Message: "the request was broken off", RetryAfter: time.Second}
	}
	return &Error{Code: CodeInternal, Message: "the relay could not: try again later"}
}

// seconds returns a wait in whole seconds, rounded up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// members returns the error as RFC 0001 has it.
func (e *Error) members() wire.M {
	m := wire.M{"code": e.Code, "message": e.Message}
	if v := e.Violation; v != nil {
		if e.Message == "" {
			m["message"] = v.Error()
		}
		m["rule"], m["section"], m["at"] = v.Rule.Name, v.Rule.Section, v.At
	}
	if e.Limit != "" {
		m["limit"] = e.Limit
	}
	if e.RetryAfter > 0 {
		m["retry_after"] = seconds(e.RetryAfter)
	}
	if e.Tip != nil {
		m["tip"], m["messages"], m["length"] = e.Tip.Tip, e.Tip.Len, e.Length
	}
	return m
}

// appendError appends {"error": …} without the braces.
func appendError(dst []byte, e *Error) []byte {
	v, err := wire.Encode(e.members())
	if err != nil { // a text that is no UTF-8
		v, _ = wire.Encode(wire.M{"code": e.Code, "message": ""})
	}
	return append(append(dst, `"error":`...), v.Canonical()...)
}

// appendObject appends an object of small members.
func appendObject(dst []byte, m wire.M) ([]byte, error) {
	v, err := wire.Encode(m)
	return append(dst, v.Canonical()...), err
}

// appendText appends a string.
func appendText(dst []byte, s string) []byte { return append(dst, wire.Text(s).Canonical()...) }

// appendMembers appends the members of m, without braces.
func appendMembers(dst []byte, m wire.M) ([]byte, error) {
	v, err := wire.Encode(m)
	if err != nil {
		return dst, err
	}
	text := v.Canonical()
	return append(dst, text[1:len(text)-1]...), nil
}

// sessionMembers returns a session as an agent may see it.
func (m *Mailboxes) sessionMembers(s SessionInfo, agent wire.AgentID) wire.M {
	state := m.stateOf(&s)
	v := wire.M{
		"session_id": s.Session, "state": state, "parties": s.Parties, "places": s.Places,
		"created_at": wire.FormatTime(s.Created), "expires_at": wire.FormatTime(s.Expires),
	}
	if s.Category != "" {
		v["category"] = s.Category
	}
	if state == "ended" {
		v["ended_at"], v["why"] = wire.FormatTime(s.Ended), string(s.Why)
	}
	for _, p := range s.Parties {
		if p.Agent == agent && p.Standing == Joined {
			v["length"], v["cursor"] = s.Length, s.Cursor
		}
	}
	return v
}

func invitationMembers(i Invitation) wire.M {
	v := wire.M{"session_id": i.Session, "from": i.From, "created_at": wire.FormatTime(i.Created), "expires_at": wire.FormatTime(i.Expires)}
	if i.Category != "" {
		v["category"] = i.Category
	}
	return v
}

// appendEntry appends the members of an entry, without braces. The entry itself goes
// out as it was appended.
func appendEntry(dst []byte, session wire.SessionID, e *UnverifiedEntry) []byte {
	dst = appendPlace(dst, session, e)
	return append(append(dst, `,"entry":`...), e.Text...)
}

// appendOwn appends the members of an entry for the agent who sent it and has it.
func appendOwn(dst []byte, session wire.SessionID, e *UnverifiedEntry) []byte {
	dst = appendPlace(dst, session, e)
	dst = append(append(dst, `,"own":{"id":`...), e.id...)
	dst = appendText(append(dst, `,"hash":`...), wire.HashOf(string(e.Text)).String())
	return append(dst, '}')
}

func appendPlace(dst []byte, session wire.SessionID, e *UnverifiedEntry) []byte {
	dst = appendText(append(dst, `"session_id":`...), string(session))
	dst = strconv.AppendUint(append(dst, `,"number":`...), e.Number, 10)
	dst = appendText(append(dst, `,"from":`...), string(e.Sender))
	return appendText(append(dst, `,"appended_at":`...), wire.FormatTime(e.Appended))
}
