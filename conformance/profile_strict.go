package conformance

import (
	"encoding/base64"
	"errors"

	"github.com/concordia-node/concordia/wire"
)

// The strict profiles are this project's own: all that the product demands of a
// kind of artifact, with the context of a case (SPEC §12.3, §12.5). The public
// contract has nothing for some of these kinds and less for the others.
func strictProfiles() map[string]profile {
	all := map[string]profile{
		"json-strict-v1":      {jsonText, []string{"text", "canonical"}},
		"signature-strict-v1": {signedText, []string{"members", "key", "signature"}},
	}
	for kind := range judges {
		all[StrictProfile(kind)] = profile{strictKind(kind), []string{"strict"}}
	}
	return all
}

// StrictProfile returns the name of the strict profile of a kind of artifact.
func StrictProfile(kind string) string { return kind + "-strict-v1" }

// strictKind judges an artifact as a case is judged.
func strictKind(name string) kind {
	return ownKind(map[string]func(Question) error{
		"strict": func(q Question) error {
			s, err := q.subject()
			if err != nil {
				return err
			}
			report, err := JudgeAs(name, s)
			if err != nil {
				return err
			}
			return report.Err()
		},
	})
}

// subject returns what a question of a strict profile is about.
func (q Question) subject() (Subject, error) {
	now, err := q.now()
	if err != nil {
		return Subject{}, err
	}
	keys := make(caseKeys)
	listed, _ := q.Context.Get("public_keys")
	for id, v := range listed.Members() {
		keys[wire.AgentID(id)] = v.Text()
	}
	return Subject{Artifact: q.Input, Keys: keys, Now: now, Context: q.Context, Told: true}, nil
}

var (
	ruleText = &wire.Rule{Section: "12.5", Name: "json-text", Class: wire.ClassSchema, Text: "a JSON text is given as text, or as base64 of its bytes"}

	errOneText = errors.New("want text or base64")
)

// jsonText is {"text": …} or {"base64": …}: a JSON text that a vector could not
// hold as it stands, because not every reader of vectors would read it alike.
var jsonText = ownKind(map[string]func(Question) error{
	"text": func(q Question) error { _, err := q.jsonText(); return err },
	"canonical": func(q Question) error {
		v, err := q.jsonText()
		if err != nil {
			return err
		}
		return q.expectDigest(v, "canonical_sha256")
	},
})

func (q Question) jsonText() (wire.Value, error) {
	text, isText := q.Input.Get("text")
	coded, isCoded := q.Input.Get("base64")
	if isText == isCoded || isText && text.Kind() != wire.String || isCoded && coded.Kind() != wire.String {
		return wire.Value{}, ruleText.Because("", errOneText)
	}
	data := []byte(text.Text())
	if isCoded {
		var err error
		if data, err = base64.StdEncoding.DecodeString(coded.Text()); err != nil {
			return wire.Value{}, ruleText.Because("/base64", err)
		}
	}
	return wire.Parse(data, wire.Limits{Size: wire.MaxMessageSize, Depth: wire.MaxDepth})
}

// signedText is one signature: of the bytes of a text, under a key.
var signedText = ownKind(map[string]func(Question) error{
	"members": func(q Question) error { _, err := q.signedText(); return err },
	"key":     func(q Question) error { _, err := q.signedKey(); return err },
	"signature": func(q Question) error {
		r, err := q.signedText()
		if err != nil {
			return err
		}
		key, err := q.signedKey()
		if err != nil {
			return err
		}
		if wire.Algorithm(r.Text("algorithm")) != key.Algorithm() {
			return wire.RuleSignature.At("/algorithm")
		}
		if err := key.VerifyText([]byte(r.Text("message")), r.Text("signature")); err != nil {
			rule := wire.RuleSignature
			if errors.Is(err, wire.ErrBase64) {
				rule = wire.RuleSignatureForm
			}
			return rule.Because("/signature", err)
		}
		return nil
	},
})

var ruleSigned = &wire.Rule{Section: "12.5", Name: "signed-text", Class: wire.ClassSchema, Text: "a signature is given with its message, key and algorithm"}

func (q Question) signedText() (wire.Reader, error) {
	r := wire.Read(q.Input, "", ruleSigned)
	for _, name := range []string{"message", "public_key", "signature"} {
		r.Text(name)
	}
	r.OneOf("algorithm", string(wire.EdDSA), string(wire.ES256))
	return r, r.Err()
}

func (q Question) signedKey() (wire.PublicKey, error) {
	text, _ := q.Input.Get("public_key")
	return wire.DecodePublicKey(text.Text())
}
