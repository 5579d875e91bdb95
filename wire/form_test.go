package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// SPEC §4.1: instants. What is not in the table of good spellings is refused, even
// where time.Parse is lenient.
func TestParseTime(t *testing.T) {
	at := func(ns int) time.Time { return time.Date(2026, 9, 14, 9, 0, 0, ns, time.UTC) }
	for text, want := range map[string]time.Time{
		"2026-09-14T09:00:00Z":           at(0),
		"2026-09-14T09:00:00+00:00":      at(0),
		"2026-09-14T09:00:00-00:00":      at(0), // RFC 3339, Section 4.3: the offset is unknown, the instant is not
		"2026-09-14T14:30:00+05:30":      at(0),
		"2026-09-13T21:15:00-11:45":      at(0),
		"2026-09-15T08:59:00+23:59":      at(0),
		"2026-09-13T09:01:00-23:59":      at(0),
		"2026-09-14T09:00:00.5Z":         at(500_000_000),
		"2026-09-14T09:00:00.50Z":        at(500_000_000),
		"2026-09-14T09:00:00.500Z":       at(500_000_000),
		"2026-09-14T09:00:00.1234Z":      at(123_400_000),
		"2026-09-14T09:00:00.12345Z":     at(123_450_000),
		"2026-09-14T09:00:00.123456Z":    at(123_456_000),
		"2026-09-14T09:00:00.1234567Z":   at(123_456_700),
		"2026-09-14T09:00:00.12345678Z":  at(123_456_780),
		"2026-09-14T09:00:00.123456789Z": at(123_456_789),
		"2026-09-14T14:30:00.25+05:30":   at(250_000_000),
		"2026-09-14T09:00:00.0Z":         at(0),
		"0000-01-01T00:00:00Z":           time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		"0001-01-01T00:00:00Z":           {},
		"9999-12-31T23:59:59Z":           time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		"9999-12-31T23:59:59+00:01":      time.Date(9999, 12, 31, 23, 58, 59, 0, time.UTC),
		"2028-02-29T00:00:00Z":           time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC),
		"2000-02-29T00:00:00Z":           time.Date(2000, 2, 29, 0, 0, 0, 0, time.UTC),
	} {
		got, err := wire.ParseTime(text)
		if err != nil || !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("ParseTime(%q) = %v, %v, want %v", text, got, err, want)
			continue
		}
		again, err := wire.ParseTime(wire.FormatTime(got))
		if err != nil || !again.Equal(want.Truncate(time.Second)) {
			t.Errorf("ParseTime(FormatTime(%q)) = %v, %v, want whole seconds of %v", text, again, err, want)
		}
	}
	for what, text := range map[string]string{
		"empty":                       "",
		"date only":                   "2026-09-14",
		"no zone":                     "2026-09-14T09:00:00",
		"no zone after a fraction":    "2026-09-14T09:00:00.5",
		"one digit of the hour":       "2026-09-14T4:25:00Z",
		"one digit of the month":      "2026-9-14T09:00:00Z",
		"one digit of the day":        "2026-09-4T09:00:00Z",
		"two digits of the year":      "26-09-14T09:00:00Z",
		"five digits of the year":     "12026-09-14T09:00:00Z",
		"signed year":                 "+2026-09-14T09:00:00Z",
		"negative year":               "-001-09-14T09:00:00Z",
		"no seconds":                  "2026-09-14T09:00Z",
		"comma fraction":              "2026-09-14T09:00:00,5Z",
		"empty fraction":              "2026-09-14T09:00:00.Z",
		"ten digits of fraction":      "2026-09-14T09:00:00.1234567890Z",
		"fraction with a sign":        "2026-09-14T09:00:00.-5Z",
		"fraction of minutes":         "2026-09-14T09:00.5Z",
		"lower-case t":                "2026-09-14t09:00:00Z",
		"lower-case z":                "2026-09-14T09:00:00z",
		"space separator":             "2026-09-14 09:00:00Z",
		"underscore separator":        "2026-09-14_09:00:00Z",
		"slashes":                     "2026/09/14T09:00:00Z",
		"basic format":                "20260914T090000Z",
		"week date":                   "2026-W38-1T09:00:00Z",
		"offset of 24 hours":          "2026-09-14T09:00:00+24:00",
		"offset of 60 minutes":        "2026-09-14T09:00:00+05:60",
		"offset of hours":             "2026-09-14T09:00:00+05",
		"offset without colon":        "2026-09-14T09:00:00+0530",
		"offset with seconds":         "2026-09-14T09:00:00+05:30:00",
		"offset with letters":         "2026-09-14T09:00:00+0a:30",
		"offset with a comma":         "2026-09-14T09:00:00+05,30",
		"offset, one digit":           "2026-09-14T09:00:00+5:30",
		"offset, three digits":        "2026-09-14T09:00:00+005:30",
		"minus sign U+2212":           "2026-09-14T09:00:00\u221205:30",
		"zone name":                   "2026-09-14T09:00:00UTC",
		"zone name after Z":           "2026-09-14T09:00:00Z[UTC]",
		"two zones":                   "2026-09-14T09:00:00Z+00:00",
		"leap second":                 "2016-12-31T23:59:60Z",
		"second 61":                   "2026-09-14T09:00:61Z",
		"minute 60":                   "2026-09-14T09:60:00Z",
		"hour 24":                     "2026-09-14T24:00:00Z",
		"month 13":                    "2026-13-14T09:00:00Z",
		"month 0":                     "2026-00-14T09:00:00Z",
		"day 0":                       "2026-09-00T09:00:00Z",
		"day 31 of September":         "2026-09-31T09:00:00Z",
		"February 30":                 "2026-02-30T09:00:00Z",
		"February 29, no leap year":   "2026-02-29T09:00:00Z",
		"February 29, 1900":           "1900-02-29T09:00:00Z",
		"leading space":               " 2026-09-14T09:00:00Z",
		"trailing space":              "2026-09-14T09:00:00Z ",
		"trailing line feed":          "2026-09-14T09:00:00Z\n",
		"NUL":                         "2026-09-14T09:00:00Z\x00",
		"other digits":                "２０２６-09-14T09:00:00Z",
		"Arabic digits in a fraction": "2026-09-14T09:00:00.\u0661Z",
		"seconds since 1970":          "1789376400",
		"year 10000 in UTC":           "9999-12-31T23:59:59-00:01",
		"year -1 in UTC":              "0000-01-01T00:00:00+00:01",
		"very long":                   "2026-09-14T09:00:00." + strings.Repeat("0", 1<<20) + "Z",
		"a date in words":             "Mon, 14 Sep 2026 09:00:00 GMT",
		"quoted":                      `"2026-09-14T09:00:00Z"`,
	} {
		if got, err := wire.ParseTime(text); err == nil {
			t.Errorf("%s: ParseTime(%q) = %v, want an error", what, brief(text), got)
		}
	}
}

// This implementation writes whole seconds and Z, and cuts fractions off.
func TestFormatTime(t *testing.T) {
	east := time.FixedZone("", 5*3600+1800)
	for want, at := range map[string]time.Time{
		"2026-09-14T09:00:00Z": testTime.Add(999_999_999),
		"2026-09-14T03:30:00Z": time.Date(2026, 9, 14, 9, 0, 0, 0, east),
		"0001-01-01T00:00:00Z": {},
		"0099-01-01T00:00:00Z": time.Date(99, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got := wire.FormatTime(at); got != want {
			t.Errorf("FormatTime(%v) = %s, want %s", at, got, want)
		}
	}
}

// SPEC §9.1: 1 to 256 printable characters, no white space, no control, formatting
// or invisible characters.
func TestCheckID(t *testing.T) {
	for what, id := range map[string]string{
		"one character":         "a",
		"punctuation":           "did:web:example.org%3A8443#k-1/~!\"\\{}",
		"accents":               "agent_café",
		"combining mark":        "agent_cafe\u0301",
		"Chinese":               "代理人",
		"Hebrew":                "סוכן",
		"emoji":                 "🤝",
		"unassigned look-alike": "аgent", // Cyrillic: a person may be misled, a program is not
		"256 characters":        strings.Repeat("x", 256),
		"256 of four bytes":     strings.Repeat("🤝", 256),
	} {
		if err := wire.CheckID(wire.AgentID(id)); err != nil {
			t.Errorf("%s: CheckID(%q) = %v, want no error", what, brief(id), err)
		}
	}
	for what, id := range map[string]string{
		"empty":                     "",
		"257 characters":            strings.Repeat("x", 257),
		"257 of four bytes":         strings.Repeat("🤝", 257),
		"1 MB":                      strings.Repeat("x", 1<<20),
		"space":                     " ",
		"space inside":              "a b",
		"trailing space":            "a ",
		"tab":                       "a\tb",
		"line feed":                 "a\n",
		"NUL":                       "a\x00",
		"escape":                    "\x1b[31mred",
		"DEL":                       "a\x7f",
		"C1 control":                "a\u0085",
		"no-break space":            "a\u00a0b",
		"ideographic space":         "a\u3000b",
		"line separator":            "a\u2028b",
		"zero-width space":          "a\u200bb",
		"zero-width joiner":         "a\u200db",
		"right-to-left mark":        "a\u200fb",
		"right-to-left override":    "a\u202eb",
		"isolate":                   "a\u2066b",
		"soft hyphen":               "a\u00adb",
		"byte order mark":           "\ufeffa",
		"word joiner":               "a\u2060b",
		"Mongolian vowel separator": "a\u180eb",
		"tag character":             "a\U000e0041",
		"private use":               "a\ue000",
		"grapheme joiner":           "a\u034fb",
		"Hangul filler":             "a\u115f",
		"Hangul vowel filler":       "a\u1160",
		"Hangul letter filler":      "a\u3164",
		"half-width Hangul filler":  "a\uffa0",
		"Khmer inherent vowel":      "a\u17b4",
		"Khmer inherent vowel aa":   "a\u17b5",
		"Mongolian selector":        "a\u180b",
		"Mongolian selector four":   "a\u180f",
		"blank of Braille":          "a\u2800",
		"variation selector 1":      "a\ufe00",
		"variation selector 16":     "a\ufe0f",
		"variation selector 17":     "a\U000e0100",
		"variation selector 256":    "a\U000e01ef",
		"unassigned":                "a\u0378",
		"noncharacter":              "a\uffff",
		"replacement character":     "a\ufffd",
		"invalid UTF-8":             "a\xff",
		"surrogate in UTF-8":        "a\xed\xa0\x80",
	} {
		if err := wire.CheckID(wire.MessageID(id)); err == nil {
			t.Errorf("%s: CheckID(%q): got no error", what, brief(id))
		}
	}
}

func TestNewID(t *testing.T) {
	random := bytes.NewReader([]byte("0123456789abcdefX"))
	id, err := wire.NewID[wire.OfferID]("off_", random)
	if want := wire.OfferID("off_30313233343536373839616263646566"); err != nil || id != want {
		t.Errorf("NewID = %v, %v, want %v", id, err, want)
	}
	if err := wire.CheckID(id); err != nil {
		t.Errorf("CheckID(%v) = %v", id, err)
	}
	id, err = wire.NewID[wire.OfferID]("off_", random)
	if !errors.Is(err, io.ErrUnexpectedEOF) || id != "" || strings.Contains(err.Error(), "\n") {
		t.Errorf("NewID of one byte = %q, %q, want one line that wraps io.ErrUnexpectedEOF", id, err)
	}
}

// SPEC §9.3: sha256: and 64 lower-case hex digits.
func TestHash(t *testing.T) {
	h := wire.HashOf("abc") // FIPS 180-4's example
	const digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if h.Hex() != digits || h.String() != "sha256:"+digits || wire.HashOf([]byte("abc")) != h {
		t.Errorf("HashOf(abc) = %v, want sha256:%s", h, digits)
	}
	if got, err := wire.ParseHash(h.String()); err != nil || got != h {
		t.Errorf("ParseHash(%v) = %v, %v", h, got, err)
	}
	if got, err := wire.ParseHash("sha256:" + strings.Repeat("0", 64)); err != nil || got != (wire.Hash{}) {
		t.Errorf("the genesis hash reads as %v, %v", got, err)
	}
	for what, s := range map[string]string{
		"empty":           "",
		"no prefix":       digits,
		"prefix only":     "sha256:",
		"capital prefix":  "SHA256:" + digits,
		"other prefix":    "sha512:" + digits,
		"upper case":      "sha256:" + strings.ToUpper(digits),
		"one upper case":  "sha256:" + digits[:63] + "D",
		"short":           "sha256:" + digits[:63],
		"a byte short":    "sha256:" + digits[:62],
		"long":            "sha256:" + digits + "0",
		"a byte long":     "sha256:" + digits + "00",
		"not hex":         "sha256:" + digits[:63] + "g",
		"space":           "sha256:" + digits[:63] + " ",
		"leading space":   " sha256:" + digits,
		"line feed":       "sha256:" + digits + "\n",
		"0x":              "sha256:0x" + digits[2:],
		"wide digits":     "sha256:" + digits[:61] + "０",
		"hex of the text": "sha256-" + digits,
	} {
		if got, err := wire.ParseHash(s); err == nil {
			t.Errorf("%s: ParseHash(%q) = %v, want an error", what, s, got)
		}
	}
	// As text, in JSON too.
	var back struct{ H wire.Hash }
	b, err := json.Marshal(struct{ H wire.Hash }{h})
	if err != nil || string(b) != `{"H":"`+h.String()+`"}` {
		t.Errorf("json.Marshal = %s, %v", b, err)
	}
	if err := json.Unmarshal(b, &back); err != nil || back.H != h {
		t.Errorf("json.Unmarshal = %v, %v, want %v", back.H, err, h)
	}
	if err := json.Unmarshal([]byte(`{"H":"sha256:00"}`), &back); err == nil {
		t.Error("json.Unmarshal of a short hash succeeds")
	}
}
