package relay

import (
	"context"
	"time"
)

// Status returns the HTTP status of a code.
func Status(c Code) int { return status[c] }

// CompactIfDue has the server look whether it is time to compact, after so long since
// the last compaction and so much that was removed. It returns what looks again.
func (s *Server) CompactIfDue(ctx context.Context, since time.Duration, freed int64) (again func()) {
	c := compaction{at: s.mail.now().Add(-since)}
	s.compact(ctx, &c, freed)
	return func() { s.compact(ctx, &c, 0) }
}

// Pages are pages.
type Pages = pages

// Take is take.
func (p *pages) Take() (int, func()) { return p.take() }
