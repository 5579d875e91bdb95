package protocol

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

var errSet = errors.New("it is no set of values")

// maxSetText bounds the text of a set, in bytes.
const maxSetText = 1 << 13

// UnmarshalText reads what [Set.String] writes.
func (s *Set) UnmarshalText(text []byte) error {
	if len(text) > maxSetText {
		return fmt.Errorf("reading a set: %w: it is too long", errSet)
	}
	*s = Set{}
	switch string(text) {
	case "anything":
		*s = AllValues()
		return nil
	case "nothing":
		return nil
	}
	for rest := string(text); ; {
		part, more, err := s.readPart(rest)
		if err != nil {
			return fmt.Errorf("reading a set: %w: %.100q", err, text)
		}
		*s = s.Union(part)
		if more == "" {
			return nil
		}
		var ok bool
		if rest, ok = strings.CutPrefix(more, " or "); !ok {
			return fmt.Errorf("reading a set: %w: %.100q", errSet, text)
		}
	}
}

// readPart reads one of the parts of a set, and returns what follows.
func (s *Set) readPart(text string) (part Set, rest string, err error) {
	for i, name := range []string{"absent", "null", "false", "true", "object"} {
		if rest, ok := strings.CutPrefix(text, name); ok {
			return Set{flags: 1 << i}, rest, nil
		}
	}
	if rest, ok := strings.CutPrefix(text, "number"); ok {
		l, rest, err := readLine(rest)
		return Set{numbers: l}, rest, err
	}
	if rest, ok := strings.CutPrefix(text, "array"); ok {
		l, rest, err := readLine(rest)
		return Set{lengths: l}, rest, err
	}
	if rest, ok := strings.CutPrefix(text, "string"); ok {
		part = Set{others: true}
		if rest, ok = strings.CutPrefix(rest, " but "); !ok {
			return part, strings.TrimPrefix(text, "string"), nil
		}
		but, rest, err := readTexts(rest)
		return part.Minus(but), rest, err
	}
	return readTexts(text)
}

// readTexts reads texts with commas between them.
func readTexts(text string) (s Set, rest string, err error) {
	for rest = text; ; {
		end := 1
		for ; end < len(rest) && rest[end] != '"'; end++ {
			if rest[end] == '\\' {
				end++
			}
		}
		if end >= len(rest) || rest[0] != '"' {
			return s, "", errSet
		}
		v, err := wire.Parse([]byte(rest[:end+1]), wire.DocumentLimits)
		if err != nil {
			return s, "", errSet
		}
		s = s.Union(Values(v))
		var more bool
		if rest, more = strings.CutPrefix(rest[end+1:], ", "); !more {
			return s, rest, nil
		}
	}
}

// readLine reads an interval: nothing, a number, or one or two bounds.
func readLine(text string) (l line, rest string, err error) {
	rest, ok := strings.CutPrefix(text, " ")
	if !ok || strings.HasPrefix(text, " or ") {
		return line{in: true}, text, nil
	}
	in := AllValues()
	for {
		op, after, _ := strings.Cut(rest, " ")
		if op == "" || strings.IndexByte("<>", op[0]) < 0 {
			x, rest, err := readNumber(rest)
			return Below(x, true).Intersect(Above(x, true)).numbers, rest, err
		}
		x, more, err := readNumber(after)
		switch {
		case err != nil:
			return l, "", err
		case op == "<" || op == "<=":
			in = in.Intersect(Below(x, op == "<="))
		case op == ">" || op == ">=":
			in = in.Intersect(Above(x, op == ">="))
		default:
			return l, "", errSet
		}
		if rest, ok = strings.CutPrefix(more, " and "); !ok {
			return in.numbers, more, nil
		}
	}
}

func readNumber(text string) (x float64, rest string, err error) {
	token, _, _ := strings.Cut(text, " ")
	if x, err = strconv.ParseFloat(token, 64); err != nil || x != x {
		return 0, "", errSet
	}
	return x, text[len(token):], nil
}
