package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// The errors of reading one artifact.
var (
	ErrNotStored = errors.New("there is no such artifact in the store")
	ErrDamaged   = errors.New("the artifact is damaged in the store; delete it, or import it again")
)

// A kind says where an artifact of its kind tells what the store looks for.
type kind struct {
	id     []string // "" at the end: it has none
	signer []string // who answers for it; the verification of the kind proves that
	time   []string // when it was made
	agents [][]string
}

func path(dotted string) []string {
	if dotted == "" {
		return nil
	}
	return strings.Split(dotted, ".")
}

func newKind(id, signer, time string, agents ...string) *kind {
	k := &kind{id: path(id), signer: path(signer), time: path(time)}
	for _, a := range agents {
		k.agents = append(k.agents, path(a))
	}
	return k
}

// kinds are those that are kept, by the names of SPEC §12.3.
var kinds = map[string]*kind{
	attestation:        newKind("attestation_id", "", "timestamp"), // of several signers
	"approval_receipt": newKind("id", "approver.identity", "issued_at"),
	"fulfillment":      newKind("id", "signature.signer_did", "issued_at"),
	revocation:         newKind("revocation_id", "issuer_did", "issued_at"),
	"cascade":          newKind("decision_id", "verifier", ""),
	"mandate":          newKind("mandate_id", "issuer", "issued_at", "subject"),
	"predicate":        newKind("predicate_id", "issuer", "issued_at", "subject"),
	"receipt_bundle":   newKind("bundle_id", "agent_id", "created_at"),
	"competence_proof": newKind("proof_id", "agent_id", ""),
	"agent_profile":    newKind("", "agent_id", "updated_at"),
	"cosign":           newKind("", "counterparty_did", "timestamp"),
	"envelope":         newKind("envelope_id", "provider.did", "issued_at", "subject.did"),
	"commitment":       newKind("commitment_id", "committer_did", "issued_at"),
	"activation_proof": newKind("activation_proof_id", "issuer_did", "activated_at"),
	"unwind":           newKind("unwind_record_id", "issuer_did", "issued_at"),
	// A closure predicate need not be signed, and a record says what it likes.
	"closure_predicate": newKind("predicate_id", "", "issued_at", "issuer"),
	"record":            newKind("", "", ""),
}

// Kinds returns the kinds that are kept, in the order of their names (SPEC §12.3).
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

const (
	attestation = "attestation"
	revocation  = "revocation"
)

// An artifact is a record of the store, and what is read of its text.
type artifact struct {
	hash       wire.Hash
	kind       string
	value      wire.Value
	unverified bool
	stored     time.Time

	id         string
	session    string
	time       time.Time
	agents     []wire.AgentID // who has to do with it, signers first
	signers    []wire.AgentID
	core       wire.Hash
	signatures int // beyond those that each version has
}

func newArtifact(name string, v wire.Value, unverified bool, stored time.Time) artifact {
	a := artifact{hash: v.Hash(), kind: name, value: v, unverified: unverified, stored: stored}
	k := kinds[name]
	text := func(path []string) string {
		if path == nil {
			return ""
		}
		m, _ := v.At(path...)
		return m.Text()
	}
	a.id = text(k.id)
	if t, err := wire.ParseTime(text(k.time)); err == nil {
		a.time = t.UTC()
	}
	a.session = sessionOf(v)
	if name == attestation {
		a.readParties()
		return a
	}
	if signer := text(k.signer); signer != "" {
		a.signers = []wire.AgentID{wire.PlainDIDKey(wire.AgentID(signer))}
		a.addAgent(signer)
	}
	for _, path := range k.agents {
		a.addAgent(text(path))
	}
	a.core = v.Without("signature").Hash()
	if name == "cosign" { // its signatures stand in the entries of parties
		a.core = v.StripSignatures().Hash()
		parties, _ := v.Get("parties")
		for _, p := range parties.Elems() {
			id, _ := p.Get("agent_id")
			a.addAgent(id.Text())
		}
	}
	return a
}

// readParties reads of a receipt who is bound by it: the parties that signed the
// whole. A version that binds nobody has no such signatures. (SPEC §9.6.5a)
func (a *artifact) readParties() {
	a.core = attest.Countersigned(a.value).Hash()
	signatures, _ := a.value.Get("countersignatures")
	a.signatures = signatures.Len()
	if f, ok := a.value.Get("fulfillment"); ok && f.Kind() != wire.Null {
		a.signatures++
	}
	parties, _ := a.value.Get("parties")
	for _, p := range parties.Elems() {
		id, _ := p.Get("agent_id")
		if _, ok := signatures.Get(id.Text()); ok {
			a.signers = append(a.signers, wire.PlainDIDKey(wire.AgentID(id.Text())))
		}
		a.addAgent(id.Text())
	}
}

func (a *artifact) addAgent(id string) {
	if agent := wire.PlainDIDKey(wire.AgentID(id)); id != "" && !slices.Contains(a.agents, agent) {
		a.agents = append(a.agents, agent)
	}
}

// sessionOf returns the session that an artifact is about, if it is about one.
func sessionOf(v wire.Value) string {
	for _, path := range [][]string{{"session_id"}, {"chain_session_id"}, {"payload", "session_id"}} {
		if m, _ := v.At(path...); m.Text() != "" {
			return plainSession(m.Text())
		}
	}
	references, _ := v.Get("references")
	for _, r := range references.Elems() {
		kind, _ := r.Get("type")
		if id, _ := r.Get("id"); kind.Text() == "negotiation_session" || kind.Text() == "chain_session" {
			return plainSession(id.Text())
		}
	}
	return ""
}

func plainSession(id string) string { return strings.TrimPrefix(id, "urn:concordia:session:") }

// plainID takes an attestation's URN for its id (SPEC §9.6.4c).
func plainID(id string) string { return strings.TrimPrefix(id, "urn:concordia:attestation:") }

// dependent returns the artifact as revocations follow it.
func (a *artifact) dependent() attest.Dependent {
	d := attest.Dependent{ID: a.id, Links: attest.DependentOf(a.value).Links}
	if a.kind == attestation {
		d.ID = attest.AttestationURN(a.id)
	} else if len(a.signers) > 0 {
		d.Issuer = a.signers[0]
	}
	return d
}

// A header is a checksum of 4 bytes, a byte of flags, the time of 8 bytes, and the
// length and text of the kind. The checksum covers what follows it and the hash.
const headerSize = 4 + 1 + 8 + 1

func (a *artifact) header() []byte {
	h := make([]byte, 4, headerSize+len(a.kind))
	flags := byte(0)
	if a.unverified {
		flags = 1
	}
	h = append(h, flags)
	h = binary.BigEndian.AppendUint64(h, uint64(a.stored.UnixNano()))
	h = append(append(h, byte(len(a.kind))), a.kind...)
	binary.BigEndian.PutUint32(h, checksum(h, a.hash))
	return h
}

func checksum(header []byte, hash wire.Hash) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(hash[:]), crc32.IEEETable, header[4:])
}

// readArtifact reads an artifact and checks that it is what was stored.
func readArtifact(tx *bolt.Tx, hash wire.Hash) (artifact, error) {
	b := tx.Bucket(bucketArtifacts).Get(hash[:])
	if b == nil {
		return artifact{}, fmt.Errorf("reading %s: %w", hash, ErrNotStored)
	}
	damaged := fmt.Errorf("reading %s: %w", hash, ErrDamaged)
	if len(b) < headerSize || len(b) < headerSize+int(b[headerSize-1]) {
		return artifact{}, damaged
	}
	header, text := b[:headerSize+int(b[headerSize-1])], b[headerSize+int(b[headerSize-1]):]
	name := string(header[headerSize:])
	if checksum(header, hash) != binary.BigEndian.Uint32(header) || wire.HashOf(text) != hash || kinds[name] == nil {
		return artifact{}, damaged
	}
	v, err := wire.Parse(text, wire.DocumentLimits)
	if err != nil {
		return artifact{}, damaged
	}
	return newArtifact(name, v, header[4]&1 != 0, time.Unix(0, int64(binary.BigEndian.Uint64(header[5:]))).UTC()), nil
}

// The letters of the index.
const (
	byTime    = 't'
	byKind    = 'k'
	byAgent   = 'a'
	bySession = 's'
	byID      = 'i'
	byLink    = 'l' // what an artifact depends on
	ofClaim   = 'c' // cores by what an agent answers for: an id, a session
	ofCore    = 'v' // versions by core
)

func indexKey(letter byte, of string, tail []byte) []byte {
	h := wire.HashOf(of)
	return slices.Concat([]byte{letter}, h[:], tail)
}

// keys returns the keys of an artifact in the index, without its claims.
func (a *artifact) keys() [][]byte {
	tail := a.position().bytes()
	list := [][]byte{append([]byte{byTime}, tail...), indexKey(byKind, a.kind, tail), a.versionKey()}
	if a.session != "" {
		list = append(list, indexKey(bySession, a.session, tail))
	}
	if a.id != "" {
		list = append(list, indexKey(byID, plainID(a.id), tail))
	}
	for _, agent := range a.agents {
		list = append(list, indexKey(byAgent, string(agent), tail))
	}
	for _, l := range a.dependent().Links {
		if l.Depends() {
			list = append(list, indexKey(byLink, plainID(l.ID), tail))
		}
	}
	return list
}

func (a *artifact) put(tx *bolt.Tx) error {
	index := tx.Bucket(bucketIndex)
	for _, key := range a.keys() {
		if err := index.Put(key, nil); err != nil {
			return err
		}
	}
	for _, key := range a.claimKeys() {
		if err := index.Put(key, nil); err != nil {
			return err
		}
	}
	return tx.Bucket(bucketArtifacts).Put(a.hash[:], append(a.header(), a.value.Canonical()...))
}

// remove takes an artifact out. Claims belong to the core and go with its last
// version.
func (a *artifact) remove(tx *bolt.Tx) error {
	index := tx.Bucket(bucketIndex)
	for _, key := range a.keys() {
		if err := index.Delete(key); err != nil {
			return err
		}
	}
	if _, left := fullest(tx, a.core); !left {
		for _, key := range a.claimKeys() {
			if err := index.Delete(key); err != nil {
				return err
			}
		}
	}
	return tx.Bucket(bucketArtifacts).Delete(a.hash[:])
}

// removeDamaged takes out an artifact that cannot be read: its keys are those that end
// with its hash. Claims of a core without a version count for nothing.
func removeDamaged(tx *bolt.Tx, hash wire.Hash) error {
	index := tx.Bucket(bucketIndex)
	var stale [][]byte
	for k, _ := range entriesOf(index, nil) {
		if k[0] != ofClaim && wire.Hash(k[len(k)-len(hash):]) == hash {
			stale = append(stale, slices.Clone(k))
		}
	}
	for _, k := range stale {
		if err := index.Delete(k); err != nil {
			return err
		}
	}
	return tx.Bucket(bucketArtifacts).Delete(hash[:])
}
