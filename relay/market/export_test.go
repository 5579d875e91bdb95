package market

// InBook returns how many entries the market has in memory.
func (m *Market) InBook() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.book.Len()
}
