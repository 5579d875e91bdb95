package node

// ClockMoved has a node look at its deadlines again, after a test has put its clock
// forward.
func ClockMoved(n *Node) { n.deadlines.look() }

// BeforeSending has f called once a message is kept and before it is sent.
func BeforeSending(n *Node, f func()) { n.beforeSending = f }

// StopNow has everything that a node does end, as Close does, and does not wait for it.
func (n *Node) StopNow() { n.stop(errStopping) }
