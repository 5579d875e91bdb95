package a2a

import (
	"errors"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// What a data part of the extension says about itself (SPEC §10.1).
const (
	ExtensionURI  = "https://concordiaprotocol.dev/a2a-ext/negotiation/v1"
	PartType      = ExtensionURI + "#envelope"
	EnclosureType = ExtensionURI + "#enclosure" // in place of PartType
	PartVersion   = "1"
	SchemaURI     = ExtensionURI + "/schema/data-part.json"
	MediaType     = "application/vnd.concordia.negotiation+json"
)

// MaxPartSize bounds a part in bytes: a message, and what other extensions add.
const MaxPartSize = wire.MaxMessageSize + 64<<10

var partLimits = wire.Limits{Size: MaxPartSize, Depth: wire.MaxDepth + wire.WrapperDepth}

// The rules of the carrier. A refusal says nothing that comes from the part: its
// texts and pointers are fixed.
var (
	RuleInactive = &wire.Rule{Section: "10.1", Name: "a2a-inactive", Class: wire.ClassBinding, Text: "a part counts only while the extension is active"}
	RulePart     = &wire.Rule{Section: "10.1", Name: "a2a-part", Class: wire.ClassSchema, Text: "a part has data and metadata of the extension and no other content"}
	RuleTaskIDs  = &wire.Rule{Section: "10.1", Name: "a2a-task-ids", Class: wire.ClassSchema, Text: "ids of A2A stay outside the signed message"}
)

// Rules lists the rules of this package.
func Rules() []*wire.Rule { return []*wire.Rule{RuleInactive, RulePart, RuleTaskIDs} }

var (
	errNotObject = errors.New("want an object")
	errMembers   = errors.New("want exactly its members")
	errValue     = errors.New("not the value of this extension")
	errContent   = errors.New("other content beside data")
	errCase      = errors.New("a member differs only in case from one of the part")
	errUnread    = errors.New("the part cannot be read")
)

// taskIDs are ids of A2A in its own spelling and in that of Python programs.
var taskIDs = []string{"taskId", "contextId", "task_id", "context_id"}

// Wrap returns a message as a part.
func Wrap(m *wire.Message) (wire.Value, error) {
	if err := checkTaskIDs(m.Value()); err != nil {
		return wire.Value{}, err
	}
	return wrap(wire.M{"type": PartType, "version": PartVersion, "envelope": m.Value()})
}

// WrapEnclosure returns a signed enclosure, such as an invitation, as a part (SPEC §9.3.1).
func WrapEnclosure(enclosure wire.Value) (wire.Value, error) {
	return wrap(wire.M{"type": EnclosureType, "version": PartVersion, "enclosure": enclosure})
}

func wrap(data wire.M) (wire.Value, error) {
	return wire.Encode(wire.M{
		"data":      data,
		"metadata":  wire.M{ExtensionURI: wire.M{"schema": SchemaURI}},
		"mediaType": MediaType,
	})
}

// Parse reads a part of at most MaxPartSize bytes: see Read.
func Parse(data []byte, active []string) (*wire.UnverifiedMessage, error) {
	if err := checkActive(active); err != nil {
		return nil, err
	}
	part, err := wire.Parse(data, partLimits)
	if err != nil {
		return nil, withoutInput(err, "", errUnread)
	}
	return Read(part, active)
}

// Read returns the message in a part, within the limits of Parse. active lists the extensions that both sides
// of the exchange activated: what the request asked for and, in an answer, the
// response echoed. Without an echo the extension is not active, whatever the part
// looks like.
//
// Read verifies nothing: the message has a Verify of its own. (SPEC §10.1)
func Read(part wire.Value, active []string) (*wire.UnverifiedMessage, error) {
	envelope, err := content(part, active, PartType, "envelope")
	if err != nil {
		return nil, err
	}
	if err := checkTaskIDs(envelope); err != nil {
		return nil, err
	}
	m, err := wire.ReadMessage(envelope)
	if err != nil {
		return nil, withoutInput(err, "/data/envelope", nil)
	}
	return m, nil
}

// ReadEnclosure returns the enclosure in a part of EnclosureType, as Read does a message.
// Not even its shape is checked: that is for who verifies it. (SPEC §10.1)
func ReadEnclosure(part wire.Value, active []string) (unverified wire.Value, err error) {
	return content(part, active, EnclosureType, "enclosure")
}

// content returns the member of data that a part of a type carries.
func content(part wire.Value, active []string, partType, member string) (wire.Value, error) {
	if err := checkActive(active); err != nil {
		return wire.Value{}, err
	}
	// A part that came inside something larger was parsed within other limits.
	if len(part.Canonical()) > partLimits.Size {
		return wire.Value{}, wire.RuleSize.At("")
	}
	if part.Depth() > partLimits.Depth {
		return wire.Value{}, wire.RuleDepth.At("")
	}
	if err := checkPart(part, partType, member); err != nil {
		return wire.Value{}, err
	}
	v, _ := part.At("data", member)
	return v, nil
}

func checkActive(active []string) error {
	if !slices.Contains(active, ExtensionURI) {
		return RuleInactive.At("")
	}
	return nil
}

// checkPart checks everything but what the part carries, as a member of data. Members
// that A2A or another extension adds are left alone.
func checkPart(part wire.Value, partType, member string) error {
	if part.Kind() != wire.Object {
		return RulePart.Because("", errNotObject)
	}
	known := []string{"data", "metadata", "mediaType", "text", "raw", "url"}
	for name := range part.Members() {
		if slices.Contains(known[3:], name) {
			return RulePart.Because("", errContent)
		}
		if !slices.Contains(known, name) && slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
			return RulePart.Because("", errCase)
		}
	}
	if v, _ := part.Get("mediaType"); v.Text() != MediaType {
		return RulePart.Because("/mediaType", errValue)
	}
	data, _ := part.Get("data")
	metadata, _ := part.At("metadata", ExtensionURI)
	for _, o := range []struct {
		value   wire.Value
		at      string
		members []string // the first ones are of fixed values
		fixed   []string
	}{
		{data, "/data", []string{"type", "version", member}, []string{partType, PartVersion}},
		{metadata, "/metadata" + wire.Pointer(ExtensionURI), []string{"schema"}, []string{SchemaURI}},
	} {
		if o.value.Kind() != wire.Object {
			return RulePart.Because(o.at, errNotObject)
		}
		if o.value.Len() != len(o.members) || o.value.Only(o.members...).Len() != len(o.members) {
			return RulePart.Because(o.at, errMembers)
		}
		for i, want := range o.fixed {
			if v, _ := o.value.Get(o.members[i]); v.Text() != want {
				return RulePart.Because(o.at+"/"+o.members[i], errValue)
			}
		}
	}
	return nil
}

func checkTaskIDs(message wire.Value) error {
	for _, name := range taskIDs {
		if _, ok := message.Get(name); ok {
			return RuleTaskIDs.At("/data/envelope/" + name)
		}
	}
	return nil
}

// withoutInput keeps of a refusal the rule alone: pointers and causes may repeat
// what the other side wrote.
func withoutInput(err error, at string, cause error) error {
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		return v.Rule.Because(at, cause)
	}
	return RulePart.Because(at, errUnread)
}
