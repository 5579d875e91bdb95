package outbound_test

import (
	"net/netip"
	"testing"

	"github.com/concordia-node/concordia/internal/outbound"
)

func TestIsPublic(t *testing.T) {
	for _, test := range []struct {
		class     string
		public    bool
		addresses []string
	}{
		{"public", true, []string{"8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "169.253.255.255", "192.0.1.1", "223.255.255.255"}},
		{"public, IPv6", true, []string{"2606:4700::1111", "2001:4860:4860::8888", "2001:200::1", "2a00::1", "3fff:1000::1"}},
		{"this network", false, []string{"0.0.0.0", "0.0.0.1", "0.255.255.255"}},
		{"loopback", false, []string{"127.0.0.1", "127.0.0.53", "127.255.255.255", "::1"}},
		{"private", false, []string{"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255"}},
		{"carrier", false, []string{"100.64.0.0", "100.127.255.255", "100.100.100.200"}},
		{"link-local", false, []string{"169.254.0.1", "fe80::1", "fe80::1%eth0", "febf::1"}},
		{"metadata", false, []string{"169.254.169.254", "fd00:ec2::254", "fd20:ce::254", "168.63.129.16", "192.0.0.192"}},
		{"unique local and site-local", false, []string{"fc00::1", "fd12:3456::1", "fec0::1"}},
		{"multicast", false, []string{"224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"}},
		{"broadcast and reserved", false, []string{"255.255.255.255", "240.0.0.1"}},
		{"unspecified", false, []string{"::"}},
		{"documentation", false, []string{"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1", "3fff:fff::1"}},
		{"benchmarks and assignments", false, []string{"198.18.0.1", "198.19.255.255", "192.0.0.8", "192.88.99.1", "2001:2::1", "2001:10::1", "2001:20::1", "100::1", "5f00::1"}},
		{"IPv4-mapped", false, []string{"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::ffff:169.254.169.254"}},
		{"IPv4-compatible", false, []string{"::127.0.0.1", "::8.8.8.8"}},
		{"IPv4-translated", false, []string{"::ffff:0:127.0.0.1"}},
		{"NAT64", false, []string{"64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::10.0.0.1"}},
		{"6to4", false, []string{"2002:7f00:1::", "2002:808:808::1"}},
		{"Teredo", false, []string{"2001::1", "2001:0:7f00:1::80ff:fffe"}},
	} {
		t.Run(test.class, func(t *testing.T) {
			for _, s := range test.addresses {
				if got := outbound.IsPublic(netip.MustParseAddr(s)); got != test.public {
					t.Errorf("IsPublic(%s) = %v, want %v", s, got, test.public)
				}
			}
		})
	}
	if outbound.IsPublic(netip.Addr{}) {
		t.Error("IsPublic of no address = true, want false")
	}
	if outbound.IsPublic(netip.MustParseAddr("2606:4700::1111%eth0")) {
		t.Error("IsPublic of an address with a zone = true, want false")
	}
}
