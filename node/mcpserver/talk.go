package mcpserver

import "github.com/concordia-node/concordia/wire"

func talkTools() []*tool {
	list := []*tool{
		moveTool(wire.TypeSignal, "concordia_signal", "Tell what matters",
			"Tells the other party what matters to you, without an offer.", append([]param{
				{name: "priority_ranking", kind: texts, text: "terms, what matters most first"},
				{name: "flexibility", kind: object, text: `as {"price": "firm"}; firm, somewhat_flexible or very_flexible`},
				{name: "aspiration", kind: object, text: "by term what you hope for"},
				{name: "reservation", kind: object, text: "by term what you would go to; think before you tell"},
			}, leavingParams...)...),
		moveTool(wire.TypeConstrain, "concordia_constrain", "Declare bounds",
			"Declares bounds of terms that bind you: no offer of anyone may break them from now on, and they can only be made tighter.",
			param{name: "constraints", kind: object, must: true, text: `as {"price": {"max": 2000, "currency": "USD"}}`}),
		moveTool(wire.TypeInquire, "concordia_inquire", "Ask about terms", "Asks the other party about terms.",
			param{name: "term_ids", kind: texts, must: true}),
		moveTool(wire.TypeProposeMediator, "concordia_nominate", "Propose a mediator",
			"Proposes a mediator. When all parties have named the same one, it may propose a resolution.",
			param{name: "mediator_id", kind: id, must: true}),
		moveTool(wire.TypeResolve, "concordia_resolve", "Propose a resolution",
			"As the mediator: proposes terms that all parties have to accept.",
			param{name: "terms", kind: object, must: true}, param{name: "mechanism", kind: text, oneOf: []string{"split", "foa", "tradeoff", "escalation"}, text: "how you came to them; split if it is left out"}),
	}
	list[1].ends = true // it cannot be undone
	return list
}
