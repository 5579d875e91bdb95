package agentcard

import (
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

// Paths that the node answers at, below its public address.
const (
	PathCard = "/.well-known/agent-card.json"
	PathRPC  = "/a2a"
)

// Card returns the A2A card of a node with a public address, in the members of A2A 1.0
// and of 0.3. It is not signed, as little as what is at [node.PathWellKnown]: what is sent
// there is for whoever has the key. (SPEC §10.1)
func Card(self node.Self) (wire.Value, error) {
	const what = "Structured multi-attribute negotiation with signed messages, receipts and agreements"
	url := self.Public + PathRPC
	modes := []string{a2a.MediaType}
	return wire.Encode(wire.M{
		"name":        self.Agent,
		"description": "Negotiates by Concordia (" + a2a.ExtensionURI + ")",
		"version":     self.Version,
		"supportedInterfaces": []wire.M{
			{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
			{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
		},
		"url": url, "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0", // before 1.0
		"capabilities": wire.M{
			"streaming": false, "pushNotifications": false,
			"extensions": []wire.M{{
				"uri": a2a.ExtensionURI, "description": what, "required": false,
				"params": wire.M{
					"protocol": "concordia", "version": self.Version, "agent_id": self.Agent, "public_key": self.Key,
					"roles": []string{"buyer", "seller"}, "categories": []string{}, // all
					"resolution_mechanisms": []string{"split", "foa", "tradeoff"},
				},
			}},
		},
		"defaultInputModes": modes, "defaultOutputModes": []string{"text/plain"},
		"skills": []wire.M{{
			"id": "negotiate", "name": "Negotiate", "description": what,
			"tags": []string{"concordia", "negotiation"}, "inputModes": modes,
		}},
	})
}
