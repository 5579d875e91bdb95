package match

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"
)

// A Book holds wants and haves by category. Each has the number that the owner of the book
// gave it, and no other has: it says in which order they came. It must not be used from two goroutines at once
// while one of them changes it.
type Book struct {
	byID  map[ID]*Posted
	trees [2]node // of wants, of haves
}

// Posted is an entry in a book.
type Posted struct {
	*Entry
	Number  uint64
	Posted  time.Time
	Expires time.Time // from then on it is not found
}

// A node is a category, with those below it.
type node struct {
	posted []*Posted // of just this category, in the order of their numbers
	below  map[string]*node
}

// Work bounds what one look into a book compares, in steps of a few nanoseconds. Tens of
// thousands of ordinary entries are less; more go into the next look.
const Work = 1 << 20

// Len returns how many entries there are.
func (b *Book) Len() int { return len(b.byID) }

// Get returns an entry, or nil.
func (b *Book) Get(id ID) *Posted { return b.byID[id] }

// Add puts an entry in, in place of one that has its id.
func (b *Book) Add(p *Posted) {
	b.Remove(p.ID)
	if b.byID == nil {
		b.byID = map[ID]*Posted{}
	}
	b.byID[p.ID] = p
	n := b.tree(p.Kind)
	for segment := range strings.SplitSeq(p.Category, ".") {
		if n.below == nil {
			n.below = map[string]*node{}
		}
		if n.below[segment] == nil {
			n.below[segment] = new(node)
		}
		n = n.below[segment]
	}
	i, _ := n.find(p.Number)
	n.posted = slices.Insert(n.posted, i, p)
}

// Remove takes an entry out, if it is there.
func (b *Book) Remove(id ID) {
	p := b.byID[id]
	if p == nil {
		return
	}
	delete(b.byID, id)
	path := []*node{b.tree(p.Kind)}
	segments := strings.Split(p.Category, ".")
	for _, segment := range segments {
		path = append(path, path[len(path)-1].below[segment])
	}
	n := path[len(segments)]
	i, _ := n.find(p.Number)
	n.posted = slices.Delete(n.posted, i, i+1)
	for i := len(segments); i > 0 && len(path[i].posted) == 0 && len(path[i].below) == 0; i-- {
		delete(path[i-1].below, segments[i-1])
	}
}

func (b *Book) tree(k Kind) *node {
	if k == Want {
		return &b.trees[0]
	}
	return &b.trees[1]
}

// find returns where an entry with a number stands, or would.
func (n *node) find(number uint64) (int, bool) {
	return slices.BinarySearchFunc(n.posted, number, func(p *Posted, number uint64) int { return cmp.Compare(p.Number, number) })
}

// after appends the entries of a category that have greater numbers.
func (n *node) after(list []*Posted, number uint64) []*Posted {
	i, _ := n.find(number + 1)
	return append(list, n.posted[i:]...)
}

// allAfter is after for the categories below as well.
func (n *node) allAfter(list []*Posted, number uint64) []*Posted {
	list = n.after(list, number)
	for _, below := range n.below {
		list = below.allAfter(list, number)
	}
	return list
}

// onPath returns the entries whose category is on one path with c, or only those within
// it, whose numbers are greater than after, in the order of their numbers. All
// categories are within "".
func (b *Book) onPath(kind Kind, c string, within bool, after uint64) (list []*Posted) {
	n := b.tree(kind)
	if c != "" {
		for segment := range strings.SplitSeq(c, ".") {
			if !within {
				list = n.after(list, after)
			}
			if n = n.below[segment]; n == nil {
				break
			}
		}
	}
	if n != nil {
		list = n.allAfter(list, after)
	}
	byNumber := func(p, q *Posted) int { return cmp.Compare(p.Number, q.Number) }
	if !slices.IsSortedFunc(list, byNumber) {
		slices.SortFunc(list, byNumber)
	}
	return list
}

// A Found is an entry that matches another one.
type Found struct {
	*Posted
	Score int // in ten-thousandths
}

// Best returns the entries that match e best at a time, at most so many, the best first.
// It looks at the newest first, as far as [Work] allows, and reports whether these are all
// that match.
func (b *Book) Best(e *Entry, most int, now time.Time) (list []Found, all bool) {
	all = true
	work, n, floor := 0, 0, 0 // what has a lower score than floor is not among the best
	keep := func() {
		slices.SortFunc(list, byScore)
		list = list[:min(most, len(list))]
	}
	for _, p := range slices.Backward(b.onPath(e.Kind.Other(), e.Category, false, 0)) {
		if work += cost(e, p.Entry); work > Work {
			all = false
			break
		}
		score, _ := deal(e, p.Entry, false)
		if score == 0 || !now.Before(p.Expires) {
			continue
		}
		if n++; score >= floor {
			list = append(list, Found{p, score})
		}
		if most > 0 && len(list) == 4*most {
			keep()
			floor = list[most-1].Score
		}
	}
	keep()
	return list, all && n <= most
}

func byScore(f, g Found) int {
	if f.Score != g.Score {
		return g.Score - f.Score
	}
	return cmp.Compare(f.ID, g.ID)
}

// cost is what comparing two entries takes, at most, in steps.
func cost(e, f *Entry) int { return 4 + 4*min(e.weight, f.weight) }

// Since returns the entries that match e at a time and have numbers greater than after, at
// most so many, in the order of their numbers. To go on, the next look is after next;
// there may be more then.
func (b *Book) Since(e *Entry, after uint64, most int, now time.Time) (list []Found, next uint64, more bool) {
	next = after
	work := 0
	for _, p := range b.onPath(e.Kind.Other(), e.Category, false, after) {
		if work += cost(e, p.Entry); len(list) == most || work > Work {
			return list, next, true
		}
		next = p.Number
		if score, _ := deal(e, p.Entry, false); score > 0 && now.Before(p.Expires) {
			list = append(list, Found{p, score})
		}
	}
	return list, next, false
}

// Within yields the entries of a kind whose category is within c, or all if that is "",
// the newest first, expired ones as well. Their numbers are less than before, unless that
// is 0.
func (b *Book) Within(kind Kind, c string, before uint64) iter.Seq[*Posted] {
	return func(yield func(*Posted) bool) {
		for _, p := range slices.Backward(b.onPath(kind, c, true, 0)) {
			if (before == 0 || p.Number < before) && !yield(p) {
				return
			}
		}
	}
}
