// Package scriptedmodel is a model server that says what a script says, so that agent CLIs and model clients can be tried without a model, a key or
// a network: by the end-to-end tests, by the doctor's golden probe, and by hand with `ralph dev model-server`.
//
// # Wire formats
//
// Whoever asks must not notice. The server speaks, streaming and not:
//
//   - Anthropic Messages: POST …/messages, and …/messages/count_tokens;
//   - OpenAI Responses: POST …/responses;
//   - OpenAI Chat Completions: POST …/chat/completions;
//   - Gemini: POST …/models/NAME:streamGenerateContent, :generateContent and :countTokens.
//
// GET …/models gives a short list. The first element of a path is the name of a scenario, so that one server serves all of them at once: a client's
// base URL is [Running.URL], a slash, and the scenario's name (and the /v1 that OpenAI's clients want behind it).
//
// # Scripts
//
// A [Script] has scenarios by name; [Parse] reads one from JSON, and [Standard] is the one that is built in. A [Scenario] is a list of conversations: the first
// fresh agent gets the first one, the second agent the second, and the last conversation is for all who come later. A conversation is a list of turns.
//
//	{
//	  "fixed-later": {"conversations": [
//	    [{"text": "<promise>COMPLETE</promise>"}],
//	    [{"tools": [{"shell": "echo right > answer.txt"}]}, {"text": "<promise>COMPLETE</promise>"}]
//	  ]},
//	  "tired": {"conversations": [[{"text": "Hello.", "faults": [{"do": "status", "status": 529, "times": 2}]}]]}
//	}
//
// A [Turn] has text, hidden thinking, tool calls and the tokens that it is said to have used. Its faults come first, one a request. A tool call is
// written without knowing the client: {"shell": …} and {"write": …} take the tool that the request offers for it, with its own argument names.
// {"name": …} with "input", or with "raw" for one that is no JSON, is a tool by its name, offered or not.
// A text may hold words that only the request knows: {"text": "it is {{word}}", "fill": {"word": "the word is (\\w+)"}}.
//
// # Which turn a request gets
//
// Clients retry, ask for titles on the side, and repeat a streaming request in the other form, so requests are not counted. The turn is the number
// of answers that the request itself holds. A request that holds none is a fresh agent's if the first turn of the present conversation has been
// answered well before, and otherwise another try of the same agent. Which agent's conversation a later request belongs to is told by the
// identifiers of tool calls, which come back; where a format has none it is the present one. An empty turn is an answer, too: a client that asks
// again after one, as some do, is taken for the next agent.
//
// A request without tools, or with less than half as many as the same client had offered before, is a side call: a title, a summary, a sub-agent. It gets
// [Scenario.Side], and moves nothing.
package scriptedmodel
