package main

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/concordia-node/concordia/internal/clitest"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/keyfile"
)

// rootsVar names the certificate of a server of this machine that the command under
// test may ask. Nothing but this file reads it.
const rootsVar = "TEST_ROOTS"

// runLocally is the command as a person runs it, but that it may ask servers of this
// machine if rootsVar is set.
func runLocally() {
	a := newApp()
	if path := os.Getenv(rootsVar); path != "" {
		cert, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		a.outbound.Roots = x509.NewCertPool()
		a.outbound.Roots.AppendCertsFromPEM(cert)
		a.outbound.Allow = func(addr netip.Addr) bool { return addr.IsLoopback() }
	}
	os.Exit(a.run(os.Args[1:], os.Stdout, os.Stderr))
}

// onlineCommands are
//
//	serve           serves the folder www over TLS at localhost:$PORT
//	publish FILE    writes the document of a did:web with the public half of a key file
//	asked [N]       the server was asked N times since the last look
//	hang-up         ends the server
func onlineCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	type service struct {
		close func()
		asked atomic.Int32
	}
	of := func(ts *testscript.TestScript) *service {
		return ts.Value(serviceKey{}).(*atomic.Value).Load().(*service)
	}
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"serve": func(ts *testscript.TestScript, _ bool, _ []string) {
			www, s := http.FileServer(http.Dir(ts.MkAbs("www"))), new(service)
			server, port, cert, err := clitest.ServeLocalhost(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				s.asked.Add(1)
				www.ServeHTTP(w, r)
			}))
			ts.Check(err)
			ts.Defer(server.Close)
			s.close = server.Close
			ts.Value(serviceKey{}).(*atomic.Value).Store(s)
			roots := ts.MkAbs("roots.pem")
			ts.Check(os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}), 0o600))
			ts.Setenv("PORT", port)
			ts.Setenv(rootsVar, roots)
		},
		"publish": func(ts *testscript.TestScript, _ bool, args []string) {
			agent, key, err := keyfile.Public(ts.MkAbs(args[0]))
			ts.Check(err)
			v, err := wire.Encode(wire.M{"id": agent, "assertionMethod": []wire.M{{
				"id": agent + "#key-1", "type": "Multikey", "controller": agent,
				"publicKeyMultibase": strings.TrimPrefix(string(wire.DIDKey(key)), "did:key:"),
			}}})
			ts.Check(err)
			path := ts.MkAbs(filepath.Join("www", ".well-known", "did.json"))
			ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
			ts.Check(os.WriteFile(path, []byte(v.Canonical()), 0o600))
		},
		"asked": func(ts *testscript.TestScript, _ bool, args []string) {
			if n := of(ts).asked.Swap(0); len(args) > 0 && strconv.Itoa(int(n)) != args[0] {
				ts.Fatalf("the server was asked %d times, want %s", n, args[0])
			}
		},
		"hang-up": func(ts *testscript.TestScript, _ bool, _ []string) { of(ts).close() },
	}
}

// serviceKey is where a script keeps its server.
type serviceKey struct{}
