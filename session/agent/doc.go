// Package agent is a short facade for Go programs that negotiate: keys, log and
// state machine in one object per party.
//
//	seller := agent.New(sellerKey, wire.DIDKeys{}, sellerStore, nil)
//	buyer := agent.New(buyerKey, wire.DIDKeys{}, buyerStore, nil)
//	agent.Connect(seller, buyer)
//	sale, err := seller.Open(ctx, wire.M{"price": wire.M{"type": "numeric"}}, nil, buyer.ID())
//	purchase, err := buyer.Negotiation(ctx, sale.ID())
//	err = purchase.AcceptSession(ctx)
//	err = sale.Offer(ctx, wire.M{"price": wire.M{"value": 2050}}, "It is worth it.")
//	err = purchase.Accept(ctx, nil, "Agreed.")
//	receipt, err := sale.Receipt(ctx)
//
// The initiator's agent sequences the session: a message exists once it has
// appended it. What is sent reaches the others through [Peer]: another Agent of
// this process, or whatever carries bytes.
package agent
