package attest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// An Issuer is an agent that makes signed artifacts. Each kind has a method that
// takes a draft, the artifact as far as the caller has something to say, and returns
// it complete and signed:
//
//	draft, err := wire.Encode(wire.M{"subject": buyer, "constraints": schema, …})
//	mandate, err := issuer.Mandate(draft)
//
// Members that a draft leaves out are filled in, where there is only one thing to
// say or a usual one: markers, a new id, the time, who issues it, the algorithm of the
// key. What the draft says stands, other members included, unless it contradicts who
// signs. What is made has been verified: an Issuer does not sign what its own
// verifier refuses.
type Issuer struct {
	Agent  wire.AgentID
	Key    wire.TextSigner
	Now    time.Time
	Random io.Reader // of new ids: crypto/rand.Reader but in tests
	Keys   wire.Keys // of others whose signatures are inside, did:key ids included; nil knows those alone
}

// Errors of an Issuer.
var (
	ErrOtherIssuer = errors.New("the draft names another issuer than the one that signs")
	ErrAlgorithm   = errors.New("the key is not of an algorithm that this kind of artifact is signed with")
	ErrTwoKinds    = errors.New("it could be read as an artifact of another kind, too")
	errNoObject    = errors.New("a draft is a JSON object")
)

// marks are the members, one of each kind, that tell what is signed where other members
// may stand beside the known ones: a message, an approval, a fulfillment attestation, a
// delegation, an envelope, a cosigned receipt, a predicate, what shows receipts, what a
// service says, a record. Signed with two of them, one text would be two artifacts, and
// whoever wrote the draft could show the one that the signer did not mean.
var marks = []string{
	"prev_hash", "artifact_type", "attestation_type", "delegator", "envelope_version", "counterparty_did", "predicate_id",
	"bundle_id", "proof_id", "service_id", "verification_material",
}

// oneKind refuses a draft that has the marks of two kinds.
func (d *draft) oneKind() {
	var found []string
	for _, name := range marks {
		if d.has(name) {
			found = append(found, name)
		}
	}
	if len(found) > 1 && d.err == nil {
		d.err = fmt.Errorf("%w: it has both %q and %q", ErrTwoKinds, found[0], found[1])
	}
}

// A draft is an artifact on its way to its signature. It keeps the first error.
type draft struct {
	Issuer
	kind string // for errors
	v    wire.Value
	err  error
}

func (i Issuer) draft(kind string, v wire.Value) *draft {
	d := &draft{Issuer: i, kind: kind, v: v}
	if v.Kind() != wire.Object {
		d.err = errNoObject
	}
	return d
}

// set sets the member at the path.
func (d *draft) set(x any, path ...string) {
	v, err := wire.Encode(x)
	if err != nil && d.err == nil {
		d.err = err
	}
	if d.err == nil {
		d.v = setAt(d.v, v, path)
	}
}

// setAt sets a member of an object inside v. What is no object on the way becomes
// one.
func setAt(v, member wire.Value, path []string) wire.Value {
	if v.Kind() != wire.Object {
		v = emptyObject
	}
	if len(path) > 1 {
		inner, _ := v.Get(path[0])
		member = setAt(inner, member, path[1:])
	}
	return v.With(path[0], member)
}

// has reports whether the draft says something at the path.
func (d *draft) has(path ...string) bool {
	_, ok := d.v.At(path...)
	return ok
}

func (d *draft) text(path ...string) string {
	v, _ := d.v.At(path...)
	return v.Text()
}

// fill sets the member at the path if the draft says nothing there.
func (d *draft) fill(x any, path ...string) {
	if !d.has(path...) {
		d.set(x, path...)
	}
}

// fillID is fill of a new id.
func (d *draft) fillID(prefix string, path ...string) {
	if d.err != nil || d.has(path...) {
		return
	}
	id, err := wire.NewID[string](prefix, d.Random)
	if err != nil {
		d.err = err
		return
	}
	d.set(id, path...)
}

// fillUUID is fill of a random UUID (RFC 9562, Section 5.4).
func (d *draft) fillUUID(prefix string, path ...string) {
	if d.err != nil || d.has(path...) {
		return
	}
	var b [16]byte
	if _, err := io.ReadFull(d.Random, b[:]); err != nil {
		d.err = fmt.Errorf("drawing an id: %w", err)
		return
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	x := hex.EncodeToString(b[:])
	d.set(prefix+strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-"), path...)
}

// fillTimes fills the moment of issue, and one that is some time after it.
func (d *draft) fillTimes(issued string, life time.Duration, expires string) {
	d.fill(wire.FormatTime(d.Now), issued)
	if from, err := wire.ParseTime(d.text(issued)); err == nil && life > 0 { // else the shape says so
		d.fill(wire.FormatTime(from.Add(life)), expires)
	}
}

// signer fills in who signs, and refuses that it be another.
func (d *draft) signer(path ...string) {
	d.fill(d.Agent, path...)
	if d.err == nil && d.text(path...) != string(d.Agent) {
		d.err = ErrOtherIssuer
	}
}

// sign signs the preimage and puts the signature at the path.
func (d *draft) sign(preimage wire.Value, path ...string) {
	if d.err != nil {
		return
	}
	text, err := d.Key.SignText([]byte(preimage.Canonical()))
	if err != nil {
		d.err = fmt.Errorf("signing: %w", err)
		return
	}
	d.set(text, path...)
}

// signBare signs all but the signature, which is a member of the artifact.
func (d *draft) signBare() { d.sign(d.v.Without("signature"), "signature") }

// signBlock signs all but the signature, which is a block of what it is and of more.
func (d *draft) signBlock(name wire.Algorithm, more wire.M) {
	block := wire.M{"alg": name}
	for k, v := range more {
		block[k] = v
	}
	preimage := d.v.Without("signature")
	d.set(block, "signature")
	d.sign(preimage, "signature", "value")
}

// only refuses a key of another algorithm.
func (d *draft) only(algorithms ...wire.Algorithm) {
	for _, a := range algorithms {
		if d.Key.Public().Algorithm() == a {
			return
		}
	}
	if d.err == nil {
		d.err = ErrAlgorithm
	}
}

// done returns the artifact if its verifier does not refuse it. What the verifier
// cannot know, such as an action, is no reason against issuing.
func (d *draft) done(verify func(f Verifier, v wire.Value) wire.Report) (wire.Value, error) {
	if d.oneKind(); d.err == nil {
		if report := verify(d.Verifier(), d.v); report.Outcome() == wire.Failed {
			d.err = report.Err()
		}
	}
	if d.err != nil {
		return wire.Value{}, fmt.Errorf("issuing %s: %w", d.kind, d.err)
	}
	return d.v, nil
}

// Verifier returns who verifies what the issuer makes: it knows the issuer's own key,
// and those of Keys.
func (i Issuer) Verifier() Verifier {
	others := i.Keys
	if others == nil {
		others = wire.DIDKeys{}
	}
	return Verifier{Keys: wire.AnyKeys{ownKey{i.Agent, i.Key.Public()}, others}, Now: i.Now}
}

// ownKey knows the issuer's key, by its id and by every DID URL of it.
type ownKey struct {
	agent wire.AgentID
	key   wire.PublicKey
}

func (k ownKey) Key(agent wire.AgentID, at time.Time) (wire.PublicKey, error) {
	if agent == k.agent || strings.HasPrefix(string(agent), string(k.agent)+"#") {
		return k.key, nil
	}
	return wire.KeyMap(nil).Key(agent, at)
}

// A Form says how a kind is made whose signature is over all but itself and stands
// in a member of that name.
type Form struct {
	Kind     string // with its article, for errors
	Usual    wire.M // members that are filled in
	ID       string // the member with the id, and how ids begin
	Prefix   string
	Signer   string // the member that names who signs
	Issued   string // the member with the moment of issue
	Expires  string // the member with the last moment, "" if there is none
	Life     time.Duration
	Curve    bool // P-256 keys may sign it, and it names the algorithm
	Verifies func(f Verifier, v wire.Value) wire.Report
}

// Make issues an artifact of a form.
func (i Issuer) Make(f Form, v wire.Value) (wire.Value, error) {
	d := i.draft(f.Kind, v)
	if f.only(d); d.err == nil {
		d.fill(d.Key.Public().Algorithm(), "algorithm")
	}
	for name, x := range f.Usual {
		d.fill(x, name)
	}
	d.fillID(f.Prefix, f.ID)
	d.signer(f.Signer)
	d.fillTimes(f.Issued, f.Life, f.Expires)
	d.signBare()
	return d.done(f.Verifies)
}

func (f Form) only(d *draft) {
	if f.Curve {
		d.only(wire.EdDSA, wire.ES256)
		return
	}
	d.only(wire.EdDSA)
}
