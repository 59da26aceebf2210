// Package model talks to models and estimates what that costs.
//
//	client := &model.Retrier{Client: anthropic.New(anthropic.Options{Key: key})}
//	reply, err := client.Send(ctx, model.Request{Model: name, Messages: conversation, Tools: tools}, nil)
//	price, ok := model.PriceOf(name)
//	usd, known := price.Cost(*reply.Usage)
//
// # Conversations
//
// A [Client] has one method: it takes a complete [Request] and returns a complete [Reply]. It keeps
// nothing between two calls, so the caller owns the conversation, and may shorten it, repeat it, or
// save it. If there is no reply, the error is a [Fault], whose kind says how to handle it.
// [Retrier] waits and asks again.
//
// Each client has its own package, and only that package knows its wire format: anthropic, openai
// (which works with most other providers) and scripted, which follows a file and needs no network.
// The first two share internal/wire.
//
// # Prices
//
//	price, ok := model.PriceOf("openai/gpt-5.6-sol")
//	usd, known := price.Cost(model.Usage{Input: 12_000, Output: 3_000, CacheRead: 90_000})
//
// [Window] returns the size of a model's context.
//
// # The table
//
// The prices are those that the makers of models list for their own APIs, in US dollars per million
// tokens, as of [PricesAsOf]. They are a table in the program, so that a cost can be estimated
// without network access. internal/gen makes the table from a snapshot of models.dev and a short
// supplement. It holds the models that people use to write code. To update it, fetch api.json of
// that project and run, in this folder,
//
//	MODELS_DEV_JSON=/path/to/api.json go generate
//
// # How accurate an estimate is
//
// A cost is an estimate, and more often too low than too high. Many makers charge more for long
// prompts (above 100,000 to 512,000 tokens, depending on the maker). Only the total of a whole run
// is known, not that of each request, so the base price is used for all of it. Fast lanes, cloud
// regions and caches that are kept longer than the shortest time also cost more. The price of a
// subscription has nothing to do with tokens: there, the estimate is what the same work would have
// cost without one.
//
// # Names
//
// Agents and users spell the name of a model in many ways. [PriceOf] knows names with the maker in
// front, the forms that clouds use for Claude, names with a date at the end, and the short names of
// Claude Code. It never uses the price of one model for another: an unknown name has no price, and
// neither has a model that is sold by anyone other than its maker, such as "groq/…" or "…:free".
package model
