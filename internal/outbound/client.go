package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Defaults of a [Client], and bounds of every request.
const (
	DefaultMaxBody = 64 << 10 // bytes
	DefaultTimeout = 10 * time.Second

	MaxURL     = 2048     // bytes
	MaxHeaders = 16 << 10 // bytes of the answer
)

// A Client asks others over HTTPS. The zero Client is the strict one: it dials public
// addresses at port 443.
type Client struct {
	MaxBody   int           // bytes of the answer; 0: DefaultMaxBody
	Timeout   time.Duration // for all of a request; 0: DefaultTimeout
	HighPorts bool          // also the ports from 1024 on

	// Plain lets it ask http URLs of this machine, if Allow admits their addresses.
	Plain bool

	// For tests and for networks of one's own.
	Allow    func(netip.Addr) bool // addresses to dial although they are not public; nil: none
	Roots    *x509.CertPool        // whose certificates count; nil: those that the system trusts
	Resolver *net.Resolver         // nil: that of the system
}

// An Error says why a request came to nothing. Why does not repeat what the other side
// says; the cause, which may, is for errors.Is alone.
type Error struct {
	Host   string // "" if the URL has none that could be asked
	Why    error
	Status int // of HTTP, of ErrStatus and ErrRedirect; else 0
	err    error
}

func (e *Error) Error() string {
	if e.Host == "" {
		return e.Why.Error()
	}
	return fmt.Sprintf("asking %q: %v", cut(e.Host), e.Why)
}

// Unwrap returns Why and the cause.
func (e *Error) Unwrap() []error { return []error{e.Why, e.err} }

// cut shortens what a stranger wrote.
func cut(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// Why a request comes to nothing.
var (
	ErrURL      = errors.New("not an https URL that may be asked")
	ErrPort     = errors.New("the port is neither 443 nor a high one")
	ErrAddress  = errors.New("its address is not of the public Internet")
	ErrName     = errors.New("its name does not resolve")
	ErrTLS      = errors.New("it does not prove that the name is its own")
	ErrTimeout  = errors.New("no answer in time")
	ErrRedirect = errors.New("it redirects, and redirects are not followed")
	ErrStatus   = errors.New("it does not answer with what was asked for")
	ErrEncoding = errors.New("it compresses the answer, unasked")
	ErrTooLarge = errors.New("the answer is too large")
	ErrFailed   = errors.New("the connection failed")
)

// Get returns what is at an https URL. It fails with an [*Error].
func (c *Client) Get(ctx context.Context, rawURL string) ([]byte, error) {
	return c.ask(ctx, http.MethodGet, rawURL, nil)
}

// Post hands a JSON document to an https URL, and returns the answer. It fails with an
// [*Error].
func (c *Client) Post(ctx context.Context, rawURL string, document []byte) ([]byte, error) {
	return c.ask(ctx, http.MethodPost, rawURL, document)
}

// Dial connects to an address, by name or not, if Get would. It is for what is no plain
// request, such as a websocket; the URL is the caller's to check (CheckURL).
func (c *Client) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return c.dialer().DialContext(ctx, network, address)
}

// CheckURL reports whether Get would ask a URL, as far as that shows before its name is
// resolved.
func (c *Client) CheckURL(rawURL string) error {
	if _, err := c.parse(rawURL); err != nil {
		return &Error{Why: err}
	}
	return nil
}

func (c *Client) dialer() *net.Dialer {
	return &net.Dialer{Resolver: c.Resolver, Control: c.control}
}

func (c *Client) ask(ctx context.Context, method, rawURL string, document []byte) ([]byte, error) {
	u, err := c.parse(rawURL)
	if err != nil {
		return nil, &Error{Why: err}
	}
	timeout := c.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, status, err := c.exchange(ctx, method, u, document)
	if err != nil {
		e := &Error{Host: u.Host, Why: why(ctx, err), err: err}
		if e.Why == ErrStatus || e.Why == ErrRedirect {
			e.Status = status
		}
		return nil, e
	}
	return body, nil
}

// parse checks everything of a URL but its address, which is not known yet.
func (c *Client) parse(raw string) (*url.URL, error) {
	if len(raw) > MaxURL {
		return nil, ErrURL
	}
	u, err := url.Parse(raw)
	if err != nil { // its text repeats the URL
		return nil, ErrURL
	}
	here := c.Plain && u.Scheme == "http" && isHere(u.Hostname())
	if u.Scheme != "https" && !here || u.Opaque != "" || u.User != nil || strings.Contains(raw, "#") || !isHost(u.Hostname()) {
		return nil, ErrURL
	}
	if _, port, explicit := strings.Cut(strings.TrimPrefix(u.Host, "["+u.Hostname()+"]"), ":"); explicit {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n != 443 && !(c.HighPorts && n >= 1024) {
			return nil, ErrPort
		}
	}
	return u, nil
}

// isHere reports whether a host is this machine by its spelling.
func isHere(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// isHost reports whether s is made of what names and addresses are made of. Names
// beyond ASCII have to be spelled as in DNS, so that there is one way to read them.
func isHost(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_', c == ':':
		default:
			return false
		}
	}
	return s != "" && len(s) <= 253
}

func (c *Client) exchange(ctx context.Context, method string, u *url.URL, document []byte) (body []byte, status int, err error) {
	transport := &http.Transport{
		DialContext:            c.dialer().DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12},
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 alone
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: MaxHeaders,
	}
	request, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(document))
	if err != nil {
		return nil, 0, err
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("User-Agent", "concordia")
	request.Header.Set("Accept", "application/json, */*;q=0.1")
	response, err := transport.RoundTrip(request) // a http.Client would follow redirects
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	switch encoding := response.Header.Get("Content-Encoding"); {
	case response.StatusCode >= 300 && response.StatusCode < 400:
		return nil, response.StatusCode, ErrRedirect
	case response.StatusCode != http.StatusOK:
		return nil, response.StatusCode, ErrStatus
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		return nil, response.StatusCode, ErrEncoding
	}
	most := c.MaxBody
	if most == 0 {
		most = DefaultMaxBody
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, int64(most)+1))
	switch {
	case err != nil:
		return nil, response.StatusCode, err
	case len(body) > most:
		return nil, response.StatusCode, ErrTooLarge
	}
	return body, response.StatusCode, ctx.Err() // a server that sees the connection close may still end its answer
}

// control runs between the resolution of a name and the connection, for each address
// that is tried.
func (c *Client) control(network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return ErrAddress
	}
	if a := to.Addr(); !IsPublic(a) && (c.Allow == nil || !c.Allow(a)) {
		return ErrAddress
	}
	return nil
}

// why says in words of this package what went wrong.
func why(ctx context.Context, err error) error {
	for _, known := range []error{ErrAddress, ErrRedirect, ErrStatus, ErrEncoding, ErrTooLarge} {
		if errors.Is(err, known) {
			return known
		}
	}
	if ctx.Err() != nil {
		return ErrTimeout
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return ErrName
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return ErrTLS
	}
	return ErrFailed
}
