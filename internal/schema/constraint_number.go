package schema

import (
	"cmp"
	"math/bits"
	"strconv"
	"strings"
)

// A decimal is the exact value of a number's text. A canonical number has at most
// 17 digits, so nothing larger than a machine word is ever needed, however large
// its exponent.
type decimal struct {
	neg   bool
	coef  uint64 // 19 digits of which the first is not 0, or 0: the value is ± 0.coef × 10^point
	point int
}

const (
	digits        = 19 // of 10^19 - 1, which fits 64 bits
	maxNumberText = 64 // bytes; a canonical number has at most 24
)

var powers = func() (p [digits + 1]uint64) {
	p[0] = 1
	for i := 1; i <= digits; i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// parseDecimal reads a JSON number. It is false for what no canonical double is:
// too many digits, too large, or so small that it is rounded to zero.
func parseDecimal(text string) (decimal, bool) {
	if len(text) > maxNumberText {
		return decimal{}, false
	}
	var d decimal
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(text[i+1:]); err != nil {
			return decimal{}, false
		}
		mantissa = text[:i]
	}
	mantissa, d.neg = strings.CutPrefix(mantissa, "-")
	n, zeros, fraction := 0, 0, false // digits in coef, zeros seen after them
	for i := 0; i < len(mantissa); i++ {
		c := mantissa[i]
		switch {
		case c == '.':
			fraction = true
			continue
		case c < '0' || c > '9':
			return decimal{}, false
		case c == '0' && n == 0: // leading
			if fraction {
				d.point--
			}
			continue
		case c == '0':
			zeros++
		default:
			if n+zeros+1 > digits {
				return decimal{}, false
			}
			d.coef = d.coef*powers[zeros+1] + uint64(c-'0')
			n, zeros = n+zeros+1, 0
		}
		if !fraction {
			d.point++
		}
	}
	if n == 0 {
		return decimal{}, true
	}
	d.coef *= powers[digits-n]
	d.point += exponent
	if d.point < -300 || d.point > 300 {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f == 0 {
			return decimal{}, false
		}
	}
	return d, true
}

// compare returns the sign of d - o.
func (d decimal) compare(o decimal) int {
	if d.sign() != o.sign() {
		return cmp.Compare(d.sign(), o.sign())
	}
	return d.sign() * cmp.Or(cmp.Compare(d.point, o.point), cmp.Compare(d.coef, o.coef))
}

func (d decimal) sign() int {
	switch {
	case d.coef == 0:
		return 0
	case d.neg:
		return -1
	}
	return 1
}

func (d decimal) integer() bool {
	return d.coef == 0 || d.point >= digits || d.point > 0 && d.coef%powers[digits-d.point] == 0
}

// count returns a number as one of things. It is false for a number of which there
// are no so many things; a number beyond a machine word is as good as any other
// that is never reached.
func (d decimal) count() (int, bool) {
	switch {
	case d.sign() < 0 || !d.integer():
		return 0, false
	case d.point >= digits:
		return maxCount, true
	}
	return int(min(d.coef/powers[digits-max(d.point, 0)], maxCount)), true
}

const maxCount = 1<<31 - 1

// multipleOf reports whether d is o taken a whole number of times. o is not 0.
func (d decimal) multipleOf(o decimal) bool {
	if d.coef == 0 {
		return true
	}
	a, e := d.whole()
	b, f := o.whole()
	if e < f { // a does not end in 0, so no power of ten divides it
		return false
	}
	return mulMod(a%b, powMod(10%b, e-f, b), b) == 0
}

// whole returns n and e for which d is ± n × 10^e and n does not end in 0.
func (d decimal) whole() (uint64, int) {
	n, e := d.coef, d.point-digits
	for n%10 == 0 {
		n, e = n/10, e+1
	}
	return n, e
}

func mulMod(a, b, m uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return bits.Rem64(hi, lo, m)
}

func powMod(x uint64, n int, m uint64) uint64 {
	r := 1 % m
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			r = mulMod(r, x, m)
		}
		x = mulMod(x, x, m)
	}
	return r
}

// appendKey appends a text that is that of no other number.
func (d decimal) appendKey(b []byte) []byte {
	if d.coef == 0 {
		return append(b, "0e0;"...) // there is one zero
	}
	if d.neg {
		b = append(b, '-')
	}
	b = strconv.AppendUint(b, d.coef, 10)
	b = append(b, 'e')
	b = strconv.AppendInt(b, int64(d.point), 10)
	return append(b, ';')
}
