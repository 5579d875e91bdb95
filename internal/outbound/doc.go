// Package outbound makes requests to addresses that others chose: where a DID
// document lies, where an issuer lists what it revoked. Whoever writes such an
// address decides what this machine connects to, and could mean its neighbors: a
// database without a password, the metadata service of a cloud, a router.
//
//	body, err := new(outbound.Client).Get(ctx, "https://example.org/.well-known/did.json")
//
// A [Client] asks with GET, or hands over a document with POST, over HTTPS. The address is checked in
// net.Dialer.Control, when it is about to be dialed, and not before: a name that
// resolves to another address the second time, or to several, gains nothing. Only
// public addresses are dialed ([IsPublic]); IPv6 addresses that carry an IPv4 address
// are not. There is no proxy, also none from the environment, no redirect, no cookie,
// no kept connection and no compression, and body, headers and time are bounded.
//
// What comes back is as hostile as before. TLS says which name answered, no more.
//
// Errors are of type [*Error]. Its text is made of the host and a few words of its
// own: what a certificate, a resolver or the other side says is not repeated.
package outbound
