package outbound_test

import (
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concordia-node/concordia/internal/outbound"
)

// local allows the loopback addresses, as a test has no others.
func local(a netip.Addr) bool { return a.IsLoopback() }

// serve runs a TLS server and returns it with a client that may ask it, and how often
// somebody connected.
func serve(t *testing.T, h http.HandlerFunc) (*httptest.Server, *outbound.Client, *atomic.Int32) {
	t.Helper()
	connected := new(atomic.Int32)
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connected.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s, &outbound.Client{Allow: local, Roots: roots, HighPorts: true}, connected
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
}

func TestGet(t *testing.T) {
	var asked *http.Request
	s, c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r
		io.WriteString(w, "{}")
	})
	body, err := c.Get(t.Context(), s.URL+"/a%20b/did.json?x=1")
	if err != nil || string(body) != "{}" {
		t.Fatalf("Get = %q, %v, want {}", body, err)
	}
	if asked.Method != http.MethodGet || asked.RequestURI != "/a%20b/did.json?x=1" || asked.Header.Get("Accept-Encoding") != "" {
		t.Errorf("it asked %s %s with %v", asked.Method, asked.RequestURI, asked.Header)
	}
}

// A server of this machine is not asked, however its address is spelled, unless the
// caller allows it.
func TestGetDialsPublicAddressesOnly(t *testing.T) {
	s, allowed, connected := serve(t, says("secret"))
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	strict := &outbound.Client{Roots: allowed.Roots, HighPorts: true}
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "[::1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "0.0.0.0", "[::]", "169.254.169.254", "10.0.0.1", "[fd00:ec2::254]", "[2002:7f00:1::]", "[64:ff9b::7f00:1]"} {
		if body, err := strict.Get(t.Context(), "https://"+host+":"+port+"/"); !errors.Is(err, outbound.ErrAddress) {
			t.Errorf("Get of %s = %q, %v, want %v", host, body, err, outbound.ErrAddress)
		}
	}
	// What a resolver makes of these differs from system to system.
	strict.Resolver = names(t, "127.0.0.1")
	for _, host := range []string{"127.1", "2130706433", "0x7f000001", "0177.0.0.1"} {
		if body, err := strict.Get(t.Context(), "https://"+host+":"+port+"/"); err == nil {
			t.Errorf("Get of %s = %q, want an error", host, body)
		}
	}
	if n := connected.Load(); n != 0 {
		t.Errorf("the server saw %d connections, want none", n)
	}
	if _, err := allowed.Get(t.Context(), s.URL); err != nil {
		t.Errorf("Get, allowed: %v", err)
	}
}

func TestGetRefusesURLs(t *testing.T) {
	c := &outbound.Client{Allow: func(netip.Addr) bool { return true }}
	for _, test := range []struct {
		name, url string
		want      error
	}{
		{"http", "http://example.org/", outbound.ErrURL},
		{"file", "file:///etc/passwd", outbound.ErrURL},
		{"no scheme", "example.org", outbound.ErrURL},
		{"no host", "https:///did.json", outbound.ErrURL},
		{"opaque", "https:example.org", outbound.ErrURL},
		{"user", "https://user:pass@example.org/", outbound.ErrURL},
		{"fragment", "https://example.org/#x", outbound.ErrURL},
		{"empty fragment", "https://example.org/#", outbound.ErrURL},
		{"beyond ASCII", "https://exämple.org/", outbound.ErrURL},
		{"escaped host", "https://127%2e0.0.1/", outbound.ErrURL},
		{"zone", "https://[fe80::1%25eth0]/", outbound.ErrURL},
		{"white space", "https://example.org /", outbound.ErrURL},
		{"control character", "https://example.org/\r\nHost: x", outbound.ErrURL},
		{"long", "https://example.org/" + strings.Repeat("a", outbound.MaxURL), outbound.ErrURL},
		{"long host", "https://" + strings.Repeat("a", 254), outbound.ErrURL},
		{"port", "https://example.org:80/", outbound.ErrPort},
		{"high port", "https://example.org:8443/", outbound.ErrPort},
		{"empty port", "https://example.org:/", outbound.ErrPort},
		{"port of IPv6", "https://[::1]:22/", outbound.ErrPort},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := c.Get(t.Context(), test.url)
			if !errors.Is(err, test.want) {
				t.Fatalf("Get = %v, want %v", err, test.want)
			}
			if strings.Contains(err.Error(), "pass") || len(err.Error()) > 200 {
				t.Errorf("the error repeats the URL: %v", err)
			}
		})
	}
	c.HighPorts = true
	for _, port := range []string{"22", "1023", "0", "65536", "-1", "+8443"} {
		if _, err := c.Get(t.Context(), "https://example.org:"+port+"/"); !errors.Is(err, outbound.ErrPort) && !errors.Is(err, outbound.ErrURL) {
			t.Errorf("Get at port %s = %v, want %v", port, err, outbound.ErrPort)
		}
	}
}

func TestGetRefusesAnswers(t *testing.T) {
	redirected := new(atomic.Int32)
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { redirected.Add(1) }))
	t.Cleanup(target.Close)
	redirect := func(status int, to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) }
	}
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		want   error
	}{
		{"redirect to loopback", redirect(http.StatusFound, target.URL), outbound.ErrRedirect},
		{"permanent redirect", redirect(http.StatusPermanentRedirect, target.URL), outbound.ErrRedirect},
		{"redirect to itself", redirect(http.StatusMovedPermanently, "/other"), outbound.ErrRedirect},
		{"not modified", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, outbound.ErrRedirect},
		{"not found", http.NotFound, outbound.ErrStatus},
		{"no content", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, outbound.ErrStatus},
		{"a byte too large", says(strings.Repeat("x", outbound.DefaultMaxBody+1)), outbound.ErrTooLarge},
		{"without end", func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		}, outbound.ErrTooLarge},
		{"compressed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			z.Write(make([]byte, 32<<20))
			z.Close()
		}, outbound.ErrEncoding},
		{"long headers", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 2*outbound.MaxHeaders))
		}, outbound.ErrFailed},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "12345")
		}, outbound.ErrFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, c, _ := serve(t, test.answer)
			if body, err := c.Get(t.Context(), s.URL); !errors.Is(err, test.want) || body != nil {
				t.Errorf("Get = %d bytes, %v, want %v", len(body), err, test.want)
			}
		})
	}
	if n := redirected.Load(); n != 0 {
		t.Errorf("redirects were followed %d times", n)
	}

	s, c, _ := serve(t, says(strings.Repeat("x", outbound.DefaultMaxBody)))
	if body, err := c.Get(t.Context(), s.URL); len(body) != outbound.DefaultMaxBody || err != nil {
		t.Errorf("Get at the bound = %d bytes, %v", len(body), err)
	}
	c.MaxBody = 10
	if _, err := c.Get(t.Context(), s.URL); !errors.Is(err, outbound.ErrTooLarge) {
		t.Errorf("Get beyond MaxBody = %v, want %v", err, outbound.ErrTooLarge)
	}
}

// A server that sends byte after byte does not hold anybody for longer than the client
// waits.
func TestGetEnds(t *testing.T) {
	drip := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
			http.NewResponseController(w).Flush()
		}
	}
	s, c, _ := serve(t, drip)
	c.Timeout, c.MaxBody = 100*time.Millisecond, 1<<30
	if _, err := c.Get(t.Context(), s.URL); !errors.Is(err, outbound.ErrTimeout) {
		t.Errorf("Get from a slow body = %v, want %v", err, outbound.ErrTimeout)
	}

	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if _, err := c.Get(t.Context(), "https://"+silent.Addr().String()); !errors.Is(err, outbound.ErrTimeout) {
		t.Errorf("Get without a handshake = %v, want %v", err, outbound.ErrTimeout)
	}

	c.Timeout = 0
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ctx, s.URL); !errors.Is(err, outbound.ErrTimeout) {
		t.Errorf("Get, cancelled = %v, want %v", err, outbound.ErrTimeout)
	}
}

// Neither a certificate of nobody's nor one for another name will do.
func TestGetChecksCertificates(t *testing.T) {
	s, c, _ := serve(t, says("{}"))
	c.Roots = nil
	if _, err := c.Get(t.Context(), s.URL); !errors.Is(err, outbound.ErrTLS) {
		t.Errorf("Get from an unknown authority = %v, want %v", err, outbound.ErrTLS)
	}
	s, c, _ = serve(t, says("{}"))
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	_, err := c.Get(t.Context(), "https://localhost:"+port)
	if !errors.Is(err, outbound.ErrTLS) {
		t.Errorf("Get under another name = %v, want %v", err, outbound.ErrTLS)
	}
	if e, ok := errors.AsType[*outbound.Error](err); !ok || e.Host != "localhost:"+port || strings.Contains(err.Error(), "example.com") {
		t.Errorf("the error is %v: it names the host and does not repeat the certificate", err)
	}
	plain := httptest.NewServer(says("{}"))
	defer plain.Close()
	if _, err := c.Get(t.Context(), "https"+strings.TrimPrefix(plain.URL, "http")); !errors.Is(err, outbound.ErrFailed) {
		t.Errorf("Get from a server without TLS = %v, want %v", err, outbound.ErrFailed)
	}
}

// TestMain names a proxy that is not there, before anybody can have asked for one.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		os.Setenv(name, "http://127.0.0.1:1")
	}
	os.Unsetenv("NO_PROXY")
	os.Unsetenv("no_proxy")
	os.Exit(m.Run())
}

func TestGetIgnoresProxies(t *testing.T) {
	s, c, _ := serve(t, says("{}"))
	c.Resolver = names(t, "127.0.0.1")
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	if _, err := c.Get(t.Context(), "https://example.com:"+port); err != nil { // a literal loopback address is never proxied
		t.Error(err)
	}
}

// names is a resolver to which every name has each of the addresses in turn, one a
// question, the last for good. An answer may be of several, with commas.
func names(t *testing.T, answers ...string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		question := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(question)
			if err != nil {
				return
			}
			end := 12 // after the name: its labels, its root, type and class
			for end < n && question[end] != 0 {
				end += 1 + int(question[end])
			}
			end += 5
			if end > n {
				continue
			}
			reply := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question[12:end]...)
			if kind := binary.BigEndian.Uint16(question[end-4:]); kind == 1 { // A
				now := strings.Split(answers[0], ",")
				if len(answers) > 1 {
					answers = answers[1:]
				}
				reply[7] = byte(len(now))
				for _, a := range now {
					reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
					reply = append(reply, netip.MustParseAddr(a).AsSlice()...)
				}
			}
			server.WriteTo(reply, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// A name that is allowed when it is looked at, and leads elsewhere when it is dialed,
// leads nowhere: what is dialed is what was looked at. 127.0.0.1 plays the public
// address here, 127.0.0.2 a private one.
func TestGetIsNotRebound(t *testing.T) {
	s, c, connected := serve(t, says("{}"))
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	url := "https://example.com:" + port
	c.Allow = func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.1") }

	c.Resolver = names(t, "127.0.0.1", "127.0.0.2")
	if _, err := c.Get(t.Context(), url); err != nil {
		t.Fatalf("Get while the name is public: %v", err)
	}
	if _, err := c.Get(t.Context(), url); !errors.Is(err, outbound.ErrAddress) {
		t.Errorf("Get once the name is not = %v, want %v", err, outbound.ErrAddress)
	}
	if n := connected.Load(); n != 1 {
		t.Errorf("the server saw %d connections, want 1", n)
	}

	// Of several addresses the private ones are skipped.
	c.Resolver = names(t, "127.0.0.2,10.0.0.1,127.0.0.1")
	if _, err := c.Get(t.Context(), url); err != nil {
		t.Errorf("Get of a name that is public as well: %v", err)
	}
	c.Resolver = names(t, "10.0.0.1,169.254.169.254")
	if _, err := c.Get(t.Context(), url); !errors.Is(err, outbound.ErrAddress) {
		t.Errorf("Get of a name of private addresses = %v, want %v", err, outbound.ErrAddress)
	}
}

func TestGetUnknownName(t *testing.T) {
	c := &outbound.Client{Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, fmt.Errorf("no network")
	}}}
	if _, err := c.Get(t.Context(), "https://nobody.example/"); !errors.Is(err, outbound.ErrName) {
		t.Errorf("Get = %v, want %v", err, outbound.ErrName)
	}
}
