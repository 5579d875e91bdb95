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
	all    []*Posted // of it and of those below it, as well
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
	n.all = with(n.all, p)
	for segment := range strings.SplitSeq(p.Category, ".") {
		if n.below == nil {
			n.below = map[string]*node{}
		}
		if n.below[segment] == nil {
			n.below[segment] = new(node)
		}
		n = n.below[segment]
		n.all = with(n.all, p)
	}
	n.posted = with(n.posted, p)
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
	n.posted = without(n.posted, p)
	for _, n := range path {
		n.all = without(n.all, p)
	}
	for i := len(segments); i > 0 && len(path[i].all) == 0; i-- {
		delete(path[i-1].below, segments[i-1])
	}
}

func (b *Book) tree(k Kind) *node {
	if k == Want {
		return &b.trees[0]
	}
	return &b.trees[1]
}

// find returns where an entry with a number stands in a list, or would.
func find(list []*Posted, number uint64) (int, bool) {
	return slices.BinarySearchFunc(list, number, func(p *Posted, number uint64) int { return cmp.Compare(p.Number, number) })
}

func with(list []*Posted, p *Posted) []*Posted {
	i, _ := find(list, p.Number)
	return slices.Insert(list, i, p)
}

func without(list []*Posted, p *Posted) []*Posted {
	i, _ := find(list, p.Number)
	return slices.Delete(list, i, i+1)
}

// onPath returns the entries whose category is on one path with c, or only those within
// it, as lists that are each in the order of their numbers. All categories are within "".
// There are no more lists than a category has words: what is posted in many others below
// it makes no look into it slower.
func (b *Book) onPath(kind Kind, c string, within bool) (lists [][]*Posted) {
	n := b.tree(kind)
	if c != "" {
		for segment := range strings.SplitSeq(c, ".") {
			if !within {
				lists = append(lists, n.posted)
			}
			if n = n.below[segment]; n == nil {
				return lists
			}
		}
	}
	return append(lists, n.all)
}

// newest yields the entries of lists, the newest first, whose numbers are less than
// before, unless that is 0.
func newest(lists [][]*Posted, before uint64) iter.Seq[*Posted] {
	return func(yield func(*Posted) bool) {
		for i, list := range lists {
			if before > 0 {
				n, _ := find(list, before)
				lists[i] = list[:n]
			}
		}
		for {
			at := -1
			for i, list := range lists {
				if len(list) > 0 && (at < 0 || list[len(list)-1].Number > lists[at][len(lists[at])-1].Number) {
					at = i
				}
			}
			if at < 0 {
				return
			}
			last := len(lists[at]) - 1
			p := lists[at][last]
			if lists[at] = lists[at][:last]; !yield(p) {
				return
			}
		}
	}
}

// oldest yields the entries of lists, the oldest first, whose numbers are greater than
// after.
func oldest(lists [][]*Posted, after uint64) iter.Seq[*Posted] {
	return func(yield func(*Posted) bool) {
		for i, list := range lists {
			n, _ := find(list, after+1)
			lists[i] = list[n:]
		}
		for {
			at := -1
			for i, list := range lists {
				if len(list) > 0 && (at < 0 || list[0].Number < lists[at][0].Number) {
					at = i
				}
			}
			if at < 0 {
				return
			}
			p := lists[at][0]
			if lists[at] = lists[at][1:]; !yield(p) {
				return
			}
		}
	}
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
	work, n := 0, 0
	var floor *Found // what is not better is not among the best
	keep := func() {
		slices.SortFunc(list, byScore)
		list = list[:min(most, len(list))]
	}
	for p := range newest(b.onPath(e.Kind.Other(), e.Category, false), 0) {
		if work += cost(e, p.Entry); work > Work {
			all = false
			break
		}
		score, _ := deal(e, p.Entry, false)
		if score == 0 || !now.Before(p.Expires) {
			continue
		}
		n++
		f := Found{p, score}
		if floor != nil {
			if byScore(f, *floor) > 0 {
				continue
			}
			work += sorting
		}
		list = append(list, f)
		if most > 0 && len(list) == 4*most {
			keep()
			last := list[most-1]
			floor = &last
		}
	}
	keep()
	return list, all && n <= most
}

// sorting is what it takes to put an entry that was found among the best, in steps.
const sorting = 128

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
	for p := range oldest(b.onPath(e.Kind.Other(), e.Category, false), after) {
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
	return newest(b.onPath(kind, c, true), before)
}
