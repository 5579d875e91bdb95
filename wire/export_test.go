package wire

import "github.com/go-json-experiment/json/jsontext"

// ScratchSize returns the size of a buffer that is kept for the next reader.
func ScratchSize() int {
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	return cap(*buf)
}

// CanonicalNumber returns the canonical form of a number token the way Parse
// makes it, but without the domain of SPEC §9.2.1 in front. The published ES6
// number sequence has many integers from 2^53 to 1e21, which Parse refuses.
func CanonicalNumber(token string) (string, error) {
	text, err := jsontext.AppendFormat(nil, token, canonicalOptions...)
	return string(text), err
}

// SmallOrder returns the encodings of the points of small order.
func SmallOrder() [][32]byte {
	var list [][32]byte
	for p := range smallOrder {
		list = append(list, p)
	}
	return list
}
