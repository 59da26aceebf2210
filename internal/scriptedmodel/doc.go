// Package scriptedmodel is a model server whose answers come from a script, so that agent CLIs and
// model clients can be tried without a model, a key or a network: by the end-to-end tests, by the
// doctor's golden probe, and by hand with `ralph dev model-server`.
//
// # Wire formats
//
// Clients must not notice the difference. The server supports these formats, with and without
// streaming:
//
//   - Anthropic Messages: POST …/messages, and …/messages/count_tokens;
//   - OpenAI Responses: POST …/responses;
//   - OpenAI Chat Completions: POST …/chat/completions;
//   - Gemini: POST …/models/NAME:streamGenerateContent, :generateContent and :countTokens.
//
// GET …/models returns a short list. The first element of a path is the name of a scenario, so that
// one server serves all of them at once. A client's base URL is [Running.URL], a slash, and the
// scenario's name (and the /v1 that OpenAI's clients expect after it).
//
// # Scripts
//
// A [Script] maps names to scenarios; [Parse] reads one from JSON, and [Standard] is the built-in
// one. A [Scenario] is a list of conversations: the first fresh agent gets the first one, the
// second agent the second, and all later agents get the last one. A conversation is a list of
// turns.
//
//	{
//	  "fixed-later": {"conversations": [
//	    [{"text": "<promise>COMPLETE</promise>"}],
//	    [{"tools": [{"shell": "echo right > answer.txt"}]}, {"text": "<promise>COMPLETE</promise>"}]
//	  ]},
//	  "tired": {"conversations": [[{"text": "Hello.", "faults": [{"do": "status", "status": 529, "times": 2}]}]]}
//	}
//
// A [Turn] has text, hidden thinking, tool calls and the tokens that it reports. Its faults come
// first, one for each request. A tool call does not depend on the client: {"shell": …} and
// {"write": …} use the matching tool that the request offers, with that tool's argument names.
// {"name": …} with "input", or with "raw" for input that is not JSON, names a tool, offered or not.
// A text may take words from the request: {"text": "it is {{word}}", "fill": {"word": "the word is
// (\\w+)"}}.
//
// # Which turn a request gets
//
// Clients retry, ask for titles on the side, and repeat a streaming request in the other form, so
// requests are not counted. The turn is the number of answers that the request itself holds. A
// request that holds none comes from a fresh agent if the first turn of the current conversation
// was already answered without a fault; otherwise it is another try of the same agent. The IDs of
// tool calls, which clients send back, identify the conversation of a later request; if a format
// has none, it is the current one. An empty turn is an answer as well: a client that asks again
// after one, as some do, counts as the next agent.
//
// A request without tools, or with less than half as many as the same client offered before, is a
// side call: a title, a summary, a sub-agent. It gets [Scenario.Side], and does not advance the
// scenario.
package scriptedmodel
