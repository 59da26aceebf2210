package agent

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
)

// codexStream reads the events of `codex exec --json`.
//
//	thread.started   session
//	item.started     a tool begins
//	item.completed   a message of the agent, a tool that ended, or a warning
//	error            a retry ("Reconnecting... 1/5 (…)"), or what turn.failed will say again
//	turn.completed   the closing event of a good turn: usage
//	turn.failed      the closing event of a bad one
//
// Its errors have no codes, so that their words must be read. A refused login is not waited for more than seconds, and a token may be renewed
// meanwhile: the CLI is left to its retries.
type codexStream struct {
	*reading
	open   map[string]bool // tools that began and have not ended
	buffer []byte
}

// maxOpen bounds the tools under way that are remembered.
const maxOpen = 256

type codexItem struct {
	id, kind, name, detail, status string
	text                           []byte
}

func (c *codexStream) ignores(kind []byte) bool { return string(kind) == "item.updated" }

func (c *codexStream) event(text []byte) bool {
	w := walker{text: text}
	var kind, message, thread string
	var item, usage, failure []byte
	for key := range w.fields() {
		switch string(key) {
		case "type":
			k, _ := w.str()
			if kind = string(k); c.ignores(k) {
				c.events++
				return true
			}
		case "thread_id":
			thread = w.word()
		case "item":
			item = w.raw()
		case "message":
			message = w.word()
		case "error":
			failure = w.raw()
		case "usage":
			usage = w.raw()
		}
	}
	if w.bad || kind == "" {
		return false
	}
	switch kind {
	case "thread.started":
		c.inSession(thread)
	case "turn.started":
	case "item.started", "item.completed":
		c.item(codexItemOf(item), kind == "item.completed")
	case "error":
		c.retrying(codexFault(message))
	case "turn.completed":
		c.closed, c.fault, c.retry = true, nil, nil
		c.tokens = codexTokens(usage)
	case "turn.failed":
		c.closed, c.retry = true, nil
		c.fault = codexFault(codexMessage(failure))
	default:
		return true
	}
	c.events++
	return true
}

// longEvent is a tool's output, as a rule.
func (c *codexStream) longEvent(head []byte) bool {
	w := walker{text: head}
	var kind string
	var i codexItem
	for key := range w.fields() {
		switch string(key) {
		case "type":
			kind = w.word()
		case "item":
			i = codexRead(&w)
		}
	}
	if i.kind == "" || i.kind == "agent_message" || kind != "item.started" && kind != "item.completed" {
		return false
	}
	c.item(i, kind == "item.completed")
	c.events++
	return true
}

// item notes what the agent did. Messages and tool calls that ended are its steps: it does not say how often it asked the model.
func (c *codexStream) item(i codexItem, ended bool) {
	switch i.kind {
	case "", "error", "reasoning", "todo_list", "plan": // an error item is a warning, seen in good runs too
		return
	case "agent_message":
		if ended {
			c.speak(i.text)
			c.step()
		}
		return
	}
	if !c.open[i.id] {
		c.tool(i.name, i.detail)
	}
	if !ended {
		c.begin(i.id)
		return
	}
	delete(c.open, i.id)
	c.step()
	c.retry = nil
	if i.status == "declined" {
		c.denied(i.name, i.detail)
	}
}

func (c *codexStream) begin(id string) {
	if c.open == nil {
		c.open = map[string]bool{}
	}
	if len(c.open) < maxOpen {
		c.open[id] = true
	}
}

func (c *codexStream) step() {
	if c.steps == nil {
		c.steps = new(int)
	}
	*c.steps++
}

func (c *codexStream) speak(escaped []byte) {
	c.retry = nil
	c.buffer = unescape(c.buffer[:0], escaped)
	c.say(c.buffer)
	c.said.EndMessage()
}

func codexItemOf(raw []byte) codexItem {
	if raw == nil {
		return codexItem{}
	}
	return codexRead(&walker{text: raw})
}

// codexRead takes an item apart. The tool of an MCP server has a name of its own, other tools are known by their kind.
func codexRead(w *walker) codexItem {
	var i codexItem
	for key := range w.fields() {
		switch string(key) {
		case "id":
			i.id = w.word()
		case "type":
			i.kind = w.word()
		case "status":
			i.status = w.word()
		case "text":
			i.text, _ = w.str()
		case "tool":
			i.name = w.word()
		case "command":
			i.detail = codexShell(w.word())
		case "query":
			i.detail = w.word()
		case "changes":
			i.detail = codexPaths(w)
		}
	}
	if i.name == "" {
		i.name = i.kind
	}
	return i
}

// codexShell takes the shell away that every command is wrapped in.
func codexShell(command string) string {
	for _, shell := range []string{"/bin/bash -lc ", "bash -lc "} {
		if rest, ok := strings.CutPrefix(command, shell); ok {
			return strings.Trim(rest, `'"`)
		}
	}
	return command
}

// codexPaths are the files of a change.
func codexPaths(w *walker) string {
	var paths []string
	for range w.elements() {
		for key := range w.fields() {
			if string(key) == "path" && len(paths) < 4 {
				paths = append(paths, w.word())
			}
		}
	}
	return strings.Join(paths, " ")
}

// codexTokens reads the usage of the turn, which is cumulative. Its input figure includes what was read from and written to the cache.
func codexTokens(usage []byte) *ralph.Tokens {
	if usage == nil {
		return nil
	}
	var t ralph.Tokens
	w := walker{text: usage}
	for key := range w.fields() {
		switch string(key) {
		case "input_tokens":
			t.Input = w.count()
		case "cached_input_tokens":
			t.CacheRead = w.count()
		case "cache_write_input_tokens":
			t.CacheWrite = w.count()
		case "output_tokens":
			t.Output = w.count()
		}
	}
	t.Input = max(t.Input-t.CacheRead-t.CacheWrite, 0)
	return &t
}

func codexMessage(failure []byte) string {
	if failure == nil {
		return ""
	}
	w := walker{text: failure}
	if w.peek() == '"' {
		return w.word()
	}
	message := ""
	for key := range w.fields() {
		if string(key) == "message" {
			message = w.word()
		}
	}
	return message
}

var (
	codexRetry  = regexp.MustCompile(`^Reconnecting\.\.\. \d+/\d+ \((.*)\)$`)
	codexStatus = regexp.MustCompile(`^(?:unexpected status|exceeded retry limit, last status:) (\d{3})\b`)
	codexAgain  = regexp.MustCompile(`try again in ((?:\d+ \w+[, ]*)+)`)
	codexSpan   = regexp.MustCompile(`(\d+) (day|hour|minute|second)`)
)

// codexFault says what the words of an error event mean.
func codexFault(message string) *fault {
	if m := codexRetry.FindStringSubmatch(message); m != nil {
		message = m[1]
	}
	f := &fault{class: ralph.EndFailed, text: oneLine(message, sentenceSize)}
	if f.text == "" {
		f.text = "the agent ended with an error"
	}
	status := 0
	if m := codexStatus.FindStringSubmatch(message); m != nil {
		status, _ = strconv.Atoi(m[1])
	}
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(message, w) {
				return true
			}
		}
		return false
	}
	switch {
	case status == 401, status == 403, status == 0 && has("Missing environment variable", "Not logged in", "not logged in"):
		f.class, f.hint = ralph.EndAuth, codexLogin
	case status == 429, status == 0 && has("usage limit", "Quota exceeded"):
		f.class, f.wait = ralph.EndLimit, codexWait(message)
	case status >= 500, status == 408, status == 0 && has("high demand", "stream disconnected", "error sending request", "connection", "timed out", "timeout"):
		f.class = ralph.EndProvider
	}
	return f
}

// codexWait reads "try again in 2 days 17 hours 14 minutes". A time of day is of no use: its zone and day are not told.
func codexWait(message string) time.Duration {
	var wait time.Duration
	unit := map[string]time.Duration{"day": 24 * time.Hour, "hour": time.Hour, "minute": time.Minute, "second": time.Second}
	if m := codexAgain.FindStringSubmatch(message); m != nil {
		for _, part := range codexSpan.FindAllStringSubmatch(m[1], -1) {
			n, _ := strconv.Atoi(part[1])
			wait += time.Duration(min(n, 1000)) * unit[part[2]]
		}
	}
	return wait
}
