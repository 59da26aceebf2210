package scriptedmodel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// wire is one format of requests and answers.
type wire interface {
	// name is the format's name in the log.
	name() string
	// read parses a request.
	read(path string, body []byte) (ask, error)
	// stream returns an answer as the pieces of a stream.
	stream(a answer) []frame
	// whole returns an answer as one JSON value.
	whole(a answer) any
	// failure returns the body for an error status.
	failure(t trouble) any
	// failureFrames returns an error within a stream, after the given number of frames.
	failureFrames(t trouble, sent int) []frame
}

// ask holds the parts of a request that matter.
type ask struct {
	streaming bool
	asArray   bool // the stream is a JSON array, as Gemini's is without alt=sse
	wantUsage bool // the stream must end with the tokens, in formats where that is an option
	model     string
	tools     []offer
	answers   int    // answers that the request already holds
	answering bool   // the last message read is the model's
	callID    string // ID of the last tool call that it holds; "" if none
	folder    string // the client's working folder; "" if unknown
}

// readAsk parses the body of a request.
func readAsk(what string, body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("read %s request: %w", what, err)
	}
	return nil
}

// addMessage counts the next message of the conversation. Consecutive messages of the model are one
// answer.
func (a *ask) addMessage(byModel bool) {
	if byModel && !a.answering {
		a.answers++
	}
	a.answering = byModel
}

// folderSentence matches the sentence by which most clients tell the model their working folder.
var folderSentence = regexp.MustCompile(`(?i)working (?:in the )?directory: (/[^\s"\\\\]+)`)

// offer is a tool that the model may call.
type offer struct {
	name      string
	namespace string // the beginning of the name, if the client sends it separately
	freeform  bool   // its input is text, not JSON
	schema    schema
}

// schema is the part of a JSON schema that is needed to fill in arguments.
type schema struct {
	Properties map[string]struct {
		Type any   `json:"type"` // a string or a list of strings
		Enum []any `json:"enum"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// answer is a turn that is ready to send.
type answer struct {
	ask
	turn  Turn
	usage Usage
	calls []call
	id    string    // unique for each answer
	now   time.Time // when the answer was made
}

// stopReason chooses the format's word for the end of the answer.
func (a answer) stopReason(length, refusal, calls, end string) string {
	switch {
	case a.turn.Stop == StopLength:
		return length
	case a.turn.Stop == StopRefusal:
		return refusal
	case len(a.calls) > 0:
		return calls
	}
	return end
}

// call is a tool call with everything that the format needs.
type call struct {
	id, name  string
	namespace string
	freeform  bool
	input     map[string]any
	raw       string // replaces the input if it is not ""
}

// arguments returns the input as text.
func (c call) arguments() string {
	return cmp.Or(c.raw, mustJSON(c.input))
}

// value returns the input for formats that do not encode it as text.
func (c call) value() any {
	if c.raw != "" {
		return c.raw
	}
	return c.input
}

// frame is one event of a stream of server-sent events.
type frame struct {
	event string // "" if the format does not name its events
	data  string
}

func (f frame) String() string {
	if f.event == "" {
		return "data: " + f.data + "\n\n"
	}
	return "event: " + f.event + "\ndata: " + f.data + "\n\n"
}

// object is a JSON object to write.
type object = map[string]any

// typed returns a frame whose data repeats the event's name as "type".
func typed(event string, data object) frame {
	data["type"] = event
	return frame{event: event, data: mustJSON(data)}
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // the values are only maps, lists, strings and numbers
	}
	return string(text)
}

// pieces splits a text between characters, into at least three parts if it is long enough, and into
// no more than a few dozen.
func pieces(text string) []string {
	runes := []rune(text)
	size := max(min(12, (len(runes)+2)/3), len(runes)/48, 1)
	var parts []string
	for part := range slices.Chunk(runes, size) {
		parts = append(parts, string(part))
	}
	return parts
}

// trouble is a fault that has an error message.
type trouble struct {
	Fault
	now     time.Time
	request string // the request's ID
}

// kind returns the vendor's name for the error, unless the script gives one.
func (t trouble) kind(usual map[int]string, other string) string {
	return cmp.Or(t.Type, usual[t.Status], other)
}

func (t trouble) message() string {
	switch {
	case t.Message != "":
		return t.Message
	case t.ResetIn > 0:
		return "The usage limit has been reached"
	case t.Status == 401:
		return "invalid api key"
	case t.Status == 429:
		return "This request would exceed your rate limit"
	case t.Status == 529:
		return "Overloaded"
	case t.Status >= 500:
		return "Internal server error"
	}
	return fmt.Sprintf("refused with status %d", t.Status)
}

func (t trouble) resetsAt() time.Time { return t.now.Add(time.Duration(t.ResetIn)) }

// headers are the same for every format: clients look only at those of their vendor.
func (t trouble) headers() http.Header {
	h := http.Header{}
	if t.RetryAfter > 0 {
		h.Set("Retry-After", seconds(t.RetryAfter))
	}
	if t.RetryDate > 0 {
		// as seconds does
		h.Set("Retry-After", t.now.Add(time.Duration(t.RetryDate)+time.Second-1).UTC().Format(http.TimeFormat))
	}
	if t.ResetIn > 0 {
		h.Set("Retry-After", seconds(t.ResetIn))
		h.Set("Anthropic-Ratelimit-Unified-Status", "rejected")
		h.Set("Anthropic-Ratelimit-Unified-Reset", strconv.FormatInt(t.resetsAt().Unix(), 10))
		h.Set("Anthropic-Ratelimit-Unified-Representative-Claim", "five_hour")
		h.Set("X-Codex-Primary-Used-Percent", "100")
		h.Set("X-Codex-Primary-Window-Minutes", "300")
		h.Set("X-Codex-Primary-Reset-At", strconv.FormatInt(t.resetsAt().Unix(), 10))
	}
	for name, value := range t.Headers {
		h.Set(name, value)
	}
	return h
}

// seconds rounds up, so that a client never waits too little.
func seconds(p Pause) string {
	return strconv.FormatInt(int64((time.Duration(p)+time.Second-1)/time.Second), 10)
}

// wireFor returns the format for the end of a path.
func wireFor(path string) wire {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return anthropic{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, ":streamGenerateContent"), strings.HasSuffix(path, ":generateContent"):
		return gemini{}
	}
	return nil
}
