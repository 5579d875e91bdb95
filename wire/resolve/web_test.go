package resolve_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mr-tron/base58"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/internal/clitest"
	"github.com/concordia-node/concordia/internal/outbound"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/resolve"
)

func TestDocumentURL(t *testing.T) {
	for did, want := range map[wire.AgentID]string{
		"did:web:w3c-ccg.github.io":            "https://w3c-ccg.github.io/.well-known/did.json",
		"did:web:w3c-ccg.github.io:user:alice": "https://w3c-ccg.github.io/user/alice/did.json",
		"did:web:example.com%3A3000":           "https://example.com:3000/.well-known/did.json",
		"did:web:example.com%3A3000:user:a.b":  "https://example.com:3000/user/a.b/did.json",
		"did:web:example.com#key-1":            "https://example.com/.well-known/did.json",
		"did:web:example.com:a#key-1:x":        "https://example.com/a/did.json",
		"did:web:xn--exmple-cua.org":           "https://xn--exmple-cua.org/.well-known/did.json",
		"did:web:localhost":                    "https://localhost/.well-known/did.json",
		"did:web:1and1.example:%C3%A9":         "https://1and1.example/%C3%A9/did.json",
		"did:web:example.com:.hidden":          "https://example.com/.hidden/did.json",
	} {
		if got, err := resolve.DocumentURL(did); got != want || err != nil {
			t.Errorf("DocumentURL(%s) = %q, %v, want %q", did, got, err, want)
		}
	}
	for name, did := range map[string]wire.AgentID{
		"another method":         "did:key:z6Mk",
		"upper case":             "DID:web:example.com",
		"nothing":                "did:web:",
		"no host":                "did:web::a",
		"IPv4":                   "did:web:127.0.0.1",
		"IPv4, short":            "did:web:127.1",
		"IPv4, a number":         "did:web:2130706433",
		"IPv4, hex":              "did:web:0x7f000001",
		"IPv4, hex at the end":   "did:web:127.0.0.0x1",
		"IPv4, public":           "did:web:8.8.8.8",
		"IPv6":                   "did:web:[::1]",
		"IPv6, encoded":          "did:web:%5B%3A%3A1%5D",
		"dot at the end":         "did:web:example.com.",
		"dots":                   "did:web:example..com",
		"hyphen first":           "did:web:-example.com",
		"hyphen last":            "did:web:example-.com",
		"underscore":             "did:web:exam_ple.com",
		"beyond ASCII":           "did:web:exämple.org",
		"beyond ASCII, encoded":  "did:web:ex%C3%A4mple.org",
		"encoded letter":         "did:web:ex%61mple.org",
		"encoded dot":            "did:web:example%2Ecom",
		"encoded slash":          "did:web:example.com%2Fevil",
		"long label":             wire.AgentID("did:web:" + strings.Repeat("a", 64) + ".org"),
		"long":                   wire.AgentID("did:web:" + strings.Repeat("a.", 124) + "org"),
		"user":                   "did:web:user@example.com",
		"slash":                  "did:web:example.com/evil",
		"query":                  "did:web:example.com?x",
		"port, lower case":       "did:web:example.com%3a3000",
		"port, none":             "did:web:example.com%3A",
		"port 0":                 "did:web:example.com%3A0",
		"port, zero first":       "did:web:example.com%3A0443",
		"port, sign":             "did:web:example.com%3A+443",
		"port, large":            "did:web:example.com%3A65536",
		"two ports":              "did:web:example.com%3A1%3A2",
		"empty part":             "did:web:example.com:",
		"empty part inside":      "did:web:example.com::a",
		"up":                     "did:web:example.com:..",
		"here":                   "did:web:example.com:.",
		"three dots":             "did:web:example.com:...",
		"up, encoded":            "did:web:example.com:%2E%2E",
		"slash in the path":      "did:web:example.com:a%2Fb",
		"backslash in the path":  "did:web:example.com:a%5Cb",
		"twice encoded":          "did:web:example.com:%252E%252E",
		"NUL":                    "did:web:example.com:%00",
		"broken encoding":        "did:web:example.com:%C",
		"no encoding":            "did:web:example.com:%ZZ",
		"sign in an encoding":    "did:web:example.com:%+A",
		"lower case encoding":    "did:web:example.com:%c3%a9",
		"not UTF-8":              "did:web:example.com:%C3",
		"overlong UTF-8":         "did:web:example.com:%C0%AE",
		"invisible":              "did:web:example.com:%E2%80%8B",
		"query in the path":      "did:web:example.com:a?b",
		"white space":            "did:web:example .com",
		"line break in the path": "did:web:example.com:a\n",
	} {
		if got, err := resolve.DocumentURL(did); err == nil {
			t.Errorf("%s: DocumentURL(%q) = %q, want an error", name, did, got)
		}
	}
}

const site = wire.AgentID("did:web:example.com")

// web answers with one document for every URL.
func web(text string) *resolve.Web {
	return &resolve.Web{
		Fetch: func(context.Context, string) ([]byte, error) { return []byte(text), nil },
		Now:   func() time.Time { return time.Date(2026, 9, 14, 10, 0, 0, 0, time.UTC) },
	}
}

// multikey returns a verification method with a key in Multikey form, and more members.
func multikey(tb testing.TB, name, more string) string {
	tb.Helper()
	return fmt.Sprintf(`{"id":"did:web:example.com#%s","type":"Multikey","controller":"did:web:example.com","publicKeyMultibase":"%s"%s}`,
		name, strings.TrimPrefix(string(wire.DIDKey(public(tb, name))), "did:key:"), more)
}

func document(methods, assertion string) string {
	return `{"@context":["https://www.w3.org/ns/did/v1"],"id":"did:web:example.com","verificationMethod":[` + methods + `],"assertionMethod":[` + assertion + `]}`
}

func method(form string) string {
	return document(`{"id":"#k","type":"JsonWebKey2020","controller":"did:web:example.com",`+form+`}`, `"#k"`)
}

// manyMethods are as many as a document may have, all of somebody else's.
func manyMethods() string {
	var list strings.Builder
	for i := range resolve.MaxMethods {
		fmt.Fprintf(&list, `,{"id":"#%d","type":"x","controller":"x"}`, i)
	}
	return list.String()
}

func TestResolve(t *testing.T) {
	a, b := multikey(t, "a", ""), multikey(t, "b", "")
	p256, err := wire.NewP256Key([]byte(strings.Repeat("p", 32)))
	if err != nil {
		t.Fatal(err)
	}
	raw := base64.RawURLEncoding
	x, point := raw.EncodeToString(public(t, "a").Bytes()), p256.Public().Bytes()
	curve := fmt.Sprintf(`"publicKeyJwk":{"kty":"EC","crv":"P-256","x":"%s","y":"%s","kid":"1"}`, raw.EncodeToString(point[1:33]), raw.EncodeToString(point[33:]))
	both := document(a+","+b, `"#a","#b"`)
	secp := `{"id":"#s","type":"Multikey","controller":"did:web:example.com","publicKeyMultibase":"zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme"}`
	for _, test := range []struct {
		name string
		id   wire.AgentID
		text string
		want wire.PublicKey // zero: unknown
	}{
		{"by reference", site, document(a, `"did:web:example.com#a"`), public(t, "a")},
		{"by a short reference", site, document(a, `"#a"`), public(t, "a")},
		{"embedded", site, `{"id":"did:web:example.com","assertionMethod":[` + a + `]}`, public(t, "a")},
		{"named", site + "#b", both, public(t, "b")},
		{"the only one for assertions", site, document(a+","+b, `"#b"`), public(t, "b")},
		{"of another algorithm beside", site, document(a+","+secp, `"#a","#s"`), public(t, "a")},
		{"the same key twice", site, document(a+","+strings.Replace(a, "#a", "#again", 1), `"#a","#again"`), public(t, "a")},
		{"of another document beside", site, document(a, `"#a","did:web:other.example#b"`), public(t, "a")},
		{"Ed25519 as a JWK", site, method(`"publicKeyJwk":{"kty":"OKP","crv":"Ed25519","x":"` + x + `"}`), public(t, "a")},
		{"P-256 as a JWK", site, method(curve), p256.Public()},
		{"Ed25519VerificationKey2018", site, strings.Replace(method(`"publicKeyBase58":"`+base58.Encode(public(t, "a").Bytes())+`"`), "JsonWebKey2020", "Ed25519VerificationKey2018", 1), public(t, "a")},
		{"not yet expired", site, document(multikey(t, "a", `,"expires":"2026-09-14T10:00:01Z"`), `"#a"`), public(t, "a")},
		{"after the expiry of another", site, document(multikey(t, "a", `,"expires":"2026-09-14T10:00:00Z"`)+","+b, `"#a","#b"`), public(t, "b")},

		{"two, none named", site, both, wire.PublicKey{}},
		{"a name that is not there", site + "#c", both, wire.PublicKey{}},
		{"not for assertions", site, document(a, ""), wire.PublicKey{}},
		{"named, not for assertions", site + "#a", document(a+","+b, `"#b"`), wire.PublicKey{}},
		{"no assertions at all", site, `{"id":"did:web:example.com","verificationMethod":[` + a + `]}`, wire.PublicKey{}},
		{"for authentication", site, strings.Replace(document(a, `"#a"`), "assertionMethod", "authentication", 1), wire.PublicKey{}},
		{"of another controller", site, document(strings.Replace(a, `"controller":"did:web:example.com"`, `"controller":"did:web:other.example"`, 1), `"#a"`), wire.PublicKey{}},
		{"a method of another DID", site, document(strings.Replace(a, "did:web:example.com#a", "did:web:other.example#a", 1), `"did:web:other.example#a"`), wire.PublicKey{}},
		{"revoked", site, document(multikey(t, "a", `,"revoked":"2030-01-01T00:00:00Z"`), `"#a"`), wire.PublicKey{}},
		{"expired", site, document(multikey(t, "a", `,"expires":"2026-09-14T10:00:00Z"`), `"#a"`), wire.PublicKey{}},
		{"expires at no instant", site, document(multikey(t, "a", `,"expires":"soon"`), `"#a"`), wire.PublicKey{}},
		{"two forms", site, document(multikey(t, "a", `,"publicKeyJwk":{"kty":"OKP","crv":"Ed25519","x":"`+x+`"}`), `"#a"`), wire.PublicKey{}},
		{"no form", site, method(`"publicKeyPem":"x"`), wire.PublicKey{}},
		{"base58 of an unsaid algorithm", site, method(`"publicKeyBase58":"` + base58.Encode(public(t, "a").Bytes()) + `"`), wire.PublicKey{}},
		{"short base58", site, strings.Replace(method(`"publicKeyBase58":"1111"`), "JsonWebKey2020", "Ed25519VerificationKey2018", 1), wire.PublicKey{}},
		{"long base58", site, strings.Replace(method(`"publicKeyBase58":"`+base58.Encode(point)+`"`), "JsonWebKey2020", "Ed25519VerificationKey2018", 1), wire.PublicKey{}},
		{"X25519", site, method(`"publicKeyJwk":{"kty":"OKP","crv":"X25519","x":"` + x + `"}`), wire.PublicKey{}},
		{"another multicodec", site, document(secp, `"#s"`), wire.PublicKey{}},
		{"a long key behind the multicodec", site, method(`"publicKeyMultibase":"z` + base58.Encode(append([]byte{0xed, 1}, point...)) + `"`), wire.PublicKey{}},
		{"another multibase", site, method(`"publicKeyMultibase":"f` + hex.EncodeToString(public(t, "a").Bytes()) + `"`), wire.PublicKey{}},
		{"not base58", site, method(`"publicKeyMultibase":"z0OIl"`), wire.PublicKey{}},
		{"endless base58", site, method(`"publicKeyMultibase":"z` + strings.Repeat("2", 60000) + `"`), wire.PublicKey{}},
		{"of small order", site, method(`"publicKeyJwk":{"kty":"OKP","crv":"Ed25519","x":"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`), wire.PublicKey{}},
		{"padded JWK", site, method(`"publicKeyJwk":{"kty":"OKP","crv":"Ed25519","x":"` + x + `="}`), wire.PublicKey{}},
		{"not on the curve", site, method(`"publicKeyJwk":{"kty":"EC","crv":"P-256","x":"` + x + `","y":"` + x + `"}`), wire.PublicKey{}},
		{"a private key", site, method(`"publicKeyJwk":{"kty":"OKP","crv":"Ed25519","x":"` + x + `","d":"` + x + `"}`), wire.PublicKey{}},

		{"another id", site, strings.Replace(document(a, `"#a"`), `"id":"did:web:example.com"`, `"id":"did:web:other.example"`, 1), wire.PublicKey{}},
		{"an id with a fragment", site + "#a", strings.Replace(document(a, `"#a"`), `"id":"did:web:example.com"`, `"id":"did:web:example.com#a"`, 1), wire.PublicKey{}},
		{"no id", site, strings.Replace(document(a, `"#a"`), `"id":"did:web:example.com",`, "", 1), wire.PublicKey{}},
		{"ID", site, strings.Replace(document(a, `"#a"`), `"@context"`, `"ID"`, 1), wire.PublicKey{}},
		{"two methods of one id", site, document(a+","+a, `"#a"`), wire.PublicKey{}},
		{"two spellings of one id", site, document(a+","+strings.Replace(b, "did:web:example.com#b", "#a", 1), `"#a"`), wire.PublicKey{}},
		{"embedded under an id that is there", site, document(a, strings.Replace(b, "#b", "#a", 1)), wire.PublicKey{}},
		{"a reference that is a number", site, document(a, `"#a",1`), wire.PublicKey{}},
		{"methods in no list", site, `{"id":"did:web:example.com","verificationMethod":` + a + `,"assertionMethod":["#a"]}`, wire.PublicKey{}},
		{"a key that is no text", site, method(`"publicKeyMultibase":1`), wire.PublicKey{}},
		{"too many methods", site, document(a+manyMethods(), `"#a"`), wire.PublicKey{}},
		{"not JSON", site, `<html>`, wire.PublicKey{}},
		{"a member twice", site, strings.Replace(document(a, `"#a"`), `"@context"`, `"id":"did:web:example.com","@context"`, 1), wire.PublicKey{}},
		{"deep", site, strings.Replace(document(a, `"#a"`), `["https://www.w3.org/ns/did/v1"]`, strings.Repeat("[", 20)+strings.Repeat("]", 20), 1), wire.PublicKey{}},
		{"too large", site, strings.Replace(document(a, `"#a"`), `"@context"`, `"x":"`+strings.Repeat("x", resolve.MaxDocumentSize)+`","@context"`, 1), wire.PublicKey{}},
		{"an address", "did:web:127.0.0.1", document(a, `"#a"`), wire.PublicKey{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := web(test.text).Resolve(t.Context(), test.id)
			if got != test.want || test.want.IsZero() != errors.Is(err, wire.RuleUnknownKey) {
				t.Errorf("Resolve = %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

// A real server is asked over TLS, and not unless the client may dial it.
func TestResolveOverTLS(t *testing.T) {
	var did string
	s, port, cert, err := clitest.ServeLocalhost(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/agents/a/did.json" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, strings.ReplaceAll(document(multikey(t, "a", ""), `"#a"`), string(site), did))
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	did = "did:web:localhost%3A" + port + ":agents:a"
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	client := outbound.Client{Roots: roots, HighPorts: true, Allow: func(a netip.Addr) bool { return a.IsLoopback() }}
	w := &resolve.Web{Fetch: client.Get}
	if k, err := w.Resolve(t.Context(), wire.AgentID(did)); k != public(t, "a") || err != nil {
		t.Errorf("Resolve = %v, %v, want %v", k, err, public(t, "a"))
	}
	if _, err := w.Resolve(t.Context(), wire.AgentID(did+":b")); !errors.Is(err, outbound.ErrStatus) {
		t.Errorf("Resolve of what is not there = %v, want %v", err, outbound.ErrStatus)
	}
	if _, err := new(resolve.Web).Resolve(t.Context(), wire.AgentID(did)); !errors.Is(err, outbound.ErrAddress) {
		t.Errorf("Resolve with the strict client = %v, want %v", err, outbound.ErrAddress)
	}
}

func TestOnline(t *testing.T) {
	var asked atomic.Int32
	w := &resolve.Web{Fetch: func(_ context.Context, url string) ([]byte, error) {
		asked.Add(1)
		if strings.Contains(url, "down.example") {
			return nil, errors.New("no answer")
		}
		return []byte(document(multikey(t, "a", "")+","+multikey(t, "b", ""), `"#a","#b"`)), nil
	}}
	keys := w.Online(t.Context())
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			name := []string{"a", "b"}[i%2]
			if k, err := keys.Key(site+wire.AgentID("#"+name), time.Time{}); k != public(t, name) || err != nil {
				t.Errorf("Key(#%s) = %v, %v", name, k, err)
			}
		})
	}
	group.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("the document was asked for %d times, want once", n)
	}
	for range 2 {
		_, err := keys.Key("did:web:down.example", time.Time{})
		if u, ok := errors.AsType[*wire.Unchecked](err); !ok || u.Moot {
			t.Errorf("Key of a host that is down = %v, want that it was not checked", err)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("two documents were asked for %d times", n)
	}
	for _, id := range []wire.AgentID{"did:key:z6Mk", "agent", "did:web:127.0.0.1", site} {
		if _, err := keys.Key(id, time.Time{}); !errors.Is(err, wire.RuleUnknownKey) {
			t.Errorf("Key(%s) = %v, want %v", id, err, wire.RuleUnknownKey)
		}
	}
}

func TestOnlineIsBounded(t *testing.T) {
	w := web(document(multikey(t, "a", ""), `"#a"`))
	w.MaxDocuments = 1
	keys := w.Online(t.Context())
	if _, err := keys.Key(site, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Key("did:web:other.example", time.Time{}); !isUnchecked(err) {
		t.Errorf("Key beyond the bound = %v, want that it was not checked", err)
	}
	if _, err := keys.Key(site, time.Time{}); err != nil {
		t.Errorf("Key once the bound is reached: %v", err)
	}
}

func isUnchecked(err error) bool {
	_, ok := errors.AsType[*wire.Unchecked](err)
	return ok
}

// Whatever becomes of a key that is not there, the artifact neither stands nor falls
// by it.
func TestOnlineInAVerification(t *testing.T) {
	issuer := attest.Issuer{Agent: site, Key: private(t, "a"), Now: time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC), Random: strings.NewReader(strings.Repeat("chance", 10))}
	v, err := issuer.Predicate(parse(t, `{"type":"authority_gate","subject":"x","condition":{"result":"satisfied"},"expires_at":"2026-12-01T00:00:00Z"}`))
	if err != nil {
		t.Fatal(err)
	}
	sound := document(multikey(t, "a", ""), `"#a"`)
	for _, test := range []struct {
		name string
		web  *resolve.Web
		want wire.Outcome
	}{
		{"its key", web(sound), wire.Passed},
		{"another key", web(document(multikey(t, "b", ""), `"#b"`)), wire.Failed},
		{"another document", web(strings.ReplaceAll(sound, "example.com", "other.example")), wire.NotChecked},
		{"no document", &resolve.Web{Fetch: func(context.Context, string) ([]byte, error) { return nil, errors.New("down") }}, wire.NotChecked},
	} {
		f := attest.Verifier{Keys: test.web.Online(t.Context()), Now: time.Date(2026, 9, 14, 10, 0, 0, 0, time.UTC)}
		if _, report := f.VerifyPredicate(v); report.Outcome() != test.want {
			t.Errorf("%s: the outcome is %v (%v), want %v", test.name, report.Outcome(), report.Err(), test.want)
		}
	}
}

// A message of a did:web whose host does not answer is not refused: nobody can tell.
func TestOnlineVerifiesMessages(t *testing.T) {
	m, err := wire.Sign(wire.Envelope{Type: "negotiate.open", ID: "msg_1", Session: "ses_1", Time: time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC), From: site, Body: parse(t, `{}`)}, private(t, "a"))
	if err != nil {
		t.Fatal(err)
	}
	u, err := wire.ReadMessage(m.Value())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Verify(web(document(multikey(t, "a", ""), `"#a"`)).Online(t.Context())); err != nil {
		t.Errorf("Verify: %v", err)
	}
	down := &resolve.Web{Fetch: func(context.Context, string) ([]byte, error) { return nil, errors.New("down") }}
	if _, err := u.Verify(down.Online(t.Context())); !isUnchecked(err) {
		t.Errorf("Verify while the host is down = %v, want that it was not checked", err)
	}
}

func FuzzDocumentURL(f *testing.F) {
	for _, seed := range []string{
		"did:web:example.com", "did:web:example.com%3A3000:user:alice#key-1", "did:web:127.0.0.1", "did:web:0x7f.1",
		"did:web:example.com:..", "did:web:example.com:%C3%A9", "did:web:example.com:%2E%2E", "did:web:[::1]", "did:web:a@b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		text, err := resolve.DocumentURL(wire.AgentID(id))
		if err != nil {
			return
		}
		u, err := http.NewRequest(http.MethodGet, text, nil)
		if err != nil {
			t.Fatalf("DocumentURL(%q) = %q: %v", id, text, err)
		}
		did, _, _ := strings.Cut(id, "#")
		host, _, _ := strings.Cut(strings.TrimPrefix(did, "did:web:"), ":")
		host = strings.Replace(host, "%3A", ":", 1)
		if u.URL.Scheme != "https" || u.URL.Host != host || u.URL.User != nil || u.URL.RawQuery != "" || u.URL.Fragment != "" ||
			!strings.HasSuffix(u.URL.Path, "/did.json") || strings.Contains(u.URL.Path, "/../") || strings.Contains(u.URL.Path, "//") {
			t.Errorf("DocumentURL(%q) = %q", id, text)
		}
		if _, err := netip.ParseAddr(u.URL.Hostname()); err == nil {
			t.Errorf("DocumentURL(%q) = %q, an address", id, text)
		}
	})
}

func FuzzDocument(f *testing.F) {
	a, b := multikey(f, "a", ""), multikey(f, "b", `,"expires":"2026-09-14T10:00:00Z"`)
	for _, seed := range []string{
		document(a, `"#a"`), document(a+","+b, `"#a","#b"`), document("", a), method(`"publicKeyJwk":{"kty":"OKP","crv":"Ed25519","x":"AA"}`),
		method(`"publicKeyBase58":"1"`), `{"id":"did:web:example.com"}`, `[]`,
	} {
		f.Add([]byte(seed), "a")
	}
	f.Fuzz(func(t *testing.T, data []byte, fragment string) {
		keys := web(string(data)).Online(t.Context())
		for _, id := range []wire.AgentID{site, site + "#" + wire.AgentID(fragment)} {
			k, err := keys.Key(id, time.Time{})
			if k.IsZero() == (err == nil) || err != nil && !errors.Is(err, wire.RuleUnknownKey) {
				t.Errorf("Key(%q) = %v, %v", id, k, err)
			}
			if err == nil && !strings.Contains(string(data), "assertionMethod") && !strings.Contains(string(data), `\u`) {
				t.Errorf("Key(%q) is of a document without assertionMethod", id)
			}
		}
	})
}
