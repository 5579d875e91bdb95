package relay

// Status returns the HTTP status of a code.
func Status(c Code) int { return status[c] }

// Pages are pages.
type Pages = pages

// Take is take.
func (p *pages) Take() (int, func()) { return p.take() }
