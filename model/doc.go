// Package model knows what the tokens of models cost.
//
//	price, ok := model.PriceOf("openai/gpt-5.6-sol")
//	usd, known := price.Cost(model.Usage{Input: 12_000, Output: 3_000, CacheRead: 90_000})
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
