package offer

import (
	"regexp"
	"strconv"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A place is where a value lies on a line, so that two values of one form can be
// compared and their distance taken. The zero place is nowhere.
type place struct {
	form Form
	at   float64 // the number itself, or seconds
}

// A Form is what two values must share to have an order: both are numbers, or
// temporal strings of one form. The zero Form has none.
type Form uint8

const (
	formNumber Form = iota + 1
	formInstant
	formDate
	formMonth
	formYear
	formLocalTime
	formClock
	formDuration
	formUnordered // temporal, but a week date or a duration in months or years
)

// ordered reports whether places of this form have an order.
func (p place) ordered() bool { return p.form != 0 && p.form != formUnordered }

// atMost reports whether p is before or at q, and false if they have no order.
func (p place) atMost(q place) bool { return p.ordered() && p.form == q.form && p.at <= q.at }

// position places a number or a temporal string (SPEC §3.1.1).
func position(v wire.Value) place {
	switch v.Kind() {
	case wire.Number:
		n, _ := v.Float()
		return place{formNumber, n}
	case wire.String:
		return readTemporal(v.Text())
	}
	return place{}
}

// Position returns where a number or a temporal string lies on the line of its form: the
// number itself, or seconds. The form of a value that has no order is zero (SPEC §3.1.1).
func Position(v wire.Value) (form Form, at float64) {
	if p := position(v); p.ordered() {
		return p.form, p.at
	}
	return 0, 0
}

var temporalLayouts = []struct {
	form   Form
	layout string
}{
	{formDate, time.DateOnly},
	{formMonth, "2006-01"},
	{formYear, "2006"},
	{formLocalTime, "2006-01-02T15:04:05"},
	{formLocalTime, "2006-01-02T15:04"},
	{formClock, time.TimeOnly},
	{formClock, "15:04"},
}

var (
	weekForm     = regexp.MustCompile(`^\d{4}-W(0[1-9]|[1-4]\d|5[0-3])(-[1-7])?$`)
	durationForm = regexp.MustCompile(`^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)
)

// maxTemporal bounds the text of a temporal value.
const maxTemporal = 64

func readTemporal(s string) place {
	switch {
	case s == "" || len(s) > maxTemporal:
		return place{}
	case s[0] == 'P':
		return readDuration(s)
	case s[0] < '0' || s[0] > '9':
		return place{}
	}
	for _, l := range temporalLayouts {
		if len(s) == len(l.layout) {
			if t, err := time.Parse(l.layout, s); err == nil {
				return place{l.form, seconds(t)}
			}
		}
	}
	if t, err := wire.ParseTime(s); err == nil {
		return place{formInstant, seconds(t)}
	}
	if weekForm.MatchString(s) {
		return place{form: formUnordered}
	}
	return place{}
}

// seconds are exact for whole seconds of the years 0 to 9999.
func seconds(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

func readDuration(s string) place {
	m := durationForm.FindStringSubmatch(s)
	if m == nil || s == "P" || s[len(s)-1] == 'T' {
		return place{}
	}
	if m[1] != "" || m[2] != "" {
		return place{form: formUnordered} // years and months have no fixed length
	}
	total := 0.0
	for i, unit := range []float64{7 * 86400, 86400, 3600, 60, 1} {
		if n, err := strconv.ParseFloat(m[i+3], 64); err == nil {
			total += float64(n * unit)
		}
	}
	return place{formDuration, total}
}

func quote(s string) string { return strconv.QuoteToASCII(s[:min(len(s), 200)]) }
