package wire

import (
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/mr-tron/base58"
)

const didKeyPrefix = "did:key:z"

// The multicodec prefix of an Ed25519 public key.
const codecEd25519 = "\xed\x01"

// DIDKey returns the did:key of an Ed25519 key, in base58btc.
func DIDKey(k PublicKey) AgentID {
	return AgentID(didKeyPrefix + base58.Encode([]byte(codecEd25519+string(k.Bytes()))))
}

// ReferenceDIDKey returns the did:key of an Ed25519 key as the reference implementation
// spells it, with base64url after the z. Only the cosign lane writes it.
func ReferenceDIDKey(k PublicKey) AgentID {
	return AgentID(didKeyPrefix + base64.RawURLEncoding.EncodeToString([]byte(codecEd25519+string(k.Bytes()))))
}

// ParseDIDKey returns the key that a did:key names, in either spelling. Each key
// has one text per spelling; others are refused.
func ParseDIDKey(id AgentID) (PublicKey, error) {
	text, ok := strings.CutPrefix(string(id), didKeyPrefix)
	if !ok || len(text) > 64 {
		return PublicKey{}, RuleWeakKey.Because("", errDIDKeyForm)
	}
	// Both start with fixed characters, since the first two bytes are fixed.
	decode, encode := base58.Decode, DIDKey
	if strings.HasPrefix(text, "7Q") {
		decode, encode = base64.RawURLEncoding.DecodeString, ReferenceDIDKey
	}
	raw, err := decode(text)
	if err != nil || !strings.HasPrefix(string(raw), codecEd25519) {
		return PublicKey{}, RuleWeakKey.Because("", errDIDKeyForm)
	}
	k, err := ParsePublicKey(raw[len(codecEd25519):])
	if err != nil {
		return PublicKey{}, err
	}
	if encode(k) != id {
		return PublicKey{}, RuleWeakKey.Because("", errDIDKeyForm)
	}
	return k, nil
}

// PlainDIDKey returns a did:key that is spelled as the reference implementation does
// in base58btc, and any other id as it is: what is left equal names one agent. It
// looks at the spelling alone, not at the key.
func PlainDIDKey(id AgentID) AgentID {
	text, ok := strings.CutPrefix(string(id), didKeyPrefix)
	if !ok || len(text) > 64 || !strings.HasPrefix(text, "7Q") {
		return id
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || base64.RawURLEncoding.EncodeToString(raw) != text {
		return id
	}
	return AgentID(didKeyPrefix + base58.Encode(raw))
}

var errDIDKeyForm = errors.New("not the did:key of an Ed25519 key")

// DIDKeys knows the agents whose id is the did:key of their key, and the one key of
// such a DID by its DID URL, whose fragment repeats the key. Nothing needs to be
// trusted for it: such an id is the key.
type DIDKeys struct{}

// Key implements Keys.
func (DIDKeys) Key(agent AgentID, _ time.Time) (PublicKey, error) {
	if !strings.HasPrefix(string(agent), "did:key:") {
		return KeyMap(nil).Key(agent, time.Time{})
	}
	id, fragment, isURL := strings.Cut(string(agent), "#")
	k, err := ParseDIDKey(AgentID(id))
	if err == nil && isURL && "did:key:"+fragment != id {
		return KeyMap(nil).Key(agent, time.Time{})
	}
	return k, err
}
