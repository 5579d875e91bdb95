package wire

import (
	"errors"
	"time"
)

var errTimeForm = errors.New(`want "YYYY-MM-DDTHH:MM:SS", at most nine fraction digits, and "Z" or an offset`)

// ParseTime reads a timestamp of SPEC §4.1: RFC 3339 with capital T and Z, a
// fraction of one to nine digits after a point, an offset of less than a day that
// stays in the years of four digits. It accepts none of the other spellings that
// time.Parse does.
func ParseTime(s string) (time.Time, error) {
	const seconds = "2006-01-02T15:04:05"
	if len(s) <= len(seconds) {
		return time.Time{}, errTimeForm
	}
	for i, c := range []byte(seconds) {
		if digit := '0' <= c && c <= '9'; digit != isDigit(s[i]) || !digit && c != s[i] {
			return time.Time{}, errTimeForm
		}
	}
	zone := s[len(seconds):]
	if zone[0] == '.' {
		n := 1
		for n < len(zone) && isDigit(zone[n]) {
			n++
		}
		if n == 1 || n > 10 {
			return time.Time{}, errTimeForm
		}
		zone = zone[n:]
	}
	if zone != "Z" {
		if len(zone) != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':' ||
			!isDigit(zone[1]) || !isDigit(zone[2]) || !isDigit(zone[4]) || !isDigit(zone[5]) ||
			zone[1:3] > "23" || zone[4:] > "59" {
			return time.Time{}, errTimeForm
		}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if t = t.UTC(); err != nil || t.Year() < 0 || t.Year() > 9999 { // an offset can leave the four digits
		return time.Time{}, errTimeForm
	}
	return t, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// FormatTime writes t as this implementation emits it: UTC, whole seconds, Z
// (SPEC §4.1). A fraction is cut off.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
