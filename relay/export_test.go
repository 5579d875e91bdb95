package relay

// Status returns the HTTP status of a code.
func Status(c Code) int { return status[c] }
