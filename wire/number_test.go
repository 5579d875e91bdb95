package wire_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/wire"
)

// SPEC §9.2.1: every number token means the same to every reader.
func TestParseNumbers(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("0", n) }
	const refused = ""
	tests := []struct{ rule, token, canonical string }{
		{"integer", "0", "0"},
		{"integer", "-1", "-1"},
		{"safe integer", "9007199254740991", "9007199254740991"},
		{"safe integer", "-9007199254740991", "-9007199254740991"},
		{"integer of 2^53", "9007199254740992", refused},
		{"integer of 2^53", "-9007199254740992", refused},
		{"integer beyond 2^53", "9007199254740993", refused},
		{"integer of 17 digits", "10000000000000000", refused},
		{"integer of int64", "9223372036854775807", refused},
		{"integer of uint64", "18446744073709551616", refused},
		{"integer that a double holds", "1000000000000000000000", refused}, // written 1e21, it is a float
		{"integer of 1 MB", "1" + zeros(1<<20), refused},

		{"negative zero", "-0", refused},
		{"negative zero", "-0.0", refused},
		{"negative zero", "-0e5", refused},
		{"negative zero", "-0.000E-0", refused},
		{"zero", "0e0", "0"},
		{"zero", "0.0", "0"},
		{"zero", "0E+5", "0"},
		{"zero", "0e99999", "0"},
		{"zero", "0.0e-99999", "0"},

		{"overflow", "1e400", refused},
		{"overflow", "-1e400", refused},
		{"overflow", "1e309", refused},
		{"overflow", "1.7976931348623159e308", refused},
		{"overflow", "1e99999", refused},
		{"overflow", "1e9223372036854775808", refused},
		{"overflow", "0.0000001e400", refused},
		{"largest double", "1.7976931348623157e308", "1.7976931348623157e+308"},
		{"largest double", "-1.7976931348623157E+308", "-1.7976931348623157e+308"},

		{"rounded to zero", "1e-400", refused},
		{"rounded to zero", "-1e-400", refused},
		{"rounded to zero", "2e-324", refused},
		{"rounded to zero", "0." + zeros(240) + "1e-99", refused},
		{"rounded to zero", "1e-99999", refused},
		{"smallest double", "5e-324", "5e-324"},
		{"smallest double", "-3e-324", "-5e-324"},
		{"smallest normal double", "2.2250738585072014e-308", "2.2250738585072014e-308"},

		{"safe integer as a float", "9007199254740991.0", "9007199254740991"},
		{"safe integer as a float", "9007199254740991e0", "9007199254740991"},
		{"safe integer as a float", "90071992547409910e-1", "9007199254740991"},
		{"safe integer as a float", "3e2", "300"},
		{"rounded to 2^53", "9007199254740991.5", refused},
		{"2^53 as a float", "9007199254740992.0", refused},
		{"2^53 as a float", "-9007199254740992e0", refused},
		{"big plain integer", "1e20", refused},
		{"big plain integer", "-1e20", refused},
		{"big plain integer", "1e16", refused},
		{"big plain integer", "12345678901234567890.5", refused},
		{"big plain integer", "999999999999999868928.0", refused}, // the double before 1e21
		{"big integer with exponent", "1e21", "1e+21"},
		{"big integer with exponent", "-1e21", "-1e+21"},
		{"big integer with exponent", "1000000000000000000000.0", "1e+21"},
		{"big integer with exponent", "1E30", "1e+30"},

		{"fraction", "0.1", "0.1"},
		{"fraction", "1.50", "1.5"},
		{"fraction", "-1.5e-7", "-1.5e-7"},
		{"fraction", "1e-6", "0.000001"},
		{"fraction", "333333333.33333329", "333333333.3333333"},
		{"fraction", "4503599627370495.5", "4503599627370495.5"},

		{"token of 256 bytes", "1." + zeros(254), "1"},
		{"token of 256 bytes", "1" + zeros(251) + "e-30", "1e+221"},
		{"token of 257 bytes", "1." + zeros(255), refused},
		{"token of 1 MB", "1." + zeros(1<<20), refused},
		{"token of 1 MB", "0." + zeros(1<<20) + "1", refused},
		{"token of 1 MB", "1e" + zeros(1<<20) + "1", refused},
		{"token of 1 MB", "1" + zeros(1<<20) + "e-1000000", refused},
		// What strconv.ParseFloat makes of these is 1e-101 and 1, and what every
		// other reader makes of them is 1 and infinity.
		{"token that Go misreads", "1" + zeros(900) + "e-900", refused},
		{"token that Go misreads", "0." + zeros(9999) + "1e100000", refused},
	}
	for _, tt := range tests {
		for _, p := range places {
			text := p.put(tt.token)
			v, err := wire.Parse([]byte(text), wire.DocumentLimits)
			if tt.canonical == refused {
				wantRefusal(t, tt.rule+": "+brief(text), err, wire.RuleNumber, p.at)
				continue
			}
			if want := parse(t, p.put("0")).Canonical(); err != nil || len(v.Canonical()) != len(want)+len(tt.canonical)-1 {
				t.Errorf("%s: Parse(%s) = %v, %v, want it to hold %s", tt.rule, brief(text), v, err, tt.canonical)
			}
		}
		if tt.canonical == refused {
			continue
		}
		v := parse(t, tt.token)
		if got := v.Canonical(); got != tt.canonical {
			t.Errorf("%s: Parse(%s) = %s, want %s", tt.rule, brief(tt.token), got, tt.canonical)
		}
		want, err := strconv.ParseFloat(tt.token, 64)
		if got, ok := v.Float(); err != nil || !ok || got != want {
			t.Errorf("%s: Parse(%s).Float() = %v, %v, want %v", tt.rule, brief(tt.token), got, ok, want)
		}
	}
}

// What looks like a number inside a string is text.
func TestNumbersInStrings(t *testing.T) {
	for _, s := range []string{"-0", "1e400", "9007199254740993", "01", `\"-0`, `\\\"1e400`, "a -0, [1e400", strings.Repeat("9", 1000)} {
		for _, text := range []string{`"` + s + `"`, `["` + s + `",1]`, `{"` + s + `":"` + s + `"}`, `{"a":{"x":"` + s + `","y":"` + s + `"}}`} {
			if got := parse(t, text).Canonical(); got != text {
				t.Errorf("Parse(%s) = %s, want it unchanged", brief(text), brief(got))
			}
		}
	}
	// After a string that ends in escaped backslashes, a number is one again.
	for _, text := range []string{`["\\",-0]`, `["\"\\\\",-0]`, `["x\\\"",-0]`, `["\u005c",-0]`} {
		_, err := wire.Parse([]byte(text), wire.DocumentLimits)
		wantRefusal(t, text, err, wire.RuleNumber, "/1")
	}
}

// The integers of a Value are those in a double's safe range, however they are
// spelled.
func TestInt(t *testing.T) {
	tests := []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"3", 3, true}, {"3.0", 3, true}, {"30e-1", 3, true}, {"-3E0", -3, true}, {"3e2", 300, true},
		{"9007199254740991", wire.MaxSafeInteger, true}, {"-9007199254740991.0", -wire.MaxSafeInteger, true},
		{"3.5", 0, false}, {"1e21", 0, false}, {"1e-7", 0, false}, {"5e-324", 0, false},
		{`"3"`, 0, false}, {"true", 0, false}, {"null", 0, false}, {"[3]", 0, false},
	}
	for _, tt := range tests {
		v := parse(t, tt.text)
		if got, ok := v.Int(); got != tt.want || ok != tt.ok {
			t.Errorf("Parse(%s).Int() = %v, %v, want %v, %v", tt.text, got, ok, tt.want, tt.ok)
		}
		f, ok := v.Float()
		if ok != (v.Kind() == wire.Number) || tt.ok && f != float64(tt.want) {
			t.Errorf("Parse(%s).Float() = %v, %v", tt.text, f, ok)
		}
	}
	if n, ok := (wire.Value{}).Int(); n != 0 || ok {
		t.Errorf("absent value: Int() = %v, %v, want 0, false", n, ok)
	}
	if f, ok := (wire.Value{}).Float(); f != 0 || ok {
		t.Errorf("absent value: Float() = %v, %v, want 0, false", f, ok)
	}
}

// TestES6Numbers generates the number sequence published with RFC 8785 and
// compares the SHA-256 of its lines with the published one. Each number goes
// through the formatter of this package: through Parse where it is in our domain,
// and through the same formatter without the guard where it is not.
func TestES6Numbers(t *testing.T) {
	readme := readFile(t, outside(t, "data", "jcs", "testdata", "README.md"))
	lines := 1_000_000
	if testing.Short() || raceEnabled {
		lines = 10_000
	}
	var want string
	for row := range strings.Lines(readme) {
		if cells := strings.Split(row, "|"); len(cells) == 5 && strings.TrimSpace(cells[2]) == strconv.Itoa(lines) {
			want = strings.TrimSpace(cells[1])
		}
	}
	if len(want) != 64 {
		t.Fatalf("the README has no hash of %d lines", lines)
	}
	next := es6Numbers(readme)
	sum := sha256.New()
	parsed, line := 0, make([]byte, 0, 64)
	for range lines {
		f := next()
		number, ok := es6(t, f)
		if ok {
			parsed++
		}
		line = strconv.AppendUint(line[:0], math.Float64bits(f), 16)
		line = append(append(append(line, ','), number...), '\n')
		sum.Write(line)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("SHA-256 of the first %d lines = %s, want %s", lines, got, want)
	}
	t.Logf("%d lines; %d of the numbers are in the domain of Parse", lines, parsed)
	if parsed < lines*9/10 {
		t.Errorf("Parse reads %d of %d numbers, want most of them", parsed, lines)
	}
}

// es6 formats f, and reports whether Parse read it. Parse has to refuse exactly
// what the domain excludes: negative zero and integers from 2^53 to 1e21.
func es6(t *testing.T, f float64) (string, bool) {
	token := strconv.FormatFloat(f, 'e', -1, 64)
	v, err := wire.Parse([]byte(token), wire.DocumentLimits)
	abs := math.Abs(f)
	excluded := f == 0 && math.Signbit(f) || abs == math.Trunc(abs) && abs > wire.MaxSafeInteger && abs < 1e21
	if excluded {
		wantRefusal(t, token, err, wire.RuleNumber, "")
		number, err := wire.CanonicalNumber(token)
		if err != nil {
			t.Fatal(err)
		}
		return number, false
	}
	if err != nil {
		t.Fatalf("Parse(%s): %v", token, err)
	}
	return v.Canonical(), true
}

// es6Numbers returns a generator of the sequence that the README describes. Its
// first numbers stand in the README itself.
func es6Numbers(readme string) func() float64 {
	var static []float64
	for _, field := range strings.FieldsFunc(readme, func(r rune) bool { return strings.ContainsRune(" \t\n,[]", r) }) {
		digits, ok := strings.CutSuffix(field, "n")
		if digits, hex := strings.CutPrefix(digits, "0x"); ok && hex && len(digits) == 16 {
			bits, err := strconv.ParseUint(digits, 16, 64)
			if err != nil {
				panic(err)
			}
			static = append(static, math.Float64frombits(bits))
		}
	}
	// The last match is the base of the serial numbers, not one of the list.
	static = static[:len(static)-1]
	const serial = 2000
	var block [sha256.Size]byte
	i, left := 0, 0
	return func() float64 {
		n := i
		i++
		switch {
		case n < len(static):
			return static[n]
		case n < len(static)+serial:
			return math.Float64frombits(0x0010000000000000 + uint64(n-len(static)))
		}
		for {
			if left == 0 {
				block, left = sha256.Sum256(block[:]), len(block)/8
			}
			at := len(block) - 8*left
			left--
			bits := uint64(0)
			for j := range 8 {
				bits |= uint64(block[at+j]) << (8 * j)
			}
			if f := math.Float64frombits(bits); f != 0 && !math.IsInf(f, 0) && !math.IsNaN(f) {
				return f
			}
		}
	}
}
