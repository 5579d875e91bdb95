package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/protocol/menu"
)

// tokensName is the file with the tokens of those who may use MCP over HTTP, one a line.
const tokensName = "mcp.token"

// listenMCP listens where agents of the owner reach the node over MCP; nil if they do not.
// It is checked before anything is listened at that nobody in between can read a token.
func (c *nodeConfig) listenMCP() (net.Listener, error) {
	at := c.get("mcp")
	if at == "" {
		if c.get("mcp_hosts") != "" || c.get("mcp_origins") != "" {
			return nil, cli.Usagef("--mcp is missing: the address to serve MCP at, as 127.0.0.1:7420")
		}
		return nil, nil
	}
	if err := checkMenu("--mcp-menu", menu.Mode(c.get("mcp_menu"))); err != nil {
		return nil, err
	}
	if err := checkGroups("--mcp-tools", commaList(c.get("mcp_tools"))); err != nil {
		return nil, err
	}
	for _, origin := range commaList(c.get("mcp_origins")) {
		if u, err := url.Parse(origin); err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			return nil, cli.Usagef("--mcp-origins: want origins, as https://page.example")
		}
	}
	secure, err := c.certificates().secured()
	if err != nil {
		return nil, err
	}
	addr, err := net.ResolveTCPAddr("tcp", at)
	if err != nil {
		return nil, cli.Usagef("--mcp: want an address, as 127.0.0.1:7420: %v", err)
	}
	here := addr.AddrPort().Addr().Unmap()
	switch isHere := here.IsLoopback(); {
	case !isHere && secure == nil:
		return nil, cli.Usagef("--mcp %s is not an address of this machine alone: take 127.0.0.1, or give --tls-cert and --tls-key, or --acme", at)
	case !isHere && c.get("mcp_hosts") == "":
		return nil, cli.Usagef("--mcp %s needs --mcp-hosts: the names by which it is reached, as lena.example", at)
	}
	l, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for MCP: %w", err)
	}
	if secure != nil {
		return secure.listen(l), nil
	}
	return l, nil
}

// commaList splits a setting of several values.
func commaList(text string) (all []string) {
	for _, s := range strings.Split(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// An mcpDoor is where agents of the owner use the node over HTTP. A nil one is closed.
type mcpDoor struct {
	l       net.Listener
	at      string
	handler *mcpserver.Handler
	server  *http.Server
}

func (c *nodeConfig) openMCP(l net.Listener, n node.API, log *slog.Logger) (*mcpDoor, error) {
	tokens, err := readTokens(filepath.Join(c.get("dir"), tokensName), c.app.rand)
	if err != nil {
		return nil, err
	}
	h, err := mcpserver.NewHandler(n, mcpserver.HTTPOptions{
		Server: mcpserver.Options{Menu: menu.Mode(c.get("mcp_menu")), Groups: commaList(c.get("mcp_tools")), Version: cli.Version(), Now: c.app.now, Log: log},
		Tokens: tokens, Hosts: commaList(c.get("mcp_hosts")), Origins: commaList(c.get("mcp_origins")), Size: maxMCPLine,
	})
	if err != nil {
		return nil, err
	}
	at := "http://"
	if c.get("tls_cert") != "" || c.get("acme") != "" {
		at = "https://"
	}
	host := l.Addr().String()
	if here, err := netip.ParseAddrPort(host); err == nil && !here.Addr().Unmap().IsLoopback() {
		host = net.JoinHostPort(commaList(c.get("mcp_hosts"))[0], fmt.Sprint(here.Port()))
	}
	return &mcpDoor{l: l, at: at + host + mcpserver.Path, handler: h, server: &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}, nil
}

// address is the URL that clients are given.
func (d *mcpDoor) address() string {
	if d == nil {
		return ""
	}
	return d.at
}

func (d *mcpDoor) serve() error {
	if err := d.server.Serve(d.l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// drain lets what is under way come to its end, for a few seconds.
func (d *mcpDoor) drain(ctx context.Context) {
	ctx, enough := context.WithTimeout(ctx, 3*time.Second)
	defer enough()
	_ = d.handler.Shutdown(ctx) // what is left ends with the node
	_ = d.server.Shutdown(ctx)
}

func (d *mcpDoor) close() error { return d.server.Close() }

// maxTokens bounds the file with tokens.
const maxTokens = 64 << 10

// readTokens reads tokens, one a line. A file with a new one is made if there is none.
func readTokens(path string, random io.Reader) ([]string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		secret := make([]byte, 32)
		if _, err := io.ReadFull(random, secret); err != nil {
			return nil, fmt.Errorf("making a token: %w", err)
		}
		token := base64.RawURLEncoding.EncodeToString(secret)
		if err := replaceFile(path, []byte(token+"\n")); err != nil {
			return nil, fmt.Errorf("making a token: %w", err)
		}
		return []string{token}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading tokens: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading tokens: %w", err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("reading tokens: others may read %s: chmod 600 it, or delete it to have a new one made", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTokens+1))
	switch tokens := strings.Fields(string(text)); {
	case err != nil:
		return nil, fmt.Errorf("reading tokens: %w", err)
	case len(text) > maxTokens, len(tokens) == 0:
		return nil, fmt.Errorf("reading tokens: %s has none, or too many: delete it to have a new one made", path)
	default:
		return tokens, nil
	}
}
