package mcpserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// MinToken is how many bytes a token has at least.
const MinToken = 32

// A tokenSum is the hash of a token: hashes of different tokens have one length, and can
// be compared in constant time.
type tokenSum [sha256.Size]byte

// sums are the hashes of tokens, each once.
func sums(tokens []string) (all []tokenSum, err error) {
	if len(tokens) == 0 {
		return nil, errors.New("a token is missing: whoever can ask the server negotiates as its agent")
	}
	for i, t := range tokens {
		if len(t) < MinToken || strings.ContainsFunc(t, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, fmt.Errorf("token %d: want at least %d visible characters of ASCII", i+1, MinToken)
		}
		if sum := sha256.Sum256([]byte(t)); !slices.Contains(all, sum) { // bears adds up the places of all that are equal
			all = append(all, sum)
		}
	}
	return all, nil
}

// admit decides whether a request may be answered, and says which token it bears. If not,
// it has refused it. What is cheap comes first: where the request was sent to, then from
// which page, then who asks.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) (token int, ok bool) {
	if !h.isHost(r) {
		http.Error(w, "this server is not called by that Host", http.StatusForbidden)
		return 0, false
	}
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		if len(origins) > 1 || !slices.Contains(h.opts.Origins, origins[0]) {
			http.Error(w, "the owner has not listed this Origin", http.StatusForbidden)
			return 0, false
		}
		allowOrigin(w.Header(), origins[0])
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			w.WriteHeader(http.StatusNoContent)
			return 0, false
		}
	}
	if token, ok = h.bears(r); !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "a bearer token of this node is needed", http.StatusUnauthorized)
	}
	return token, ok
}

// isHost reports whether a request asks for this server by a name that it has. A page
// whose name was made to mean this machine has another (DNS rebinding).
func (h *Handler) isHost(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	if slices.ContainsFunc(h.opts.Hosts, func(name string) bool { return strings.EqualFold(name, host) }) {
		return true
	}
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if at == nil {
		return false
	}
	here, err := netip.ParseAddrPort(at.String())
	if err != nil || !here.Addr().Unmap().IsLoopback() {
		return false
	}
	named, err := netip.ParseAddr(host)
	return err == nil && named.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// bears says which of the tokens a request bears. It takes as long for each.
func (h *Handler) bears(r *http.Request) (which int, ok bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return 0, false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	found := 0
	for i, known := range h.tokens {
		found |= subtle.ConstantTimeCompare(sum[:], known[:]) * (i + 1)
	}
	return found - 1, found > 0 && strings.EqualFold(scheme, "Bearer")
}

// allowOrigin tells a browser that the pages of an origin may ask and read the answer.
func allowOrigin(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Last-Event-ID, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Retry-After")
	h.Set("Access-Control-Max-Age", "600")
	h.Set("Vary", "Origin")
}
