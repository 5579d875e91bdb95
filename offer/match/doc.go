// Package match finds who wants what others have (SPEC §7).
//
// A want says what an agent looks for, a have what it offers. Both are an [Entry]: a
// category, terms, perhaps a location, and how long it stands. All that can be wrong with
// an entry is found when it is read, so that none can make the matching of others fail,
// and none makes it slow: what two entries cost to compare is bounded by the simpler one.
//
//	entry.go     the form of wants and haves
//	term.go      the values that a term takes, and what two terms have in common
//	category.go  places in the tree of categories
//	location.go  points on the earth, and how far from one
//	match.go     whether two entries match, how well, and why
//	book.go      many entries, by category
//
// Two entries match if there is a deal that both allow: their categories are on one
// path, every term that both name leaves a value, and they are near enough. The score
// says how much they leave. It is a number of ten-thousandths, computed in integers from
// the same parts in the same order, so that all who compare two entries agree.
//
// The package is pure: it reads no clock, and a [Book] belongs to its caller.
package match
