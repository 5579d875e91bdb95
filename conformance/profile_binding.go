package conformance

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// decisionObject is an unsigned object that something else commits to by its hash.
var decisionObject = ownKind(map[string]func(Question) error{
	"decision-id": func(q Question) error {
		if _, err := q.needText("expected_decision_id"); err != nil {
			return err
		}
		return q.expectDigest(q.Input, "expected_decision_id")
	},
})

// offerBinding is any object that the context ties to others.
var offerBinding = ownKind(map[string]func(Question) error{
	"bindings": func(q Question) error {
		checks, _, err := q.list("checks")
		if err != nil {
			return err
		}
		if checks.Len() == 0 {
			return ruleContext.Because("/context/checks", errMissing)
		}
		return q.bindings(checks, "jcs-sha256", "jcs-sha256-pointer", "json-pointer-equal")
	},
})

// ruleBound is what a context may demand between two objects.
var ruleBound = &wire.Rule{Section: "12.5", Name: "expected-binding", Class: wire.ClassBinding, Text: "two values that the context ties together are equal"}

var errBindingKind = errors.New("no check of this kind")

// bindings makes the checks of a list, each of one of the kinds: a digest against a
// literal, a digest against a member, two members against each other.
func (q Question) bindings(checks wire.Value, kinds ...string) error {
	for i, check := range checks.Elems() {
		at := "/context/checks/" + strconv.Itoa(i)
		kind, _ := check.Get("kind")
		if !slices.Contains(kinds, kind.Text()) {
			return ruleContext.Because(at+"/kind", errBindingKind)
		}
		var got, want wire.Value
		var err error
		rule := ruleDigest
		switch kind.Text() {
		case "jcs-sha256":
			if got, err = q.digestMember(check, at); err != nil {
				return err
			}
			want, _ = check.Get("expected")
		case "jcs-sha256-pointer":
			rule = ruleBound
			if got, err = q.digestMember(check, at); err != nil {
				return err
			}
			want, err = q.pointed(check, "target", at)
		case "json-pointer-equal":
			rule = ruleBound
			if got, err = q.pointed(check, "left", at); err != nil {
				return err
			}
			want, err = q.pointed(check, "right", at)
		}
		if err != nil {
			return err
		}
		if !got.Equal(want) { // canonical texts: 1 is 1.0 and not true, whatever the order of members
			return rule.At(at)
		}
	}
	return nil
}

// digestMember returns the digest of the object that a check names as its source.
func (q Question) digestMember(check wire.Value, at string) (wire.Value, error) {
	source, _ := check.Get("source")
	v, ok := q.object(source.Text())
	if !ok {
		return v, ruleContext.Because(at+"/source", errMissing)
	}
	text, err := q.digestOf(v)
	return wire.Text(text), err
}

// pointed returns the value that a member of a check points at.
func (q Question) pointed(check wire.Value, member, at string) (wire.Value, error) {
	object, _ := check.At(member, "object")
	pointer, ok := check.At(member, "pointer")
	whole, found := q.object(object.Text())
	if !ok || !found || pointer.Kind() != wire.String {
		return whole, ruleContext.Because(at+"/"+member, errMissing)
	}
	v, found := resolve(whole, pointer.Text())
	if !found {
		return v, ruleBound.Because(at+"/"+member, errMissing)
	}
	return v, nil
}

// object returns what "input" or "context.a.b" names.
func (q Question) object(name string) (wire.Value, bool) {
	if name == "input" {
		return q.Input, true
	}
	path, ok := strings.CutPrefix(name, "context.")
	if !ok {
		return wire.Value{}, false
	}
	v := q.Context
	for step := range strings.SplitSeq(path, ".") {
		if v, ok = v.Get(step); !ok {
			return v, false
		}
	}
	return v, true
}

// resolve follows a JSON pointer (RFC 6901, Section 4): an index is digits without
// a leading zero, and nothing that is missing is found.
func resolve(v wire.Value, pointer string) (wire.Value, bool) {
	if pointer == "" {
		return v, true
	}
	if pointer[0] != '/' {
		return v, false
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		for i := range len(token) {
			if token[i] == '~' && (i+1 == len(token) || token[i+1] != '0' && token[i+1] != '1') {
				return v, false
			}
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		var ok bool
		switch v.Kind() {
		case wire.Object:
			if v, ok = v.Get(token); !ok {
				return v, false
			}
		case wire.Array:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= v.Len() || strconv.Itoa(i) != token {
				return v, false
			}
			for j, e := range v.Elems() {
				if j == i {
					v = e
					break
				}
			}
		default:
			return v, false
		}
	}
	return v, true
}
