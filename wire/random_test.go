package wire_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"

	"github.com/concordia-node/concordia/wire"
)

// A writer draws JSON documents that are valid and spelled as oddly as they can be.
type writer struct{ *rand.Rand }

func newWriter(seed uint64) writer { return writer{rand.New(rand.NewPCG(seed, 0xc0))} }

// names are member names that sort or print differently in UTF-8, UTF-16 and
// after escaping. Some are prefixes of others.
var names = []string{
	"", "a", "aa", "ab", "A", "b", "signature", "Signature", "type", "z", "~", "/", "~0", "a/b", "\\", `"`, `\"`, "\n", "\x00", "\x1f",
	"\u007f", "\u0080", "é", "e\u0301", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\ufb33", "\ufffd", "\uffff", "\U00010000", "😀", "😀a", "\U0010ffff", "0", "10", "9",
}

var numbers = []string{
	"0", "0.0", "-1", "1", "1.0", "10e-1", "1E0", "9007199254740991", "-9007199254740991", "1e21", "1E+30", "5e-324", "0.1", "1e-7", "0.000001",
	"1.7976931348623157e308", "333333333.33333329", "4.50", "2e-3", "100", "1e2",
}

func (w writer) pick(list []string) string { return list[w.IntN(len(list))] }

func (w writer) space() string {
	return strings.Repeat(w.pick([]string{" ", "\t", "\r", "\n"}), max(0, w.IntN(4)-2))
}

// str spells a string with escapes where they may or must be.
func (w writer) str(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		escape := w.IntN(3) == 0
		switch {
		case r > 0xffff && escape:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case r < 0x20 || escape && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04X`, r)
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '/' && w.IntN(2) == 0:
			b.WriteString(`\/`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// text draws a document that nests at most depth deep.
func (w writer) text(depth int) string {
	kind := w.IntN(8)
	if depth == 0 {
		kind = w.IntN(4)
	}
	switch kind {
	case 0:
		return w.pick([]string{"null", "true", "false"})
	case 1, 2:
		return w.pick(numbers)
	case 3:
		return w.str(w.pick(names) + w.pick(names))
	case 4:
		var parts []string
		for range w.IntN(5) {
			parts = append(parts, w.space()+w.text(depth-1)+w.space())
		}
		return "[" + w.space() + strings.Join(parts, ",") + "]"
	}
	return w.object(w.Perm(len(names))[:w.size()], depth-1, "")
}

// size draws a number of members: mostly few, sometimes more than a linear search
// is made for.
func (w writer) size() int {
	if w.IntN(6) == 0 {
		return 15 + w.IntN(len(names)-15)
	}
	return w.IntN(5)
}

// object writes an object with the members chosen, in the order given, less one.
func (w writer) object(chosen []int, depth int, without string) string {
	if len(chosen) > 5 {
		depth = 0 // or it would have thousands of members
	}
	var parts []string
	for _, i := range chosen {
		member := w.space() + w.str(names[i]) + w.space() + ":" + w.space() + w.text(depth) + w.space()
		if without == "" || names[i] != without {
			parts = append(parts, member)
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// What jcs makes of random documents is what Parse makes of them, and the tree is
// the text.
func TestRandomDocuments(t *testing.T) {
	documents := 20_000
	if testing.Short() || raceEnabled {
		documents = 1_000
	}
	w := newWriter(1)
	for range documents {
		text := w.text(4)
		v, err := wire.Parse([]byte(text), wire.DocumentLimits)
		if err != nil {
			t.Fatalf("Parse(%s): %v", text, err)
		}
		theirs, err := jcs.Transform([]byte(text))
		if err != nil || string(theirs) != v.Canonical() {
			t.Fatalf("Parse(%s) = %s; jcs.Transform = %s, %v", text, v, theirs, err)
		}
		checkTree(t, v)
	}
}

// Without(name) is what Parse makes of the text without that member, at any place
// and in any order; AppendWithout is its text; With puts it back.
func TestRandomWithout(t *testing.T) {
	objects := 5_000
	if testing.Short() || raceEnabled {
		objects = 500
	}
	for seed := range uint64(objects) {
		w := newWriter(seed)
		chosen := w.Perm(len(names))[:w.size()]
		name := w.pick(names)
		draw := w.Uint64() // both texts are drawn alike, with and without the member
		whole := parse(t, newWriter(draw).object(chosen, 2, ""))
		want := whole
		if name != "" {
			want = parse(t, newWriter(draw).object(chosen, 2, name))
		} else if _, there := whole.Get(""); there {
			continue
		}
		got := whole.Without(name)
		if got.Canonical() != want.Canonical() {
			t.Fatalf("%s.Without(%q) = %s, want %s", whole, name, got, want)
		}
		checkTree(t, got)
		prefix := strconv.FormatUint(seed, 10)
		if text := string(whole.AppendWithout([]byte(prefix), name)); text != prefix+want.Canonical() {
			t.Fatalf("%s.AppendWithout(%q, %q) = %s", whole, prefix, name, text)
		}
		if m, there := whole.Get(name); there {
			if back := got.With(name, m); back.Canonical() != whole.Canonical() {
				t.Fatalf("%s.With(%q, %s) = %s, want %s", got, name, m, back, whole)
			}
		}
		put := whole.With(name, encode(t, seed))
		checkTree(t, put)
		if m, _ := put.Get(name); m.Canonical() != strconv.FormatUint(seed, 10) || !put.Without(name).Equal(got) {
			t.Fatalf("%s.With(%q, %d) = %s", whole, name, seed, put)
		}
	}
}
