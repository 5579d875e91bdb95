package agentcard

import (
	"net/http"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/wire/a2a"
)

// Headers that name extensions, separated by commas.
const (
	Header    = "A2A-Extensions"
	OldHeader = "X-A2A-Extensions" // before A2A 1.0
)

// Bounds of what the headers list.
const (
	maxHeader     = 8 << 10 // bytes, all together
	maxExtensions = 64
)

// Activated returns which extensions of this package a header makes active: that of
// Concordia or none. Of a request it is what the client asks for; in an answer, what the
// server echoes, without which nothing is active. URIs are compared byte by byte. A list
// that is too long, or has something in it that is no URI, makes nothing active.
// (SPEC §10.1)
func Activated(h http.Header) []string {
	if named(h.Values(Header), h.Values(OldHeader)) {
		return []string{a2a.ExtensionURI}
	}
	return nil
}

// echo repeats in an answer that the extension is active, in the header in which the
// request has asked for it, too.
func echo(answer, request http.Header) {
	answer.Set(Header, a2a.ExtensionURI)
	if named(request.Values(OldHeader)) {
		answer.Set(OldHeader, a2a.ExtensionURI)
	}
}

// named reports whether lists of extensions are well formed and name that of Concordia.
func named(lists ...[]string) bool {
	size, count, found := 0, 0, false
	for _, line := range slices.Concat(lists...) {
		if size += len(line); size > maxHeader {
			return false
		}
		for uri := range strings.SplitSeq(line, ",") {
			uri = strings.Trim(uri, " \t")
			if uri == "" {
				continue // which lists of HTTP may have
			}
			if count++; count > maxExtensions || strings.ContainsFunc(uri, notOfURI) {
				return false
			}
			found = found || uri == a2a.ExtensionURI
		}
	}
	return found
}

// notOfURI reports whether a URI cannot have a character (RFC 3986).
func notOfURI(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{|}", r) }
