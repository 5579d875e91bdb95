package relay

import (
	"errors"
	"fmt"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A Code says what kind of refusal an [Error] is. Codes are interface: they are added,
// never changed.
type Code string

// The codes of refusals.
const (
	CodeBadRequest      Code = "bad_request"     // it is not a request of RFC 0001
	CodeUnauthenticated Code = "unauthenticated" // no token, or none that counts
	CodeChallenge       Code = "challenge"       // an answer to no challenge, or to an old one
	CodeKeyConflict     Code = "key_conflict"    // the id belongs to another key
	CodeNotFound        Code = "not_found"       // there is none, or none that the agent may know of
	CodeSessionTaken    Code = "session_taken"   // the id is in use
	CodeNotActive       Code = "not_active"      // nobody else has joined yet
	CodeEnded           Code = "session_ended"   // closed, declined or expired
	CodeDeclined        Code = "declined"        // the agent has declined before
	CodeChainConflict   Code = "chain_conflict"  // another message came first
	CodeIDConflict      Code = "id_conflict"     // another message or enclosure has the id
	CodeOutdated        Code = "outdated"        // something newer is there, or was
	CodeRejected        Code = "rejected"        // it breaks a rule
	CodeQuota           Code = "quota"           // it exceeds the limit that Limit names
	CodeRate            Code = "rate"            // too fast; RetryAfter says when
	CodeUnavailable     Code = "unavailable"     // the relay is stopping
	CodeInternal        Code = "internal"        // the relay could not; its log says why
)

// An Error is a refusal: nothing has changed.
type Error struct {
	Code       Code
	Message    string
	Limit      string          // of CodeQuota: the published limit
	RetryAfter time.Duration   // of CodeRate and CodeUnavailable
	Violation  *wire.Violation // of CodeRejected and CodeChainConflict
	Tip        *wire.TipError  // of CodeChainConflict: where the chain of messages ends
	Length     uint64          // of CodeChainConflict: how many entries the log has
}

func (e *Error) Error() string {
	switch {
	case e.Limit != "":
		return fmt.Sprintf("%s: %s (limit %s)", e.Code, e.Message, e.Limit)
	case e.Violation != nil && e.Message == "":
		return fmt.Sprintf("%s: %v", e.Code, e.Violation)
	}
	return string(e.Code) + ": " + e.Message
}

// Unwrap returns the broken rule, if there is one.
func (e *Error) Unwrap() error {
	if e.Violation == nil {
		return nil
	}
	return e.Violation
}

func refuse(code Code, message string) error { return &Error{Code: code, Message: message} }

func quota(limit, message string) error {
	return &Error{Code: CodeQuota, Message: message, Limit: limit}
}

// rejected makes an Error of a broken rule, and returns other errors as they are.
func rejected(err error) error {
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		return &Error{Code: CodeRejected, Violation: v}
	}
	return err
}

// CodeOf returns the code of a refusal, and CodeInternal for other errors.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

var errWord = errors.New("want at most 64 lower-case letters, digits, dots, hyphens and underscores")

// isWord reports whether s may be a category or a kind: no free text.
func isWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
