package keyfile

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/concordia-node/concordia/wire"
)

// weak makes the tests fast.
var weak = kdf{time: 1, memory: 8, threads: 1}

const testSeed = "the seed of the seller, 32 bytes"

var testPass = []byte("tea for two")

func testKey(tb testing.TB, seed string) wire.PrivateKey {
	tb.Helper()
	k, err := wire.NewPrivateKey([]byte(seed))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func seller(tb testing.TB) Identity {
	tb.Helper()
	return Identity{"agent_seller", testKey(tb, testSeed)}
}

func other(tb testing.TB) wire.PublicKey {
	tb.Helper()
	return testKey(tb, strings.Repeat("x", wire.SeedSize)).Public()
}

func ask(passphrase []byte) func() ([]byte, error) {
	return func() ([]byte, error) { return passphrase, nil }
}

func mustNotAsk(tb testing.TB) func() ([]byte, error) {
	return func() ([]byte, error) {
		tb.Helper()
		tb.Error("the passphrase was asked for")
		return nil, io.EOF
	}
}

// content returns a key file in the clear or sealed with testPass. The bytes it
// draws are fixed.
func content(tb testing.TB, sealed bool) []byte {
	tb.Helper()
	var passphrase []byte
	if sealed {
		passphrase = testPass
	}
	data, err := encode(seller(tb), passphrase, strings.NewReader(strings.Repeat("chance", 7)), weak)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func put(tb testing.TB, data []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "k.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// mustNotTell fails if err says anything of the seed or the passphrase.
func mustNotTell(tb testing.TB, err error) {
	tb.Helper()
	for _, secret := range []string{
		testSeed, string(testPass), hex.EncodeToString([]byte(testSeed)), fmt.Sprint([]byte(testSeed))[1:20],
		base64.URLEncoding.EncodeToString([]byte(testSeed))[:8], base64.StdEncoding.EncodeToString([]byte(testSeed))[:8],
	} {
		if text := fmt.Sprintf("%v %+v %#v %q", err, err, err, err); strings.Contains(text, secret) {
			tb.Errorf("the error %q tells %q", text, secret)
		}
	}
}

// refused writes data to a file and checks that Load and Public refuse it for its
// shape, without asking for the passphrase and without telling anything.
func refused(tb testing.TB, data []byte) error {
	tb.Helper()
	path := put(tb, data)
	id, err := Load(path, mustNotAsk(tb))
	if err == nil || id.Agent != "" {
		tb.Errorf("Load(%s) = %v, %v, want an error", data, id, err)
		return nil
	}
	if !strings.HasPrefix(err.Error(), "reading key file "+path+": ") {
		tb.Errorf("Load says %q, which does not name the file", err)
	}
	mustNotTell(tb, err)
	agent, public, errPublic := Public(path)
	if agent != "" || !public.IsZero() || errPublic == nil || errPublic.Error() != err.Error() {
		tb.Errorf("Public = %q, %v, %v, want the error of Load: %v", agent, public, errPublic, err)
	}
	return err
}

func files(tb testing.TB, dir string) int {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return len(entries)
}

func TestRoundTrip(t *testing.T) {
	key := seller(t).Key
	for _, tc := range []struct {
		name        string
		agent, want wire.AgentID
		passphrase  []byte
	}{
		{"clear", "agent_seller", "agent_seller", nil},
		{"sealed", "agent_seller", "agent_seller", testPass},
		{"clear, did:key", "", wire.DIDKey(key.Public()), nil},
		{"sealed, did:key", "", wire.DIDKey(key.Public()), testPass},
		{"longest id", wire.AgentID(strings.Repeat("😀", wire.MaxIDLength)), wire.AgentID(strings.Repeat("😀", wire.MaxIDLength)), testPass},
		{"id of quotes", wire.AgentID(strings.Repeat(`"`, wire.MaxIDLength)), wire.AgentID(strings.Repeat(`"`, wire.MaxIDLength)), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "k.json")
			if err := create(path, Identity{tc.agent, key}, tc.passphrase, rand.Reader, weak); err != nil {
				t.Fatal(err)
			}
			passphrase := ask(testPass)
			if tc.passphrase == nil {
				passphrase = mustNotAsk(t)
			}
			id, err := Load(path, passphrase)
			if err != nil || id.Agent != tc.want || !bytes.Equal(id.Key.Seed(), key.Seed()) {
				t.Errorf("Load = %v, %v, want agent %s and its key", id, err, tc.want)
			}
			agent, public, err := Public(path)
			if err != nil || agent != tc.want || public != key.Public() {
				t.Errorf("Public = %q, %v, %v, want %q, %v", agent, public, err, tc.want, key.Public())
			}
			info, err := os.Lstat(path)
			if err != nil || info.Mode() != 0o600 {
				t.Errorf("mode %v, %v, want a regular file with mode 0600", info.Mode(), err)
			}
			if n := files(t, filepath.Dir(path)); n != 1 {
				t.Errorf("Create leaves %d files, want 1", n)
			}
		})
	}
}

// A P-256 key is kept the same way. It has no id of its own.
func TestP256(t *testing.T) {
	key, err := wire.NewP256Key(bytes.Repeat([]byte{7}, wire.SeedSize))
	if err != nil {
		t.Fatal(err)
	}
	for _, passphrase := range [][]byte{nil, testPass} {
		path := filepath.Join(t.TempDir(), "k.json")
		if err := create(path, Identity{"", key}, passphrase, rand.Reader, weak); err == nil {
			t.Fatal("a P-256 key needs an agent id")
		}
		if err := create(path, Identity{"did:web:issuer.example", key}, passphrase, rand.Reader, weak); err != nil {
			t.Fatal(err)
		}
		id, err := Load(path, ask(testPass))
		if err != nil || id.Agent != "did:web:issuer.example" || id.Key.Public() != key.Public() || !bytes.Equal(id.Key.Seed(), key.Seed()) {
			t.Errorf("Load = %v, %v", id, err)
		}
	}
}

// TestForm pins the form. The sealed file, and one with the default parameters, were
// also opened with the reference libargon2 and libsodium.
func TestForm(t *testing.T) {
	for _, tc := range []struct {
		name   string
		sealed bool
		want   string
	}{
		{"clear", false, `{"agent_id":"agent_seller","concordia_key":"1","public_key":"vuXwY9VnFTP1fw45cplSEGyW1niExU49B5Mdlfx4nSM=","seed":"dGhlIHNlZWQgb2YgdGhlIHNlbGxlciwgMzIgYnl0ZXM="}` + "\n"},
		{"sealed", true, `{"agent_id":"agent_seller","concordia_key":"1","public_key":"vuXwY9VnFTP1fw45cplSEGyW1niExU49B5Mdlfx4nSM=","sealed":{"cipher":"xchacha20poly1305",` +
			`"ciphertext":"pkPyJWrdaZmIfSeZrW_qTfEh4um05MaR88lZCPooXU7Br7CuzCH_i8GkqjlC37yy","kdf":"argon2id","memory_kib":8,"nonce":"Y2VjaGFuY2VjaGFuY2VjaGFuY2VjaGFu","salt":"Y2hhbmNlY2hhbmNlY2hhbg==","threads":1,"time":1}}` + "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(content(t, tc.sealed)); got != tc.want {
				t.Errorf("got  %swant %s", got, tc.want)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.json")
	if err := Create(path, seller(t), testPass, rand.Reader); err != nil {
		t.Fatal(err)
	}
	f, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := (kdf{3, 65536, 4}); f.sealed.kdf != want {
		t.Errorf("Argon2id parameters %v, want %v (RFC 9106, Section 4)", f.sealed.kdf, want)
	}
}

func TestFreshChance(t *testing.T) {
	seen := make(map[string]bool)
	for range 2 {
		path := filepath.Join(t.TempDir(), "k.json")
		if err := create(path, seller(t), testPass, rand.Reader, weak); err != nil {
			t.Fatal(err)
		}
		f, err := read(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range [][]byte{f.sealed.salt, f.sealed.nonce, f.sealed.ciphertext} {
			if seen[string(b)] {
				t.Errorf("%x twice", b)
			}
			seen[string(b)] = true
		}
	}
}

func TestNoOverwrite(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(path string) error
	}{
		{"file", func(path string) error { return os.WriteFile(path, []byte("mine"), 0o600) }},
		{"folder", func(path string) error { return os.Mkdir(path, 0o700) }},
		{"dangling link", func(path string) error { return os.Symlink("nowhere", path) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "k.json")
			if err := tc.make(path); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			err = create(path, seller(t), nil, rand.Reader, weak)
			if !errors.Is(err, fs.ErrExist) {
				t.Errorf("Create = %v, want fs.ErrExist", err)
			}
			mustNotTell(t, err)
			after, err := os.Lstat(path)
			if err != nil || !os.SameFile(before, after) || before.Size() != after.Size() || before.Mode() != after.Mode() {
				t.Errorf("before %v, after %v, %v", before, after, err)
			}
			if n := files(t, filepath.Dir(path)); n != 1 {
				t.Errorf("a failed Create leaves %d files, want 1", n)
			}
		})
	}
}

func TestCreateFails(t *testing.T) {
	for _, tc := range []struct {
		name       string
		file       string
		agent      wire.AgentID
		passphrase []byte
		random     io.Reader
		want       error // nil: any
	}{
		{"no folder", "no/k.json", "a", nil, rand.Reader, fs.ErrNotExist},
		{"bad id", "k.json", "a b", nil, rand.Reader, nil},
		{"empty passphrase", "k.json", "a", []byte{}, rand.Reader, errEmptyPassphrase},
		{"too little chance", "k.json", "a", testPass, strings.NewReader("little"), io.ErrUnexpectedEOF},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, tc.file)
			err := create(path, Identity{tc.agent, seller(t).Key}, tc.passphrase, tc.random, weak)
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Fatalf("Create = %v, want %v", err, tc.want)
			}
			if !strings.HasPrefix(err.Error(), "creating key file "+path+": ") {
				t.Errorf("Create says %q, which does not name the file", err)
			}
			mustNotTell(t, err)
			if n := files(t, dir); n != 0 {
				t.Errorf("a failed Create leaves %d files", n)
			}
		})
	}
}

// TestAtomic lets many create one file while others read it: one creator wins, and
// a reader sees no file or a complete one.
func TestAtomic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.json")
	const creators = 8
	var wg sync.WaitGroup
	errs := make([]error, creators)
	for i := range creators {
		wg.Go(func() {
			errs[i] = create(path, Identity{wire.AgentID(fmt.Sprint("agent_", i)), seller(t).Key}, nil, rand.Reader, weak)
		})
	}
	for range 2 {
		wg.Go(func() {
			for {
				if _, err := Load(path, nil); err == nil {
					return
				} else if !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	id, err := Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range errs {
		won := id.Agent == wire.AgentID(fmt.Sprint("agent_", i))
		if won != (err == nil) || !won && !errors.Is(err, fs.ErrExist) {
			t.Errorf("creator %d: %v, but the file is of %s", i, err, id)
		}
	}
}

func TestPermissions(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		path := put(t, content(t, sealed))
		for _, mode := range []fs.FileMode{0o640, 0o604, 0o644, 0o620, 0o602, 0o610, 0o601, 0o777} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			_, err := Load(path, mustNotAsk(t))
			if want := fmt.Sprintf("chmod 600 %q", path); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("mode %o: Load = %v, want an error that says: %s", mode, err, want)
			}
			if _, _, errPublic := Public(path); errPublic == nil || errPublic.Error() != err.Error() {
				t.Errorf("mode %o: Public = %v, want %v", mode, errPublic, err)
			}
		}
		for _, mode := range []fs.FileMode{0o600, 0o400} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(path, ask(testPass)); err != nil {
				t.Errorf("mode %o: %v", mode, err)
			}
		}
	}
}

func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir, mustNotAsk(t)); !errors.Is(err, errNotRegular) {
		t.Errorf("Load of a folder = %v, want %v", err, errNotRegular)
	}
	if _, err := Load(os.DevNull, mustNotAsk(t)); !errors.Is(err, errNotRegular) {
		t.Errorf("Load of a device = %v, want %v", err, errNotRegular)
	}
	if _, err := Load(filepath.Join(dir, "none"), mustNotAsk(t)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load of nothing = %v, want fs.ErrNotExist", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(put(t, content(t, false)), link); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(link, nil); err != nil {
		t.Errorf("Load of a link to a key file = %v", err)
	}
}

func TestPassphrase(t *testing.T) {
	path := put(t, content(t, true))
	if _, err := Load(path, nil); !errors.Is(err, ErrPassphraseNeeded) {
		t.Errorf("Load without a passphrase = %v, want %v", err, ErrPassphraseNeeded)
	}
	for _, wrong := range []string{"", "tea for tw", "tea for two ", "Tea for two", "\x00"} {
		id, err := Load(path, ask([]byte(wrong)))
		if !errors.Is(err, ErrPassphrase) || id.Agent != "" {
			t.Errorf("Load with %q = %v, %v, want %v", wrong, id, err, ErrPassphrase)
		}
		mustNotTell(t, err)
	}
	if _, err := Load(path, func() ([]byte, error) { return nil, io.ErrClosedPipe }); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Load = %v, want the error of the function", err)
	}
	given := bytes.Clone(testPass)
	if _, err := Load(path, ask(given)); err != nil || !bytes.Equal(given, testPass) {
		t.Errorf("Load = %v and leaves %q of the passphrase, want it untouched", err, given)
	}
}

// edit returns data with one member set, or taken away if x is nil. Members of the
// sealed object are named sealed/NAME.
func edit(tb testing.TB, data []byte, name string, x any) []byte {
	tb.Helper()
	v, err := wire.Parse(data, wire.DocumentLimits)
	if err != nil {
		tb.Fatal(err)
	}
	var set func(v wire.Value, name string) wire.Value
	set = func(v wire.Value, name string) wire.Value {
		if outer, inner, ok := strings.Cut(name, "/"); ok {
			child, _ := v.Get(outer)
			return v.With(outer, set(child, inner))
		}
		if x == nil {
			return v.Without(name)
		}
		w, err := wire.Encode(x)
		if err != nil {
			tb.Fatal(err)
		}
		return v.With(name, w)
	}
	return []byte(set(v, name).Canonical())
}

// TestTamper changes one member after another to a value that another key file
// could have: the seal does not open.
func TestTamper(t *testing.T) {
	zeros := func(n int) string { return base64.URLEncoding.EncodeToString(make([]byte, n)) }
	sealed := content(t, true)
	for name, x := range map[string]any{
		"agent_id":          "agent_buyer",
		"public_key":        other(t),
		"sealed/time":       2,
		"sealed/memory_kib": 9,
		"sealed/threads":    2,
		"sealed/salt":       zeros(16),
		"sealed/nonce":      zeros(24),
		"sealed/ciphertext": zeros(48),
	} {
		path := put(t, edit(t, sealed, name, x))
		if id, err := Load(path, ask(testPass)); !errors.Is(err, ErrPassphrase) {
			t.Errorf("with another %s, Load = %v, %v, want %v", name, id, err, ErrPassphrase)
		}
	}
	// The order of members and the space between them carry no meaning.
	spaced := bytes.ReplaceAll(sealed, []byte(","), []byte(" ,\n"))
	if _, err := Load(put(t, spaced), ask(testPass)); err != nil {
		t.Errorf("with space between the members: %v", err)
	}
}

// TestFlip changes one bit of each byte of a sealed file.
func TestFlip(t *testing.T) {
	sealed := content(t, true)
	for i := range sealed {
		data := bytes.Clone(sealed)
		data[i] ^= 1
		f, err := parse(data)
		if err != nil {
			mustNotTell(t, err)
			continue
		}
		if f.sealed == nil {
			t.Fatalf("byte %d: not sealed any more", i)
		}
		if _, err := f.sealed.open(testPass); !errors.Is(err, ErrPassphrase) {
			t.Errorf("byte %d (%s): open = %v, want %v", i, data[max(0, i-9):i+1], err, ErrPassphrase)
		}
	}
}

func TestShape(t *testing.T) {
	top := []string{"concordia_key", "agent_id", "public_key"}
	box := []string{"kdf", "time", "memory_kib", "threads", "salt", "cipher", "nonce", "ciphertext"}
	clearFile, sealedFile := content(t, false), content(t, true)
	for _, tc := range []struct {
		data  []byte
		names []string
	}{
		{clearFile, append(top, "seed")},
		{sealedFile, append(top, "sealed")},
	} {
		for _, name := range tc.names {
			refused(t, edit(t, tc.data, name, nil))
			refused(t, edit(t, tc.data, name, []string{testSeed}))
			refused(t, edit(t, tc.data, name, testSeed+" "))
		}
	}
	for _, name := range box {
		refused(t, edit(t, sealedFile, "sealed/"+name, nil))
		refused(t, edit(t, sealedFile, "sealed/"+name, wire.M{}))
		refused(t, edit(t, sealedFile, "sealed/"+name, testSeed+" "))
		refused(t, edit(t, sealedFile, "sealed/"+name, ""))
	}
	seed, _ := wire.Parse(clearFile, wire.DocumentLimits)
	seed, _ = seed.Get("seed")
	for name, data := range map[string][]byte{
		"extra member":           edit(t, clearFile, "comment", "mine"),
		"extra sealed member":    edit(t, sealedFile, "sealed/comment", "mine"),
		"seed and sealed":        edit(t, sealedFile, "seed", seed),
		"seed as a name":         edit(t, clearFile, seed.Text(), 1),
		"seed as a sealed name":  edit(t, sealedFile, "sealed/"+seed.Text(), 1),
		"another version":        edit(t, clearFile, "concordia_key", "2"),
		"another kdf":            edit(t, sealedFile, "sealed/kdf", "argon2i"),
		"another cipher":         edit(t, sealedFile, "sealed/cipher", "none"),
		"id with a space":        edit(t, clearFile, "agent_id", "agent seller"),
		"empty id":               edit(t, clearFile, "agent_id", ""),
		"short seed":             edit(t, clearFile, "seed", seed.Text()[4:]),
		"seed without padding":   edit(t, clearFile, "seed", strings.TrimRight(seed.Text(), "=")),
		"weak public key":        edit(t, clearFile, "public_key", base64.URLEncoding.EncodeToString(make([]byte, 32))),
		"null":                   []byte("null"),
		"array":                  []byte("[" + string(clearFile) + "]"),
		"case of a member":       bytes.Replace(clearFile, []byte(`"seed"`), []byte(`"Seed"`), 1),
		"sealed in another case": bytes.Replace(sealedFile, []byte(`"sealed"`), []byte(`"Sealed"`), 1),
	} {
		t.Run(name, func(t *testing.T) { refused(t, data) })
	}
}

func TestStrict(t *testing.T) {
	clearFile, sealedFile := string(content(t, false)), string(content(t, true))
	twice := func(s, name string) []byte {
		at := strings.Index(s, `"`+name+`":`)
		end := at + strings.IndexAny(s[at:], ",}")
		return []byte(s[:at] + s[at:end] + "," + s[at:])
	}
	for _, tc := range []struct {
		name string
		data []byte
		want *wire.Rule
	}{
		{"seed twice", twice(clearFile, "seed"), wire.RuleDuplicate},
		{"agent_id twice", twice(clearFile, "agent_id"), wire.RuleDuplicate},
		{"ciphertext twice", twice(sealedFile, "ciphertext"), wire.RuleDuplicate},
		{"time twice", twice(sealedFile, "time"), wire.RuleDuplicate},
		{"the seed twice as a name", []byte(`{"` + testSeed + `":1,"` + testSeed + `":1}`), wire.RuleDuplicate},
		{"the seed as the name of a bad number", []byte(`{"` + testSeed + `":-0}`), wire.RuleNumber},
		{"too large", []byte(clearFile + strings.Repeat(" ", maxSize)), wire.RuleSize},
		{"much too large", make([]byte, 1<<20), wire.RuleSize},
		{"too deep", []byte(strings.Repeat("[", 3) + strings.Repeat("]", 3)), wire.RuleDepth},
		{"two files", []byte(clearFile + clearFile), wire.RuleSyntax},
		{"bad Unicode", []byte(strings.Replace(clearFile, "agent_seller", "\xff", 1)), wire.RuleUnicode},
		{"byte order mark", []byte("\ufeff" + clearFile), wire.RuleSyntax},
		{"empty", nil, wire.RuleSyntax},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := refused(t, tc.data); !errors.Is(err, tc.want) {
				t.Errorf("Load = %v, want %v", err, tc.want)
			}
		})
	}
	full := clearFile + strings.Repeat(" ", maxSize-len(clearFile))
	if _, err := Load(put(t, []byte(full)), nil); err != nil {
		t.Errorf("a file of the largest size: %v", err)
	}
}

func TestTruncated(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		data := bytes.TrimSpace(content(t, sealed))
		for n := range data {
			_, err := parse(data[:n])
			if !errors.Is(err, wire.RuleSyntax) {
				t.Errorf("%d bytes of %d: %v, want %v", n, len(data), err, wire.RuleSyntax)
			}
			mustNotTell(t, err)
		}
	}
}

func TestHostileParameters(t *testing.T) {
	sealed := content(t, true)
	for name, most := range map[string]int64{"time": maxTime, "memory_kib": maxMemoryKiB, "threads": maxThreads} {
		for _, x := range []any{0, -1, most + 1, most + 256, int64(1<<32 + 1), int64(1 << 50), 1.5, "1", true} {
			refused(t, edit(t, sealed, "sealed/"+name, x))
		}
		if _, err := parse(edit(t, sealed, "sealed/"+name, most)); err != nil {
			t.Errorf("%s %d: %v", name, most, err)
		}
	}
	for _, digits := range []string{"1e400", "9007199254740993", "1e30", "-0"} {
		refused(t, bytes.Replace(sealed, []byte(`"time":1`), []byte(`"time":`+digits), 1))
	}
}

// TestMismatch gives files the public key of another seed.
func TestMismatch(t *testing.T) {
	path := put(t, edit(t, content(t, false), "public_key", other(t)))
	if _, err := Load(path, nil); !errors.Is(err, errMismatch) {
		t.Errorf("in the clear: %v, want %v", err, errMismatch)
	}

	// Sealed by somebody who has the passphrase.
	data := edit(t, content(t, true), "public_key", other(t))
	f, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	aead, err := f.sealed.aead(testPass, f.sealed.salt)
	if err != nil {
		t.Fatal(err)
	}
	ciphertext := aead.Seal(nil, f.sealed.nonce, []byte(testSeed), []byte(f.sealed.bound))
	path = put(t, edit(t, data, "sealed/ciphertext", base64.URLEncoding.EncodeToString(ciphertext)))
	if _, err := Load(path, ask(testPass)); !errors.Is(err, errMismatch) {
		t.Errorf("sealed: %v, want %v", err, errMismatch)
	}
}

func TestIdentityPrintsNothingSecret(t *testing.T) {
	id := seller(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b", "%o", "%c", "%U", "%t", "%e"} {
		for _, x := range []any{id, &id, []Identity{id}, struct{ ID Identity }{id}} {
			text := fmt.Sprintf(verb, x)
			mustNotTell(t, errors.New(text))
			if !strings.Contains(text, "agent_seller") {
				t.Errorf("%s of %T prints %q", verb, x, text)
			}
		}
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("key", "id", id)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("key", "id", id)
	if strings.Count(log.String(), "agent_seller") != 2 {
		t.Errorf("logged %s", &log)
	}
	mustNotTell(t, errors.New(log.String()))
	if data, err := json.Marshal(id); err == nil {
		t.Errorf("json.Marshal = %s, want an error", data)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(content(f, false))
	f.Add(content(f, true))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parse(data)
		if err != nil {
			return
		}
		if wire.CheckID(got.agent) != nil || got.public.IsZero() || (got.sealed == nil) != (len(got.seed) == wire.SeedSize) {
			t.Errorf("parse(%q) = %+v", data, got)
		}
		if s := got.sealed; s != nil && (s.time-1 >= maxTime || s.memory-1 >= maxMemoryKiB || s.threads-1 >= maxThreads ||
			len(s.salt) != saltSize || len(s.nonce) != 24 || len(s.ciphertext) != 48 || strings.Contains(s.bound, `"ciphertext":`)) {
			t.Errorf("parse(%q) = %+v", data, s)
		}
	})
}
