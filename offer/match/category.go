package match

import (
	"errors"
	"strings"
)

// Limits of a category.
const (
	MaxSegments = 8
	maxSegment  = 64 // characters
)

var errCategory = errors.New("want 1 to 8 words of a-z, 0-9, - and _, with dots between them")

// CheckCategory reports whether c is a category (SPEC §7.1).
func CheckCategory(c string) error {
	n := 0
	for segment := range strings.SplitSeq(c, ".") {
		if n++; n > MaxSegments || segment == "" || len(segment) > maxSegment {
			return errCategory
		}
		for i := range len(segment) {
			if b := segment[i]; !('a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '-' || b == '_') {
				return errCategory
			}
		}
	}
	return nil
}

// Within reports whether category c is the same as another, or below it.
func Within(c, other string) bool {
	return strings.HasPrefix(c, other) && (len(c) == len(other) || c[len(other)] == '.')
}

// onOnePath reports whether one of two categories is within the other.
func onOnePath(c, d string) bool { return Within(c, d) || Within(d, c) }

// nearness says how near two categories of so many words are that are on one path, in
// ten-thousandths: half of it is that they are, the rest is how many words of the longer
// one they share.
func nearness(n, m int) int { return full/2 + full/2*min(n, m)/max(n, m) }
