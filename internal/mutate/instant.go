package mutate

import (
	"iter"
	"regexp"
)

var instant = regexp.MustCompile(`"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)[^"]*"`)

// Instants yields, for each timestamp in a document, the document with a text in its
// place that lenient readers take for one. Pointer is the text before the change.
func Instants(text string) iter.Seq[Mutation] {
	return func(yield func(Mutation) bool) {
		for _, at := range instant.FindAllStringSubmatchIndex(text, -1) {
			day, clock := text[at[2]:at[3]], text[at[4]:at[5]]
			for _, other := range []string{
				day, day + "T" + clock, day + " " + clock + "Z", day + "t" + clock + "z", day + "T" + clock + "Z\\n",
				day[:4] + "-13-01T" + clock + "Z", day[:4] + "-02-30T" + clock + "Z", day + "T24:00:00Z", day + "T" + clock + "+0000",
				day + "T" + clock[:5] + "Z", "soon", "",
			} {
				if !yield(Mutation{"respell as " + other, text[at[0]:at[1]], text[:at[0]+1] + other + text[at[1]-1:]}) {
					return
				}
			}
		}
	}
}
