// Package keyfile keeps the key of one agent on disk, Ed25519 or P-256: a small JSON
// file with mode 0600, in the clear or sealed with a passphrase.
//
//	{"concordia_key":"1","agent_id":…,"public_key":…,"seed":…}
//	{"concordia_key":"1","agent_id":…,"public_key":…,"sealed":{
//	    "kdf":"argon2id","time":…,"memory_kib":…,"threads":…,"salt":…,
//	    "cipher":"xchacha20poly1305","nonce":…,"ciphertext":…}}
//
// Bytes are padded base64url. The seed of a P-256 key, which the longer public key
// tells, is its scalar. A sealed seed is encrypted with XChaCha20-Poly1305
// under a key that Argon2id (RFC 9106) derives from the passphrase. Its associated
// data is the canonical text (RFC 8785) of the file without the ciphertext, so the
// seed opens only beside the agent id, the public key and the parameters it was
// sealed with.
//
// # Trust
//
// A file in the clear is guarded by its permissions alone; [Load] refuses one that
// anybody but the owner may touch. A sealed file that was changed does not open,
// but whoever can write to the folder can put another file there: compare the
// public key with what others know. The file is read strictly, with at most 8 KiB
// and Argon2id parameters of at most 10 passes, 256 MiB and 16 threads, so that a
// hostile one costs seconds, not minutes.
//
// # Limits
//
// The permissions are those of Unix, and the folder must be on a file system with
// hard links. There is one key a file, and no way to change a file: create a new
// one. The caller owns the passphrase, asks for it and clears it.
package keyfile

import (
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/concordia-node/concordia/wire"
)

// BUG(keyfile): The key derived from a passphrase and the buffers of this package
// are overwritten after use, but Go keeps copies that cannot be reached: in the
// cipher, in strings, in reused or moved memory, in swap and in core dumps.

// The parameters of Argon2id for new files: the second recommended option of
// RFC 9106, Section 4.
const (
	DefaultTime      = 3        // passes
	DefaultMemoryKiB = 64 << 10 // 64 MiB
	DefaultThreads   = 4
)

// What a file may ask for.
const (
	maxSize      = 8 << 10
	maxTime      = 10
	maxMemoryKiB = 256 << 10
	maxThreads   = 16
)

const (
	version    = "1"
	kdfName    = "argon2id"
	cipherName = "xchacha20poly1305"
	saltSize   = 16
)

// Errors of [Load] that the caller can act on by asking for a passphrase.
var (
	ErrPassphraseNeeded = errors.New("the key is sealed and needs a passphrase")
	ErrPassphrase       = errors.New("wrong passphrase, or the file was changed after the key was sealed")
)

var (
	errEmptyPassphrase = errors.New("an empty passphrase protects nothing")
	errNotRegular      = errors.New("not a regular file")
	errExtraMember     = errors.New("a member that a key file does not have")
	errPublicKey       = errors.New("not a public key in padded base64url")
	errMismatch        = errors.New("/public_key: not the public key of the seed")
)

// An Identity is an agent and its key. It prints as the agent's id.
type Identity struct {
	Agent wire.AgentID // if empty, [Create] writes the did:key of an Ed25519 key
	Key   wire.PrivateKey
}

// Format writes the agent's id, whatever the verb.
func (id Identity) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, string(id.Agent)) }

// LogValue returns the agent's id.
func (id Identity) LogValue() slog.Value { return slog.StringValue(string(id.Agent)) }

// Create writes a new key file. A nil passphrase leaves the key in the clear; an
// empty one is refused. What the sealing needs of chance is read from random, which
// is crypto/rand.Reader but in tests.
//
// Create never overwrites: if path exists, the error is [os.ErrExist]. The file
// appears complete and on stable storage, or not at all; a crash may leave a
// temporary file with mode 0600 in the same folder.
func Create(path string, id Identity, passphrase []byte, random io.Reader) error {
	return create(path, id, passphrase, random, kdf{DefaultTime, DefaultMemoryKiB, DefaultThreads})
}

func create(path string, id Identity, passphrase []byte, random io.Reader, k kdf) error {
	data, err := encode(id, passphrase, random, k)
	if err == nil {
		err = write(path, data)
	}
	clear(data)
	if err != nil {
		return fmt.Errorf("creating key file %s: %w", path, err)
	}
	return nil
}

// Load reads a key file. It calls passphrase only if the file is sealed and well
// formed; if passphrase is nil then, the error is [ErrPassphraseNeeded].
func Load(path string, passphrase func() ([]byte, error)) (Identity, error) {
	id, err := load(path, passphrase)
	if err != nil {
		return Identity{}, fmt.Errorf("reading key file %s: %w", path, err)
	}
	return id, nil
}

func load(path string, passphrase func() ([]byte, error)) (Identity, error) {
	f, err := read(path)
	if err != nil {
		return Identity{}, err
	}
	if f.sealed != nil {
		if passphrase == nil {
			return Identity{}, ErrPassphraseNeeded
		}
		secret, err := passphrase()
		if err != nil {
			return Identity{}, fmt.Errorf("asking for the passphrase: %w", err)
		}
		if f.seed, err = f.sealed.open(secret); err != nil {
			return Identity{}, err
		}
	}
	defer clear(f.seed)
	newKey := wire.NewPrivateKey
	if f.public.Algorithm() == wire.ES256 {
		newKey = wire.NewP256Key
	}
	key, err := newKey(f.seed)
	if err != nil {
		return Identity{}, err
	}
	if key.Public() != f.public {
		return Identity{}, errMismatch
	}
	return Identity{f.agent, key}, nil
}

// Public returns what a key file says about its agent, without the secret and so
// without proof: only [Load] finds out whether the key is that of the seed.
func Public(path string) (wire.AgentID, wire.PublicKey, error) {
	f, err := read(path)
	if err != nil {
		return "", wire.PublicKey{}, fmt.Errorf("reading key file %s: %w", path, err)
	}
	clear(f.seed)
	return f.agent, f.public, nil
}

// A file is what a key file says. Nothing in it is proven.
type file struct {
	agent  wire.AgentID
	public wire.PublicKey
	seed   []byte // nil if it is sealed
	sealed *sealed
}

type sealed struct {
	kdf
	salt, nonce, ciphertext []byte
	bound                   string // the associated data
}

func (s *sealed) open(passphrase []byte) ([]byte, error) {
	aead, err := s.aead(passphrase, s.salt)
	if err != nil {
		return nil, err
	}
	seed, err := aead.Open(nil, s.nonce, s.ciphertext, []byte(s.bound))
	if err != nil {
		return nil, ErrPassphrase
	}
	return seed, nil
}

type kdf struct {
	time, memory uint32
	threads      uint8
}

func (k kdf) aead(passphrase, salt []byte) (cipher.AEAD, error) {
	key := argon2.IDKey(passphrase, salt, k.time, k.memory, k.threads, chacha20poly1305.KeySize)
	defer clear(key)
	return chacha20poly1305.NewX(key)
}

func read(path string) (*file, error) {
	// Without O_NONBLOCK, opening a named pipe waits for its writer.
	in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat() // of what was opened: path may name another file by now
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return nil, fmt.Errorf("mode %04o lets others at the key; if nobody has read it, run: chmod 600 %q", perm, path)
	}
	data := make([]byte, maxSize+1) // one more than parse accepts
	defer clear(data)
	n, err := io.ReadFull(in, data)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	return parse(data[:n])
}

// parse reads the one shape of a key file. Its errors name no member that the
// shape does not have, since in a broken file that may be the secret.
func parse(data []byte) (*file, error) {
	v, err := wire.Parse(data, wire.Limits{Size: maxSize, Depth: 2})
	if broken, ok := errors.AsType[*wire.Violation](err); ok {
		err = broken.Rule
	}
	if err != nil {
		return nil, err
	}
	r := wire.Read(v, "", new(wire.Rule)) // a key file is of this machine: no rule of SPEC
	r.OneOf("concordia_key", version)
	f := &file{agent: wire.ReadID[wire.AgentID](r, "agent_id")}
	if f.public, err = wire.DecodePublicKey(r.Text("public_key")); err != nil {
		r.Fail("public_key", errPublicKey)
	}
	if r.Has("sealed") {
		f.sealed = readSealed(r.Object("sealed"))
		f.sealed.bound = v.With("sealed", r.Value("sealed").Without("ciphertext")).Canonical()
	} else {
		f.seed = readBytes(r, "seed", wire.SeedSize)
	}
	closed(r, 4)
	if misfit, ok := errors.AsType[*wire.Violation](r.Err()); ok {
		return nil, fmt.Errorf("not a key file: at %q: %w", misfit.At, misfit.Err)
	}
	return f, nil
}

func readSealed(r wire.Reader) *sealed {
	r.OneOf("kdf", kdfName)
	r.OneOf("cipher", cipherName)
	s := &sealed{
		kdf: kdf{
			time:    uint32(r.Int("time", 1, maxTime)),
			memory:  uint32(r.Int("memory_kib", 1, maxMemoryKiB)),
			threads: uint8(r.Int("threads", 1, maxThreads)),
		},
		salt:       readBytes(r, "salt", saltSize),
		nonce:      readBytes(r, "nonce", chacha20poly1305.NonceSizeX),
		ciphertext: readBytes(r, "ciphertext", wire.SeedSize+chacha20poly1305.Overhead),
	}
	closed(r, 8)
	return s
}

func readBytes(r wire.Reader, name string, size int) []byte {
	b, err := wire.DecodeBase64(r.Text(name), size)
	if err != nil {
		r.Fail(name, err)
	}
	return b
}

// closed refuses members beyond the n that have been read.
func closed(r wire.Reader, n int) {
	if r.Whole().Len() != n {
		r.Fail("", errExtraMember)
	}
}

func encode(id Identity, passphrase []byte, random io.Reader, k kdf) ([]byte, error) {
	agent := id.Agent
	if agent == "" && id.Key.Public().Algorithm() == wire.EdDSA {
		agent = wire.DIDKey(id.Key.Public())
	}
	if err := wire.CheckID(agent); err != nil {
		return nil, err
	}
	seed := id.Key.Seed()
	defer clear(seed)
	content := wire.M{"concordia_key": version, "agent_id": agent, "public_key": id.Key.Public()}
	if passphrase == nil {
		content["seed"] = text64(seed)
		return encodeText(content)
	}
	if len(passphrase) == 0 {
		return nil, errEmptyPassphrase
	}
	var chance [saltSize + chacha20poly1305.NonceSizeX]byte
	if _, err := io.ReadFull(random, chance[:]); err != nil {
		return nil, fmt.Errorf("drawing a salt and a nonce: %w", err)
	}
	salt, nonce := chance[:saltSize], chance[saltSize:]
	box := wire.M{
		"kdf": kdfName, "time": k.time, "memory_kib": k.memory, "threads": k.threads,
		"salt": text64(salt), "cipher": cipherName, "nonce": text64(nonce),
	}
	content["sealed"] = box
	bound, err := wire.Encode(content)
	if err != nil {
		return nil, err
	}
	aead, err := k.aead(passphrase, salt)
	if err != nil {
		return nil, err
	}
	ciphertext := aead.Seal(nil, nonce, seed, []byte(bound.Canonical()))
	box["ciphertext"] = text64(ciphertext)
	return encodeText(content)
}

func text64(b []byte) string { return base64.URLEncoding.EncodeToString(b) }

func encodeText(content wire.M) ([]byte, error) {
	v, err := wire.Encode(content)
	return append([]byte(v.Canonical()), '\n'), err
}

// write makes a complete file appear at path. The name is given by a hard link,
// which unlike a rename does not replace what is there.
func write(path string, data []byte) error {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, ".keyfile-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Link(temp.Name(), path)
	}
	if err = errors.Join(err, os.Remove(temp.Name())); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
