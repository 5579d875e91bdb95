package wire

// The rules of JSON (SPEC §9.2.1).
var (
	RuleSize      = &Rule{Section: "9.2.1", Name: "json-size", Class: ClassSchema, Text: "the text is no longer, and has no more values, than the reader's limits"}
	RuleDepth     = &Rule{Section: "9.2.1", Name: "json-depth", Class: ClassSchema, Text: "objects and arrays nest at most 64 deep"}
	RuleSyntax    = &Rule{Section: "9.2.1", Name: "json-syntax", Class: ClassSchema, Text: "the text is one JSON value and nothing else"}
	RuleUnicode   = &Rule{Section: "9.2.1", Name: "json-unicode", Class: ClassSchema, Text: "the text is UTF-8 without lone surrogates"}
	RuleDuplicate = &Rule{Section: "9.2.1", Name: "json-duplicate", Class: ClassSchema, Text: "no object has two members of one name"}
	RuleNumber    = &Rule{Section: "9.2.1", Name: "json-number", Class: ClassSchema, Text: "every number means the same to every reader"}
)

// The rules of the envelope (SPEC §4.1, §4.2).
var (
	RuleEnvelope    = &Rule{Section: "4.1", Name: "envelope", Class: ClassSchema, Text: "a message has the required members, each well-formed"}
	RuleVersion     = &Rule{Section: "4.1", Name: "protocol-version", Class: ClassSchema, Text: "concordia is a version 0.y.z"}
	RuleMessageType = &Rule{Section: "4.2", Name: "message-type", Class: ClassSchema, Text: "type is one of the fourteen message types"}
)

// The rules of identity and signature (SPEC §9.1, §9.2).
var (
	RuleWeakKey       = &Rule{Section: "9.1", Name: "key-form", Class: ClassSignature, Text: "a public key is an Ed25519 key, canonically encoded and not of small order, or a P-256 point"}
	RuleUnknownKey    = &Rule{Section: "9.1", Name: "key-unknown", Class: ClassSignature, Text: "the verifier has been given the signer's key"}
	RuleSignatureForm = &Rule{Section: "9.2", Name: "signature-form", Class: ClassSignature, Text: "a signature is padded base64url in its one canonical spelling"}
	RuleSignature     = &Rule{Section: "9.2", Name: "signature", Class: ClassSignature, Text: "the signature is the sender's over the canonical message without its signature"}
)

// The rules of admission to a transcript (SPEC §9.3, §5.3).
var (
	RuleSession    = &Rule{Section: "9.3", Name: "session", Class: ClassBinding, Text: "session_id names the session the message is put into"}
	RuleMessageID  = &Rule{Section: "9.3", Name: "message-id", Class: ClassBinding, Text: "no earlier message of the session has this id"}
	RulePrevHash   = &Rule{Section: "9.3", Name: "prev-hash", Class: ClassBinding, Text: "prev_hash is the hash of the message before"}
	RuleFuture     = &Rule{Section: "5.3", Name: "timestamp-future", Class: ClassTemporal, Text: "timestamp is not beyond now and the clock skew"}
	RuleBackdated  = &Rule{Section: "5.3", Name: "timestamp-backdated", Class: ClassTemporal, Text: "timestamp is not before the session clock, or at admission now, less the clock skew"}
	RuleMessageTTL = &Rule{Section: "4.1", Name: "message-ttl", Class: ClassTemporal, Text: "the message is admitted before its ttl has passed"}
)

// Rules lists the rules of this package in the order of SPEC.md.
func Rules() []*Rule {
	return []*Rule{
		RuleEnvelope, RuleVersion, RuleMessageTTL, RuleMessageType,
		RuleFuture, RuleBackdated,
		RuleWeakKey, RuleUnknownKey, RuleSignatureForm, RuleSignature,
		RuleSize, RuleDepth, RuleSyntax, RuleUnicode, RuleDuplicate, RuleNumber,
		RuleSession, RuleMessageID, RulePrevHash,
	}
}
