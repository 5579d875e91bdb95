package endpoint_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/endpoint"
	"github.com/concordia-node/concordia/internal/clitest"
	"github.com/concordia-node/concordia/internal/outbound"
	"github.com/concordia-node/concordia/wire"
)

func answers(text string) endpoint.Fetch {
	return func(context.Context, string) ([]byte, error) { return []byte(text), nil }
}

func down(context.Context, string) ([]byte, error) { return nil, errors.New("down") }

const id = "urn:concordia:mandate:12"

func TestAsk(t *testing.T) {
	for _, test := range []struct {
		name, answer string
		want, known  bool
	}{
		{"listed", `{"revoked_ids":["urn:concordia:mandate:1","urn:concordia:mandate:12"]}`, true, true},
		{"not listed", `{"revoked_ids":["urn:concordia:mandate:1"]}`, false, true},
		{"nothing listed", `{"revoked_ids":[],"updated":"2026-01-01"}`, false, true},
		{"part of another", `{"revoked_ids":["urn:concordia:mandate:123","xurn:concordia:mandate:12"]}`, false, true},
		{"other case", `{"revoked_ids":["URN:concordia:mandate:12"]}`, false, true},
		{"escaped", `{"revoked_ids":["urn:concordia:mandate:\u0031\u0032"]}`, true, true},
		{"a text", `{"revoked_ids":"urn:concordia:mandate:12"}`, false, false},
		{"a text of others", `{"revoked_ids":"urn:concordia:mandate:1,urn:concordia:mandate:3"}`, false, false},
		{"an object", `{"revoked_ids":{"urn:concordia:mandate:12":true}}`, false, false},
		{"null", `{"revoked_ids":null}`, false, false},
		{"a number in it", `{"revoked_ids":["urn:concordia:mandate:12",1]}`, false, false},
		{"a list in it", `{"revoked_ids":[["urn:concordia:mandate:12"]]}`, false, false},
		{"null in it", `{"revoked_ids":[null]}`, false, false},
		{"no list", `{"revoked":[]}`, false, false},
		{"other name", `{"Revoked_IDs":["urn:concordia:mandate:12"],"revoked_ids":[]}`, false, false},
		{"twice", `{"revoked_ids":[],"revoked_ids":["urn:concordia:mandate:12"]}`, false, false},
		{"an array", `["urn:concordia:mandate:12"]`, false, false},
		{"nothing", ``, false, false},
		{"not JSON", `<html>urn:concordia:mandate:12</html>`, false, false},
		{"more than JSON", `{"revoked_ids":[]} x`, false, false},
		{"not UTF-8", "{\"revoked_ids\":[\"\xff\"]}", false, false},
		{"deep", `{"revoked_ids":[],"x":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`, false, false},
		{"many", `{"revoked_ids":[""` + strings.Repeat(`,""`, 1<<16) + `]}`, false, false},
		{"large", `{"revoked_ids":["` + strings.Repeat("x", endpoint.MaxAnswerSize) + `"]}`, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := endpoint.Ask(t.Context(), answers(test.answer), "https://example.org/revoked", id)
			if got != test.want || (err == nil) != test.known {
				t.Errorf("Ask = %v, %v, want %v, known %v", got, err, test.want, test.known)
			}
		})
	}
	if _, err := endpoint.Ask(t.Context(), down, "https://example.org/revoked", id); err == nil {
		t.Error("Ask of nobody is no error")
	}
}

func TestListedAsksOnce(t *testing.T) {
	var asked atomic.Int32
	listed := endpoint.Listed(t.Context(), func(_ context.Context, url string) ([]byte, error) {
		asked.Add(1)
		if strings.HasSuffix(url, "down") {
			return nil, errors.New("down")
		}
		return []byte(`{"revoked_ids":["a"]}`), nil
	})
	var group sync.WaitGroup
	for i := range 30 {
		group.Go(func() {
			name := []string{"a", "b"}[i%2]
			if got, err := listed("https://example.org", name); got != (name == "a") || err != nil {
				t.Errorf("Listed(%s) = %v, %v", name, got, err)
			}
			if got, err := listed("https://example.org/down", name); got || err == nil {
				t.Errorf("Listed(%s) where nobody answers = %v, %v", name, got, err)
			}
		})
	}
	group.Wait()
	if n := asked.Load(); n != 2 {
		t.Errorf("two endpoints were asked %d times", n)
	}
}

func TestListedIsBounded(t *testing.T) {
	listed := endpoint.Listed(t.Context(), answers(`{"revoked_ids":[]}`))
	for i := range endpoint.DefaultMaxEndpoints + 1 {
		if _, err := listed("https://example.org/"+strings.Repeat("a", i), id); (err != nil) != (i == endpoint.DefaultMaxEndpoints) {
			t.Errorf("endpoint %d: %v", i, err)
		}
	}
}

func TestAskOverTLS(t *testing.T) {
	s, port, cert, err := clitest.ServeLocalhost(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"revoked_ids":["`+id+`"]}`)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	client := &outbound.Client{Roots: roots, HighPorts: true, Allow: func(a netip.Addr) bool { return a.IsLoopback() }}
	url := "https://localhost:" + port + "/revoked"
	if revoked, err := endpoint.Ask(t.Context(), client.Get, url, id); !revoked || err != nil {
		t.Errorf("Ask = %v, %v, want true", revoked, err)
	}
	if _, err := endpoint.Ask(t.Context(), nil, url, id); !errors.Is(err, outbound.ErrAddress) {
		t.Errorf("Ask with the strict client = %v, want %v", err, outbound.ErrAddress)
	}
	if _, err := endpoint.Ask(t.Context(), client.Get, "http://localhost:"+port, id); !errors.Is(err, outbound.ErrURL) {
		t.Errorf("Ask without TLS = %v, want %v", err, outbound.ErrURL)
	}
}

// What the endpoint says enters the verdict.
func TestVerification(t *testing.T) {
	key, err := wire.NewPrivateKey([]byte(strings.Repeat("k", wire.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 9, 14, 10, 0, 0, 0, time.UTC)
	issuer := attest.Issuer{Agent: "did:web:example.com", Key: key, Now: now, Random: strings.NewReader(strings.Repeat("chance", 100))}
	draft, err := wire.Parse([]byte(`{"subject":"x","revocation_endpoint":"https://example.com/revoked","constraints":{"type":"object"},
		"validity":{"mode":"windowed","not_before":"2026-09-01T00:00:00Z","not_after":"2026-10-01T00:00:00Z"}}`), wire.DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	v, err := issuer.Mandate(draft)
	if err != nil {
		t.Fatal(err)
	}
	mandateID, _ := v.Get("mandate_id")
	for _, test := range []struct {
		name  string
		fetch endpoint.Fetch
		want  wire.Outcome
		rule  *wire.Rule
	}{
		{"not listed", answers(`{"revoked_ids":[]}`), wire.Passed, nil},
		{"listed", answers(`{"revoked_ids":["` + mandateID.Text() + `"]}`), wire.Failed, attest.RuleMandateRevoked},
		{"no sense", answers(`{"revoked_ids":"` + mandateID.Text() + `"}`), wire.NotChecked, nil},
		{"down", down, wire.NotChecked, nil},
	} {
		f := attest.Verifier{Keys: wire.KeyMap{"did:web:example.com": key.Public()}, Now: now, Listed: endpoint.Listed(t.Context(), test.fetch)}
		action, err := wire.Encode(wire.M{})
		if err != nil {
			t.Fatal(err)
		}
		_, report := f.VerifyMandate(v, attest.Use{Action: action})
		if report.Outcome() != test.want || test.rule != nil && !errors.Is(report.Err(), test.rule) {
			t.Errorf("%s: %v (%v), want %v", test.name, report.Outcome(), report.Err(), test.want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{`{"revoked_ids":["a"]}`, `{"revoked_ids":"a"}`, `{"revoked_ids":[],"Revoked_ids":["a"]}`, `{"revoked_ids":["\u0061"]}`, `[]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		revoked, err := endpoint.Ask(t.Context(), answers(string(data)), "https://example.org", "a")
		v, parseErr := wire.Parse(data, wire.DocumentLimits)
		listed, _ := v.Get("revoked_ids")
		if err == nil && (parseErr != nil || listed.Kind() != wire.Array) {
			t.Errorf("%q was read", data)
		}
		if revoked && (err != nil || listed.Len() == 0) {
			t.Errorf("Ask of %q = true, %v", data, err)
		}
	})
}
