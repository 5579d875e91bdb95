package offer

import (
	"regexp"
	"strconv"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A place is where a value lies on a line, so that two values of one form can be
// compared and their distance taken.
type place struct {
	form string  // values of different forms have no order
	at   float64 // the number itself, or seconds
}

// position places a number or a temporal string.
func position(v wire.Value) (place, bool) {
	if n, ok := v.Float(); ok {
		return place{"number", n}, true
	}
	p, ok := readTemporal(v.Text())
	return p, ok && p.form != ""
}

// The forms of ISO 8601 that a temporal value may have (SPEC §3.1.1). A form with
// a layout has an order; a week date or a duration in months or years is
// accepted but has none.
var temporalLayouts = []struct{ form, layout string }{
	{"date", time.DateOnly},
	{"month", "2006-01"},
	{"year", "2006"},
	{"local time", "2006-01-02T15:04:05"},
	{"local time", "2006-01-02T15:04"},
	{"clock", time.TimeOnly},
	{"clock", "15:04"},
}

var (
	weekForm     = regexp.MustCompile(`^\d{4}-W(0[1-9]|[1-4]\d|5[0-3])(-[1-7])?$`)
	durationForm = regexp.MustCompile(`^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)
)

// maxTemporal bounds the text of a temporal value.
const maxTemporal = 64

func readTemporal(s string) (place, bool) {
	if s == "" || len(s) > maxTemporal {
		return place{}, false
	}
	if t, err := wire.ParseTime(s); err == nil {
		return place{"instant", seconds(t)}, true
	}
	for _, l := range temporalLayouts {
		if len(s) != len(l.layout) {
			continue
		}
		if t, err := time.Parse(l.layout, s); err == nil {
			return place{l.form, seconds(t)}, true
		}
	}
	if weekForm.MatchString(s) {
		return place{}, true
	}
	return readDuration(s)
}

// seconds are exact for whole seconds of the years 0 to 9999.
func seconds(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

func readDuration(s string) (place, bool) {
	m := durationForm.FindStringSubmatch(s)
	if m == nil || s == "P" || s[len(s)-1] == 'T' {
		return place{}, false
	}
	if m[1] != "" || m[2] != "" {
		return place{}, true // years and months have no fixed length
	}
	total := 0.0
	for i, unit := range []float64{7 * 86400, 86400, 3600, 60, 1} {
		if n, err := strconv.ParseFloat(m[i+3], 64); err == nil {
			total += float64(n * unit)
		}
	}
	return place{"duration", total}, true
}

func quote(s string) string { return strconv.QuoteToASCII(s[:min(len(s), 200)]) }
