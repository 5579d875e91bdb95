package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// Sizes of what a relay may send.
const (
	maxFrame      = 4 << 20   // a page of the log is about 1 MiB, and has one entry at least
	maxTranscript = 128 << 20 // twice what a session may have
)

// RuleAnswer is what a relay breaks that does not speak RFC 0001.
var RuleAnswer = &wire.Rule{Section: "9.3.1", Name: "answer", Class: wire.ClassSchema, Text: "what a relay sends has the form of RFC 0001"}

// call makes one attempt at an operation, over the websocket if there is one. It fails
// with an *Error if the relay refuses.
func (c *Client) call(ctx context.Context, op string, body wire.M) (wire.Value, error) {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l != nil {
		return l.call(ctx, op, body)
	}
	return c.post(ctx, op, body, maxFrame)
}

// Call asks for an operation that the relay has beside those of RFC 0001, and tries until
// there is an answer, or a refusal that time does not change, an *Error. The answer is the
// relay's word.
func (c *Client) Call(ctx context.Context, op string, request wire.M) (wire.Value, error) {
	return c.insist(ctx, op, request)
}

// insist is call until there is an answer, or a refusal that time does not change.
func (c *Client) insist(ctx context.Context, op string, body wire.M) (wire.Value, error) {
	for n := 0; ; n++ {
		v, err := c.call(ctx, op, body)
		if !isPassing(err) {
			return v, err
		}
		if paused := c.pause(ctx, n, putOff(err), true); paused != nil {
			return v, fmt.Errorf("calling %s: %w, after %w", op, paused, err)
		}
	}
}

// isPassing reports whether an error may not come again.
func isPassing(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, RuleAnswer) || errors.Is(err, errOtherRelay) || errors.Is(err, errUnsayable) {
		return false
	}
	switch e, ok := errors.AsType[*Error](err); {
	case !ok:
		return true
	default:
		return e.Code == CodeRate || e.Code == CodeUnavailable || e.Code == CodeInternal
	}
}

// post makes an operation over HTTP, and registers if the token does not count.
func (c *Client) post(ctx context.Context, op string, body wire.M, most int) (wire.Value, error) {
	token, err := c.authenticate(ctx, "")
	if err != nil {
		return wire.Value{}, err
	}
	v, err := c.postAs(ctx, op, body, token, most)
	if CodeOf(err) != CodeUnauthenticated {
		return v, err
	}
	if token, err = c.authenticate(ctx, token); err != nil {
		return wire.Value{}, err
	}
	return c.postAs(ctx, op, body, token, most)
}

func (c *Client) postAs(ctx context.Context, op string, body any, token string, most int) (wire.Value, error) {
	text, err := wire.Encode(body)
	if err != nil {
		return text, fmt.Errorf("calling %s: %w: %w", op, errUnsayable, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.Timing.Call, errNoAnswer)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url.JoinPath("v1", op).String(), bytes.NewReader([]byte(text.Canonical())))
	if err != nil {
		return text, fmt.Errorf("calling %s: %w", op, err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return wire.Value{}, fmt.Errorf("calling %s: %w", op, err)
	}
	defer res.Body.Close()
	return readResponse(ctx, op, res, most)
}

// readResponse reads an answer over HTTP.
func readResponse(ctx context.Context, op string, res *http.Response, most int) (wire.Value, error) {
	data, err := io.ReadAll(io.LimitReader(res.Body, int64(most)+1))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return wire.Value{}, fmt.Errorf("calling %s: %w", op, err)
	}
	v, err := wire.Parse(data, frameLimits(most))
	switch refused, ok := v.Get("error"); {
	case err == nil && res.StatusCode == http.StatusOK && v.Kind() == wire.Object:
		return v, nil
	case err == nil && ok:
		return wire.Value{}, readRefusal(refused)
	case res.StatusCode == http.StatusOK:
		return wire.Value{}, fmt.Errorf("calling %s: %w", op, RuleAnswer.Because("", err))
	case res.StatusCode == http.StatusUnauthorized:
		return wire.Value{}, errToken
	}
	return wire.Value{}, fmt.Errorf("calling %s: the answer is HTTP %d", op, res.StatusCode)
}

func frameLimits(size int) wire.Limits {
	return wire.Limits{Size: size, Depth: wire.MaxDepth + wire.WrapperDepth, Values: size / 16}
}

// maxRetryAfter bounds for how long a relay can put a client off.
const maxRetryAfter = 5 * time.Minute

// readRefusal reads the member "error" of an answer.
func readRefusal(v wire.Value) error {
	r := wire.Read(v, "/error", RuleAnswer)
	e := &Error{Code: Code(r.Text("code")), Message: clip(r.OptText("message")), Limit: clip(r.OptText("limit"))}
	e.RetryAfter = min(maxRetryAfter, time.Duration(r.OptInt("retry_after", 0, 1<<30, 0))*time.Second)
	if e.Code == CodeChainConflict {
		e.Tip = &wire.TipError{Tip: r.Hash("tip"), Len: int(r.Int("messages", 0, wire.MaxSafeInteger))}
		e.Length = uint64(r.Int("length", 0, wire.MaxSafeInteger))
		e.Violation = wire.RulePrevHash.Because("/prev_hash", e.Tip)
	}
	if rule := r.OptText("rule"); rule != "" {
		e.Violation = ruleNamed(clip(r.OptText("section")), clip(rule)).At(clip(r.OptText("at")))
	}
	if err := r.Err(); err != nil {
		return err
	}
	return e
}

// ruleNamed returns the rule of that name, or a new one: the relay may know more rules.
func ruleNamed(section, name string) *wire.Rule {
	for _, rule := range slices.Concat(wire.Rules(), []*wire.Rule{RuleEnclosure, RuleEnclosureSignature, ruleRegistration}) {
		if rule.Name == name && rule.Section == section {
			return rule
		}
	}
	return &wire.Rule{Section: section, Name: name}
}

// clip bounds what a relay says to people.
func clip(s string) string {
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "..."
	}
	return s
}

var (
	errNoAnswer   = errors.New("the relay does not answer")
	errOtherRelay = errors.New("the relay says that it is another")
	errUnsayable  = errors.New("JSON cannot say it") // a text that is not UTF-8
)

// authenticate returns a token other than one that does not count: the one that is
// kept, or after registering a new one.
func (c *Client) authenticate(ctx context.Context, stale string) (string, error) {
	c.registering.Lock()
	defer c.registering.Unlock()
	c.mu.Lock()
	token := c.token
	c.mu.Unlock()
	if token == "" && c.opts.Tokens != nil {
		var err error
		if token, err = c.opts.Tokens.Token(ctx); err != nil {
			return "", fmt.Errorf("reading the token for a relay: %w", err)
		}
	}
	if token == "" || token == stale {
		var err error
		if token, err = c.register(ctx); err != nil {
			return "", err
		}
		return token, c.setToken(ctx, token)
	}
	c.mu.Lock()
	c.token = token
	c.mu.Unlock()
	return token, nil
}

func (c *Client) setToken(ctx context.Context, token string) error {
	c.mu.Lock()
	c.token = token
	c.mu.Unlock()
	if c.opts.Tokens == nil {
		return nil
	}
	if err := c.opts.Tokens.SetToken(ctx, token); err != nil {
		return fmt.Errorf("keeping the token for a relay: %w", err)
	}
	return nil
}

// register answers a challenge, and returns a token.
func (c *Client) register(ctx context.Context) (string, error) {
	v, err := c.postAs(ctx, "challenge", wire.M{}, "", maxFrame)
	if err != nil {
		return "", err
	}
	r := wire.Read(v, "", RuleAnswer)
	challenge := Challenge{Relay: r.Text("relay"), Nonce: r.Text("nonce"), Expires: r.Time("expires_at")}
	if err := r.Err(); err != nil {
		return "", fmt.Errorf("calling challenge: %w", err)
	}
	c.mu.Lock()
	known := c.relay
	if known == "" {
		c.relay = challenge.Relay
	}
	c.mu.Unlock()
	if known != "" && known != challenge.Relay {
		return "", fmt.Errorf("registering: %w: %q, and not %q", errOtherRelay, clip(challenge.Relay), clip(known))
	}
	if c.opts.Trust != nil {
		if err := c.opts.Trust(ctx, challenge.Relay); err != nil {
			return "", fmt.Errorf("registering: %w: %w", errOtherRelay, err)
		}
	}
	answer, err := challenge.Registration(c.opts.Agent, c.opts.Signer, c.opts.Now())
	if err != nil {
		return "", err
	}
	if v, err = c.postAs(ctx, "register", answer, "", maxFrame); err != nil {
		return "", err
	}
	r = wire.Read(v, "", RuleAnswer)
	token := r.Text("token")
	if err := checkToken(token); err != nil {
		r.Fail("token", err)
	}
	return token, r.Err()
}

// checkToken keeps what is no token out of headers.
func checkToken(token string) error {
	if token == "" || len(token) > 1024 || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return errors.New("want 1 to 1024 printable characters")
	}
	return nil
}
