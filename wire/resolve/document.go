package resolve

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mr-tron/base58"

	"github.com/concordia-node/concordia/wire"
)

// Bounds of a DID document.
const (
	MaxDocumentSize = 64 << 10 // bytes
	MaxMethods      = 64       // verification methods, and references to them
)

var documentLimits = wire.Limits{Size: MaxDocumentSize, Depth: 16, Values: 4096}

// A document is what a DID document says of who may sign artifacts.
type document struct {
	assertion []method // in order, each id once
}

// A method is a verification method: a key with a name.
type method struct {
	id      string // a DID URL
	key     wire.PublicKey
	why     error     // why it gives no key, nil if it does
	expires time.Time // from when on it is none; zero: never
}

var (
	errOtherID    = errors.New("its document is that of another id")
	errTwice      = errors.New("two verification methods of one id")
	errMany       = fmt.Errorf("more than %d verification methods", MaxMethods)
	errController = errors.New("another one controls the key")
	errRevoked    = errors.New("the key is revoked")
	errExpired    = errors.New("the key has expired")
	errKeyForms   = errors.New("not one key of a form that is read here")
	errPrivate    = errors.New("it publishes a private key")
	errBase58     = errors.New("not base58btc in its one spelling")
	errCodec      = errors.New("a key of another algorithm")
	errNoAssert   = errors.New("its document lets no key sign assertions")
	errNotAssert  = errors.New("its document does not let that key sign assertions")
	errAmbiguous  = errors.New("its document has several keys that sign assertions: the id has to name one")
)

// readDocument reads the document of a DID (W3C DID Core 1.0, Section 5). It fails
// with RuleUnknownKey. Members it does not know it does not look at; documents have
// many.
func readDocument(did string, data []byte) (*document, error) {
	v, err := wire.Parse(data, documentLimits)
	if err != nil {
		return nil, broken(err)
	}
	r := wire.Read(v, "", wire.RuleUnknownKey)
	r.Open("id", "verificationMethod", "assertionMethod")
	if r.Text("id") != did {
		r.Fail("id", errOtherID)
	}
	methods := make(map[string]method)
	define := func(e wire.Reader) method {
		m := readMethod(did, e)
		if _, twice := methods[m.id]; twice {
			e.Fail("id", errTwice)
		}
		if methods[m.id] = m; len(methods) > MaxMethods {
			e.Fail("", errMany)
		}
		return m
	}
	if r.Has("verificationMethod") {
		for _, e := range r.Objects("verificationMethod") {
			define(e)
		}
	}
	doc := new(document)
	if r.Has("assertionMethod") {
		for i, v := range r.Array("assertionMethod").Elems() {
			if v.Kind() == wire.String {
				if m, ok := methods[absolute(did, v.Text())]; ok { // else it is another document's
					doc.assertion = append(doc.assertion, m)
				}
				continue
			}
			e := wire.Read(v, wire.Pointer("assertionMethod", strconv.Itoa(i)), wire.RuleUnknownKey)
			doc.assertion = append(doc.assertion, define(e))
			if err := e.Err(); err != nil {
				return nil, broken(err)
			}
		}
	}
	if err := r.Err(); err != nil {
		return nil, broken(err)
	}
	return doc, nil
}

// broken says where a document is wrong. Whoever needs a key of it cannot have one.
func broken(err error) error {
	v, ok := errors.AsType[*wire.Violation](err)
	if ok && v.Rule == wire.RuleUnknownKey {
		err = fmt.Errorf("at %q: %w", v.At, v.Err)
	}
	return unknown(fmt.Errorf("its document does not read: %w", err))
}

func unknown(why error) error { return wire.RuleUnknownKey.Because("", why) }

// absolute returns the id of a method, which may leave out the DID.
func absolute(did, id string) string {
	if strings.HasPrefix(id, "#") {
		return did + id
	}
	return id
}

func readMethod(did string, r wire.Reader) method {
	r.Open("id", "type", "controller", "expires", "revoked", "publicKeyMultibase", "publicKeyJwk", "publicKeyBase58")
	m := method{id: absolute(did, r.Text("id")), expires: optTime(r, "expires")}
	kind := r.Text("type")
	if r.Text("controller") != did || !strings.HasPrefix(m.id, did+"#") {
		m.why = errController
		return m
	}
	if r.Has("revoked") {
		m.why = errRevoked
		return m
	}
	var forms []func() ([]byte, error)
	if r.Has("publicKeyMultibase") {
		forms = append(forms, func() ([]byte, error) { return multibaseKey(r.Text("publicKeyMultibase")) })
	}
	if r.Has("publicKeyJwk") {
		forms = append(forms, func() ([]byte, error) { return jwkKey(r.Object("publicKeyJwk")) })
	}
	if r.Has("publicKeyBase58") && kind == "Ed25519VerificationKey2018" { // the type says the algorithm
		forms = append(forms, func() ([]byte, error) { return base58Key(r.Text("publicKeyBase58")) })
	}
	if len(forms) != 1 {
		m.why = errKeyForms
		return m
	}
	raw, err := forms[0]()
	if err == nil {
		m.key, err = wire.ParsePublicKey(raw)
	}
	m.why = err
	return m
}

// multibaseKey reads an Ed25519 key behind its multicodec prefix, in base58btc.
func multibaseKey(text string) ([]byte, error) {
	const codecEd25519 = "\xed\x01"
	digits, ok := strings.CutPrefix(text, "z")
	if !ok {
		return nil, errBase58
	}
	raw, err := decodeBase58(digits)
	if err != nil {
		return nil, err
	}
	key, ok := strings.CutPrefix(string(raw), codecEd25519)
	if !ok || len(key) != ed25519.PublicKeySize {
		return nil, errCodec
	}
	return []byte(key), nil
}

func base58Key(text string) ([]byte, error) {
	raw, err := decodeBase58(text)
	if err == nil && len(raw) != ed25519.PublicKeySize {
		err = errCodec
	}
	return raw, err
}

func decodeBase58(text string) ([]byte, error) {
	if len(text) > 100 { // the time grows with the square of it
		return nil, errBase58
	}
	raw, err := base58.Decode(text)
	if err != nil || base58.Encode(raw) != text {
		return nil, errBase58
	}
	return raw, nil
}

// jwkKey reads a JSON Web Key (RFC 7517; RFC 8037 for Ed25519).
func jwkKey(r wire.Reader) ([]byte, error) {
	r.Open("kty", "crv", "x", "y", "d")
	if r.Has("d") {
		r.Fail("d", errPrivate)
	}
	coordinate := func(name string) []byte {
		b, err := wire.DecodeBase64(r.Text(name)+"=", 32) // without padding there
		if err != nil {
			r.Fail(name, err)
		}
		return b
	}
	switch r.Text("kty") + " " + r.Text("crv") {
	case "OKP Ed25519":
		return coordinate("x"), nil
	case "EC P-256":
		return slices.Concat([]byte{4}, coordinate("x"), coordinate("y")), nil
	}
	return nil, errCodec
}

// key returns the key that signs assertions: the one of that id, or for an id without
// a fragment the only one there is.
func (d *document) key(id string, now time.Time) (wire.PublicKey, error) {
	named := strings.Contains(id, "#")
	var found wire.PublicKey
	why := errNoAssert
	if named {
		why = errNotAssert
	}
	for _, m := range d.assertion {
		switch {
		case named && m.id != id:
		case m.why != nil:
			why = m.why
		case !m.expires.IsZero() && !now.Before(m.expires):
			why = errExpired
		case found.IsZero() || found == m.key:
			found = m.key
		default:
			return wire.PublicKey{}, unknown(errAmbiguous)
		}
	}
	if found.IsZero() {
		return wire.PublicKey{}, unknown(why)
	}
	return found, nil
}
