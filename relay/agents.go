package relay

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// An Agent is a registered agent with the key that its id is bound to.
type Agent struct {
	ID  wire.AgentID
	key wire.PublicKey
}

// Key implements [wire.Keys]: an agent knows its own key.
func (a Agent) Key(id wire.AgentID, _ time.Time) (wire.PublicKey, error) {
	if wire.PlainDIDKey(id) == a.ID {
		return a.key, nil
	}
	return wire.PublicKey{}, wire.RuleUnknownKey.Because("", errOtherSender)
}

var errOtherSender = errors.New("it is not from the agent who sends it")

// challengeLife is how long a challenge can be answered.
const challengeLife = time.Minute

// A Challenge is what an agent signs to show that it has its key.
type Challenge struct {
	Relay   string
	Nonce   string
	Expires time.Time
}

// Challenge makes a challenge. The relay keeps nothing of it: the nonce proves itself
// that it was made here, and when.
func (m *Mailboxes) Challenge() (Challenge, error) {
	var chance [16]byte
	if _, err := io.ReadFull(m.opts.Random, chance[:]); err != nil {
		return Challenge{}, fmt.Errorf("making a challenge: %w", err)
	}
	expires := m.now().Truncate(time.Second).Add(challengeLife)
	b := append(binary.BigEndian.AppendUint64(nil, uint64(expires.Unix())), chance[:]...)
	return Challenge{m.relay.ID, base64.RawURLEncoding.EncodeToString(m.seal(b)), expires}, nil
}

// seal appends the relay's mark to b.
func (m *Mailboxes) seal(b []byte) []byte {
	mac := hmac.New(sha256.New, m.relay.Secret)
	mac.Write(b)
	return mac.Sum(b)
}

const nonceSize = 8 + 16 + sha256.Size

// checkNonce returns when a nonce that was made here expires.
func (m *Mailboxes) checkNonce(nonce string) (time.Time, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(nonce)
	if err != nil || len(b) != nonceSize || !hmac.Equal(b, m.seal(b[:8+16:8+16])) {
		return time.Time{}, refuse(CodeChallenge, "the nonce is none of this relay's")
	}
	return time.Unix(int64(binary.BigEndian.Uint64(b)), 0).UTC(), nil
}

// registration is the type of what an agent signs.
const registration = "concordia.relay.registration"

// Registration makes the answer to a challenge, at a time.
func (c Challenge) Registration(agent wire.AgentID, by wire.Signer, now time.Time) (wire.Value, error) {
	v, err := wire.Encode(wire.M{
		"type": registration, "relay": c.Relay, "nonce": c.Nonce, "timestamp": wire.FormatTime(now),
		"agent_id": agent, "public_key": by.Public().String(),
	})
	if err != nil {
		return v, err
	}
	sig, err := by.Sign([]byte(v.Canonical()))
	if err != nil {
		return v, fmt.Errorf("signing a registration: %w", err)
	}
	return v.With("signature", wire.Text(sig.String())), nil
}

// ruleRegistration names the shape of a registration. It is a rule of the relay's
// interface, not of the protocol.
var ruleRegistration = &wire.Rule{Section: "9.3.1", Name: "registration", Class: wire.ClassSchema, Text: "a registration has the members of one (RFC 0001)"}

// Register binds an agent's id to the key that signed the registration, if the id is
// new, and gives out a token. An id that is bound stays so: registering again with its
// key gives another token, and with another key nothing.
func (m *Mailboxes) Register(ctx context.Context, v wire.Value) (agent wire.AgentID, token string, err error) {
	r := wire.Read(v, "", ruleRegistration)
	r.Closed("type", "relay", "nonce", "timestamp", "agent_id", "public_key", "signature")
	r.OneOf("type", registration)
	relay, nonce, signed, text := r.Text("relay"), r.Text("nonce"), r.Time("timestamp"), r.Text("public_key")
	agent = wire.ReadID[wire.AgentID](r, "agent_id")
	signature := r.Text("signature")
	if err := r.Err(); err != nil {
		return "", "", rejected(err)
	}
	expires, err := m.checkNonce(nonce)
	now := m.now()
	switch {
	case err != nil:
		return "", "", err
	case relay != m.relay.ID:
		return "", "", refuse(CodeChallenge, "it is for another relay")
	case !now.Before(expires):
		return "", "", refuse(CodeChallenge, "the challenge is too old: ask for another")
	case signed.Before(now.Add(-wire.DefaultSkew)) || signed.After(now.Add(wire.DefaultSkew)):
		return "", "", refuse(CodeChallenge, "timestamp is too far from the relay's clock, which says "+wire.FormatTime(now))
	}
	public, err := wire.DecodePublicKey(text)
	if err == nil && public.Algorithm() != wire.EdDSA {
		err = errors.New("messages are signed with Ed25519")
	}
	if err != nil {
		return "", "", rejected(ruleRegistration.Because("/public_key", err))
	}
	if err := public.VerifyText(v.AppendWithout(nil, "signature"), signature); err != nil {
		return "", "", rejected(ruleRegistration.Because("/signature", err))
	}
	plain := wire.PlainDIDKey(agent)
	if strings.HasPrefix(string(plain), "did:key:") {
		if named, err := wire.ParseDIDKey(plain); err != nil || named != public {
			return "", "", refuse(CodeKeyConflict, "the did:key is of another key")
		}
	}
	token, hash, err := m.newToken()
	if err != nil {
		return "", "", err
	}
	err = m.driver.Update(ctx, func(tx Tx) error {
		// Relays that share the mail differ in their clocks, and this may have waited.
		used := key(keyNonce, moment(expires.Add(wire.DefaultSkew)), nonce)
		if tx.Get(used) != nil {
			return refuse(CodeChallenge, "the challenge was answered before")
		}
		var a agentRecord
		known, err := getJSON(tx, key(keyAgent, string(plain)), &a)
		switch {
		case err != nil:
			return err
		case known && a.Key != public.String():
			return refuse(CodeKeyConflict, "the id belongs to another key")
		case !known && !raise(tx, keyAgentCount, 1, m.opts.Limits.Agents):
			return quota("agents", "the relay has as many agents as it takes")
		case !known:
			if err := m.room(); err != nil {
				return err
			}
			a = agentRecord{Key: public.String(), Since: now}
		}
		tx.Put(used, []byte{})
		return m.putToken(tx, plain, &a, hash, now)
	})
	if err != nil {
		return "", "", err
	}
	return plain, token, nil
}

// newToken returns a token and what is kept of it.
func (m *Mailboxes) newToken() (token string, hash []byte, err error) {
	var chance [32]byte
	if _, err := io.ReadFull(m.opts.Random, chance[:]); err != nil {
		return "", nil, fmt.Errorf("making a token: %w", err)
	}
	token = base64.RawURLEncoding.EncodeToString(chance[:])
	return token, hashToken(token), nil
}

func hashToken(token string) []byte {
	h := sha256.Sum256([]byte("concordia relay token\x00" + token))
	return h[:]
}

// putToken adds a token to an agent's, in place of the oldest if there are too many.
func (m *Mailboxes) putToken(tx Tx, agent wire.AgentID, a *agentRecord, hash []byte, now time.Time) error {
	a.Tokens = append(a.Tokens, tokenRecord{hash, now})
	for int64(len(a.Tokens)) > m.opts.Limits.Tokens {
		tx.Delete(key(keyToken, string(a.Tokens[0].Hash)))
		a.Tokens = a.Tokens[1:]
	}
	tx.Put(key(keyToken, string(hash)), []byte(agent))
	return putJSON(tx, key(keyAgent, string(agent)), a)
}

var errToken = refuse(CodeUnauthenticated, "the token does not count: register for another")

// Authenticate returns whose token it is.
func (m *Mailboxes) Authenticate(ctx context.Context, token string) (Agent, error) {
	var id wire.AgentID
	var a agentRecord
	err := m.driver.View(ctx, func(r Reader) error {
		id = wire.AgentID(r.Get(key(keyToken, string(hashToken(token)))))
		known, err := getJSON(r, key(keyAgent, string(id)), &a)
		if err == nil && !known {
			err = errToken
		}
		return err
	})
	if err != nil {
		return Agent{}, err
	}
	public, err := wire.DecodePublicKey(a.Key)
	if err != nil {
		return Agent{}, fmt.Errorf("reading the key of an agent: %w", errDamaged)
	}
	return Agent{id, public}, nil
}

// Rotate gives out a token in place of another one.
func (m *Mailboxes) Rotate(ctx context.Context, agent wire.AgentID, token string) (string, error) {
	fresh, hash, err := m.newToken()
	if err != nil {
		return "", err
	}
	now := m.now()
	err = m.tokens(ctx, agent, token, func(tx Tx, a *agentRecord) error {
		return m.putToken(tx, agent, a, hash, now)
	})
	if err != nil {
		return "", err
	}
	return fresh, nil
}

// Revoke makes a token worthless, or all of an agent's.
func (m *Mailboxes) Revoke(ctx context.Context, agent wire.AgentID, token string, all bool) error {
	return m.tokens(ctx, agent, token, func(tx Tx, a *agentRecord) error {
		if all {
			for _, t := range a.Tokens {
				tx.Delete(key(keyToken, string(t.Hash)))
			}
			a.Tokens = nil
		}
		return putJSON(tx, key(keyAgent, string(agent)), a)
	})
}

// tokens takes a token from an agent and does more with those that are left.
func (m *Mailboxes) tokens(ctx context.Context, agent wire.AgentID, token string, do func(Tx, *agentRecord) error) error {
	hash := hashToken(token)
	return m.driver.Update(ctx, func(tx Tx) error {
		var a agentRecord
		known, err := getJSON(tx, key(keyAgent, string(agent)), &a)
		i := slices.IndexFunc(a.Tokens, func(t tokenRecord) bool { return string(t.Hash) == string(hash) })
		switch {
		case err != nil:
			return err
		case !known || i < 0:
			return errToken
		}
		a.Tokens = slices.Delete(a.Tokens, i, i+1)
		tx.Delete(key(keyToken, string(hash)))
		return do(tx, &a)
	})
}
