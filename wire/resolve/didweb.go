package resolve

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

const didWeb = "did:web:"

// IsWeb reports whether an id is a did:web or begins like one.
func IsWeb(id wire.AgentID) bool { return strings.HasPrefix(string(id), didWeb) }

// Why an id is not a did:web that could be asked for.
var (
	errNotWeb = errors.New("not a did:web")
	errHost   = errors.New("the host is no name of DNS: labels of letters, digits and hyphens, the last beginning with no digit")
	errPort   = errors.New("what follows %3A is no port")
	errPath   = errors.New("a part of the path is empty, or not made of letters, digits, '.', '-', '_' and encoded characters beyond ASCII")
)

// DocumentURL returns where the document of a did:web lies: at the host that it names,
// below the path that it names or else /.well-known. A fragment is not part of it.
//
// There is one spelling of each URL: upper case in what is percent-encoded, and only
// what has to be. Hosts are names of DNS, never addresses. (SPEC §9.1)
func DocumentURL(did wire.AgentID) (string, error) {
	text, ok := strings.CutPrefix(string(did), didWeb)
	if err := wire.CheckID(did); !ok || err != nil {
		return "", errNotWeb
	}
	text, _, _ = strings.Cut(text, "#")
	parts := strings.Split(text, ":")
	host, port, hasPort := strings.Cut(parts[0], "%3A")
	if !isHostName(host) {
		return "", errHost
	}
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return "", errPort
		}
		host += ":" + port
	}
	path := "/.well-known"
	if len(parts) > 1 {
		path = ""
		for _, part := range parts[1:] {
			if !isPathPart(part) {
				return "", errPath
			}
			path += "/" + part
		}
	}
	return "https://" + host + path + "/did.json", nil
}

// isHostName reports whether s is a name of DNS, and not what somebody reads as an
// IPv4 address: 127.0.0.1, 127.1, 2130706433, 0x7f000001. No top-level domain begins
// with a digit.
func isHostName(s string) bool {
	var last string
	for last = range strings.SplitSeq(s, ".") {
		if last == "" || len(last) > 63 || last[0] == '-' || last[len(last)-1] == '-' {
			return false
		}
		for i := range len(last) {
			if !isAlphanumeric(last[i]) && last[i] != '-' {
				return false
			}
		}
	}
	return !isDigit(last[0])
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c)
}

// isPathPart reports whether s names one folder, and as every reader reads it.
func isPathPart(s string) bool {
	if strings.Trim(s, ".") == "" { // also nothing at all
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '%' {
			if !isAlphanumeric(c) && c != '.' && c != '-' && c != '_' {
				return false
			}
			continue
		}
		if i+2 >= len(s) {
			return false
		}
		n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil || n < 0x80 || fmt.Sprintf("%02X", n) != s[i+1:i+3] {
			return false
		}
		i += 2
	}
	decoded, err := url.PathUnescape(s)
	return err == nil && wire.CheckID(wire.AgentID(decoded)) == nil
}
