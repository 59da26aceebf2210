package stream

import (
	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

// EstimateCost fills in what an agent cost that does not tell, from its tokens and the list price of its model. Where the CLI named no model it is the
// one that was asked for. Without a price the cost stays unknown.
func EstimateCost(o *ralph.AgentOutcome) {
	if o.Cost == nil {
		o.Cost = listPrice(o.Model, o.Tokens)
		o.CostEstimated = o.Cost != nil
	}
}

// listPrice is nil if the tokens or what they cost is not known.
func listPrice(name string, tokens *ralph.Tokens) *float64 {
	return new(model.Bill).Count((*model.Usage)(tokens), name)
}
