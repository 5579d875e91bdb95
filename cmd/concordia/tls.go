package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"github.com/concordia-node/concordia/internal/cli"
)

// A secured is how a relay or a node speaks TLS.
type secured struct {
	host   string // that the certificate is for; "" if only the file says
	config *tls.Config
}

// certificates say where a certificate comes from.
type certificates struct {
	cert, key string // PEM files
	acme      string // the host for which Let's Encrypt is asked
	dir       string // where what it gives is kept
	insecure  bool   // a proxy in front speaks TLS
}

// secured checks what the flags say; nil is plain HTTP.
func (s *certificates) secured() (*secured, error) {
	switch {
	case (s.cert == "") != (s.key == ""):
		return nil, cli.Usagef("--tls-cert and --tls-key go together")
	case s.acme != "" && s.cert != "":
		return nil, cli.Usagef("--acme gets a certificate: give it, or --tls-cert and --tls-key")
	case s.insecure && (s.acme != "" || s.cert != ""):
		return nil, cli.Usagef("--insecure-http is for plain HTTP: leave it out, or the certificate")
	case s.acme != "":
		m := &autocert.Manager{
			Prompt: autocert.AcceptTOS, HostPolicy: autocert.HostWhitelist(s.acme), Cache: autocert.DirCache(filepath.Join(s.dir, "acme")),
		}
		return &secured{s.acme, &tls.Config{
			GetCertificate: m.GetCertificate, NextProtos: []string{"http/1.1", acme.ALPNProto}, MinVersion: tls.VersionTLS12,
		}}, nil
	case s.cert != "":
		files := &certificateFiles{cert: s.cert, key: s.key}
		if _, err := files.get(nil); err != nil {
			return nil, err
		}
		return &secured{config: &tls.Config{GetCertificate: files.get, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}}, nil
	}
	return nil, nil
}

func (s *secured) listen(l net.Listener) net.Listener { return tls.NewListener(l, s.config) }

// url is where it is reached, at an address that is listened on.
func (s *secured) url(at net.Addr) string {
	if s.host == "" {
		return "https://" + at.String()
	}
	if a, ok := at.(*net.TCPAddr); ok && a.Port != 443 {
		return fmt.Sprintf("https://%s:%d", s.host, a.Port)
	}
	return "https://" + s.host
}

// certificateFiles are a certificate and its key in files, which are read again when they
// have changed: certificates are renewed while it is served.
type certificateFiles struct {
	cert, key string

	mu      sync.Mutex // guards what follows
	looked  time.Time
	changed [2]time.Time
	current *tls.Certificate
}

// lookAgain is how old what is known of the files may be.
const lookAgain = 10 * time.Second

func (c *certificateFiles) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil && time.Since(c.looked) < lookAgain {
		return c.current, nil
	}
	c.looked = time.Now()
	var changed [2]time.Time
	for i, path := range []string{c.cert, c.key} {
		if info, err := os.Stat(path); err == nil {
			changed[i] = info.ModTime()
		}
	}
	if c.current != nil && changed == c.changed {
		return c.current, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		if c.current != nil {
			return c.current, nil // half written: the old one still counts
		}
		return nil, fmt.Errorf("reading the certificate %s and its key: %w", c.cert, err)
	}
	c.current, c.changed = &pair, changed
	return c.current, nil
}

// forwarded are the proxies whose word about where a request came from is believed.
type forwarded []netip.Prefix

func readProxies(list []string) (forwarded, error) {
	var proxies forwarded
	for _, text := range list {
		p, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, cli.Usagef("--trusted-proxy: want a CIDR such as 10.0.0.1/32")
		}
		proxies = append(proxies, p)
	}
	return proxies, nil
}

// address returns the last hop that is none of the proxies. What stands before it in
// X-Forwarded-For anybody may have written.
func (f forwarded) address(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	hop := at.Addr().Unmap().WithZone("")
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && f.trusts(hop); i-- {
		before, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		hop = before.Unmap().WithZone("")
	}
	return hop
}

func (f forwarded) trusts(hop netip.Addr) bool {
	for _, p := range f {
		if p.Contains(hop) {
			return true
		}
	}
	return false
}
