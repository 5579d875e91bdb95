package node

import "context"

// Health returns what keeps the node from its work, in words that do not change: its disk
// refuses, its home relay is away, or its own relay does not work. Nothing, if all is well.
func (n *Node) Health(ctx context.Context) (broken []string) {
	if err := n.disk.put(ctx, bucketSelf, "self", selfRecord{n.agent}); err != nil {
		n.log.Error("the disk refuses", "why", kindOf(err))
		broken = append(broken, "the disk refuses")
	}
	if n.opts.Relay != "" {
		if home, err := n.carrier(n.opts.Relay); err != nil || !home.client.Connected() {
			broken = append(broken, "the home relay is away")
		}
	}
	if n.own != nil { // it refuses the node itself when the disk is full
		if own, err := n.carrier(ownRelay); err != nil || !own.client.Connected() {
			broken = append(broken, "the own relay does not work")
		}
	}
	return broken
}
