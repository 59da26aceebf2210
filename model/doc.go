// Package model is how one talks to a model, and what that costs.
//
//	client := &model.Patient{Client: anthropic.New(anthropic.Options{Key: key})}
//	reply, err := client.Send(ctx, model.Request{Model: name, Messages: conversation, Tools: tools}, nil)
//	price, ok := model.PriceOf(name)
//	usd, known := price.Cost(*reply.Usage)
//
// # Conversations
//
// A [Client] has one method: a whole [Request] goes in, a whole [Reply] comes out. Nothing is kept between two calls, so that whoever calls owns the
// conversation, and may shorten it, repeat it, or write it down. Why there is no reply is a [Fault], and its kind says what is to be done. [Patient] waits and asks again.
//
// The clients are in folders of their own, and nobody else knows a wire format: anthropic, openai (which reaches most others) and scripted, which follows a
// file and asks nobody. What the first two share is in wire.
//
// # Prices
//
//	price, ok := model.PriceOf("openai/gpt-5.6-sol")
//	usd, known := price.Cost(model.Usage{Input: 12_000, Output: 3_000, CacheRead: 90_000})
//
// [Window] says how much a model can hold.
//
// # The table
//
// The prices are those that makers of models list for their own interfaces, in US dollars for a million tokens, as they were on [PricesAsOf]: a table
// in the program, so that a cost can be reckoned without asking anybody. It is made by the program in gen/ from a snapshot of models.dev and a short
// supplement, and holds the models that people let write code. To renew it, fetch api.json of that project and run, in this folder,
//
//	MODELS_DEV_JSON=/path/to/api.json go generate
//
// # What a reckoned cost is worth
//
// It is an estimate, and rather too low than too high. Many makers ask more for long prompts (beyond 100,000 to 512,000 tokens, depending on the maker);
// only what a whole run took is known, not what each of its requests did, so that the base price is taken for all. Fast lanes, the regions of a cloud
// and caches that are kept longer than the shortest time cost more, too. What a subscription costs has nothing to do with tokens: there the figure is what the
// same work would have cost without one.
//
// # Names
//
// Agents and users spell one model in many ways. [PriceOf] knows the maker's name in front, the forms that clouds give to names of Claude, dates behind,
// and the short names of Claude Code. It never takes the price of one model for another: a name that it cannot tell has no price, and so has whatever
// is sold by somebody else than its maker, such as "groq/…" or "…:free".
package model
