package relay_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/relay"
)

// A page of a listed origin can do in a browser what any client can, registering and
// all; others cannot, and neither reads what is for the operator.
func TestOrigins(t *testing.T) {
	const listed = "https://app.example"
	s := listen(t, setting{options: relay.ServerOptions{Origins: []string{listed}}})
	for _, c := range []struct {
		name, origin, method, path, asks string
		status                           int
		allowed                          bool
	}{
		{"may it register", listed, "OPTIONS", "/v1/register", "POST", 204, true},
		{"a challenge", listed, "POST", "/v1/challenge", "", 200, true},
		{"a refusal", listed, "POST", "/v1/sessions", "", 401, true},
		{"what the relay is", listed, "GET", "/.well-known/concordia-relay", "", 200, true},
		{"another method", listed, "OPTIONS", "/v1/register", "DELETE", 400, true},
		{"no preflight", listed, "OPTIONS", "/v1/register", "", 400, true},
		{"health", listed, "GET", "/healthz", "", 200, false},
		{"metrics", listed, "GET", "/metrics", "", 200, false},
		{"may it register from elsewhere", "https://app.example.evil", "OPTIONS", "/v1/register", "POST", 400, false},
		{"a challenge from elsewhere", "https://app.example.evil", "POST", "/v1/challenge", "", 400, false},
		{"a challenge from nowhere", "null", "POST", "/v1/challenge", "", 400, false},
		{"no browser", "", "OPTIONS", "/v1/register", "POST", 400, false},
	} {
		r, err := http.NewRequest(c.method, s.url+c.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if c.asks != "" {
			r.Header.Set("Access-Control-Request-Method", c.asks)
		}
		answer, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		allows := answer.Header.Get("Access-Control-Allow-Origin")
		if answer.StatusCode != c.status || (allows == listed) != c.allowed || !c.allowed && allows != "" {
			t.Errorf("%s: HTTP %d, allows %q", c.name, answer.StatusCode, allows)
		}
	}
}
