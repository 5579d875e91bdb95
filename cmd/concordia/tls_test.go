package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// writeCertificate writes a certificate with a serial number, and its key.
func writeCertificate(t *testing.T, cert, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(serial, 0) // another for each
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// A certificate that was renewed is used without a restart; while it is half written the
// old one counts.
func TestCertificateIsRenewed(t *testing.T) {
	dir := t.TempDir()
	c := &certificateFiles{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
	if _, err := c.get(nil); err == nil {
		t.Error("a certificate without files")
	}
	serial := func() int64 {
		t.Helper()
		pair, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.SerialNumber.Int64()
	}
	writeCertificate(t, c.cert, c.key, 1)
	if got := serial(); got != 1 {
		t.Errorf("the certificate is %d", got)
	}
	writeCertificate(t, c.cert, c.key, 2)
	if got := serial(); got != 1 {
		t.Errorf("looked again at once, and found %d", got)
	}
	c.looked = c.looked.Add(-lookAgain)
	if got := serial(); got != 2 {
		t.Errorf("after a while it is %d", got)
	}
	if err := os.WriteFile(c.cert, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.looked = c.looked.Add(-lookAgain)
	if got := serial(); got != 2 {
		t.Errorf("half written it is %d", got)
	}
}

// With --acme only HOST gets a certificate, and what answers the challenge is there.
func TestACME(t *testing.T) {
	s := &certificates{acme: "relay.example", dir: t.TempDir()}
	secure, err := s.secured()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(secure.config.NextProtos, []string{"http/1.1", "acme-tls/1"}) {
		t.Errorf("it speaks %q", secure.config.NextProtos)
	}
	if _, err := secure.config.GetCertificate(&tls.ClientHelloInfo{ServerName: "other.example"}); err == nil {
		t.Error("a certificate for another host")
	}
	for port, want := range map[int]string{443: "https://relay.example", 8443: "https://relay.example:8443"} {
		if got := secure.url(&net.TCPAddr{IP: net.IPv4zero, Port: port}); got != want {
			t.Errorf("at port %d the URL is %s", port, got)
		}
	}
}
