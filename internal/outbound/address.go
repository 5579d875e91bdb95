package outbound

import "net/netip"

// global is what has been allocated of IPv6 for the public Internet. All that carries
// an IPv4 address but 6to4 and Teredo is outside: mapped, compatible, translated
// (64:ff9b::/96 and 64:ff9b:1::/48); so are loopback, link-local, unique local,
// multicast and discard addresses.
var global = netip.MustParsePrefix("2000::/3")

// reserved are networks that are not the public Internet, by the special-purpose
// address registries of IANA (RFC 6890), and one that a cloud uses like its own.
var reserved = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // shared by the customers of a carrier
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // the platform of Azure, seen from its machines
	"169.254.0.0/16",   // link-local, and the metadata of most clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // relays of 6to4
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, and the broadcast address

	"2001::/23",     // protocol assignments: Teredo, ORCHID, benchmarks
	"2001:db8::/32", // documentation
	"2002::/16",     // 6to4
	"3fff::/20",     // documentation
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, s := range texts {
		list[i] = netip.MustParsePrefix(s)
	}
	return list
}

// IsPublic reports whether an address is one of the public Internet. One with a zone is
// in no network.
//
// BUG(outbound): A network may translate IPv6 to its IPv4 with a prefix of its own
// (RFC 6052), which nobody else can know. Where one does, what is behind it has to be
// closed to this machine.
func IsPublic(a netip.Addr) bool {
	if !a.IsValid() || a.Is6() && !global.Contains(a) {
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
