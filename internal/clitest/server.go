package clitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"time"
)

// ServeLocalhost runs a TLS server with a certificate for localhost, and returns its
// port and the certificate. The caller closes it.
func ServeLocalhost(h http.Handler) (s *httptest.Server, port string, cert *x509.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", nil, err
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return nil, "", nil, err
	}
	if cert, err = x509.ParseCertificate(der); err != nil {
		return nil, "", nil, err
	}
	s = httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail on purpose
	s.StartTLS()
	_, port, err = net.SplitHostPort(s.Listener.Addr().String())
	return s, port, cert, err
}
