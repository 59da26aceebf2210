package agent

import (
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
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
// Its errors have no codes, so that their words must be read.
type codexStream struct {
	*stream.Reading
	open   map[string]bool // tools that began and have not ended
	buffer []byte
}

// maxOpen bounds the tools under way that are remembered.
const maxOpen = 256

// codexEvent is one event taken apart, strings still escaped.
type codexEvent struct {
	kind, thread, message []byte
	item                  codexItem
	failure, usage        []byte
}

// codexItem is what the agent said or did. The detail is text.
type codexItem struct {
	id, kind, name, status, text []byte
	detail                       string
}

func (c *codexStream) ignores(kind []byte) bool { return string(kind) == "item.updated" }

func (c *codexStream) event(text []byte) bool {
	e, ok := c.parse(text)
	if !ok {
		return false
	}
	switch string(e.kind) {
	case "thread.started":
		c.InSession(e.thread)
	case "turn.started", "item.updated":
	case "item.started":
		c.started(e.item)
	case "item.completed":
		c.completed(e.item)
	case "error":
		c.complains(string(stream.Unescape(nil, e.message)))
	case "turn.completed":
		c.Closed, c.Hopeless, c.Fault, c.Retry = true, false, nil, nil
		c.Tokens = stream.WithoutCache(codexUsage.ReadText(e.usage))
		c.TellSpent()
	case "turn.failed":
		c.Closed, c.Retry = true, nil
		c.Fault = codexFault(codexMessage(e.failure), c.Now())
	default:
		return true
	}
	c.Events++
	return true
}

// complains notes a retry. A refused login is refused again: there is nothing to wait for.
func (c *codexStream) complains(message string) {
	f := codexFault(message, c.Now())
	c.Retrying(f)
	if f.Class == ralph.EndAuth && codexRetry().MatchString(message) {
		c.Fault, c.Hopeless = f, true
	}
}

// longEvent is a tool's output, as a rule.
func (c *codexStream) longEvent(head []byte) bool {
	e, _ := c.parse(head)
	if len(e.item.kind) == 0 || string(e.item.kind) == "agent_message" {
		return false
	}
	switch string(e.kind) {
	case "item.started":
		c.started(e.item)
	case "item.completed":
		c.completed(e.item)
	default:
		return false
	}
	c.Events++
	return true
}

// parse takes an event apart in one pass. It stops early at those that nobody looks into.
func (c *codexStream) parse(text []byte) (e codexEvent, ok bool) {
	w := stream.Walker{Text: text}
	for key := range w.Fields() {
		switch string(key) {
		case "type":
			if e.kind, _ = w.Str(); c.ignores(e.kind) {
				return e, true
			}
		case "thread_id":
			e.thread, _ = w.Str()
		case "item":
			e.item = parseItem(&w)
		case "message":
			e.message, _ = w.Str()
		case "error":
			e.failure = w.Raw()
		case "usage":
			e.usage = w.Raw()
		}
	}
	return e, !w.Bad && len(e.kind) > 0
}

// parseItem knows the tools of MCP servers by their own name, others by their kind.
func parseItem(w *stream.Walker) (i codexItem) {
	for key := range w.Fields() {
		switch string(key) {
		case "id":
			i.id, _ = w.Str()
		case "type":
			i.kind, _ = w.Str()
		case "status":
			i.status, _ = w.Str()
		case "text":
			i.text, _ = w.Str()
		case "tool":
			i.name, _ = w.Str()
		case "command":
			i.detail = codexShell(w.Word())
		case "query":
			i.detail = w.Word()
		case "changes":
			i.detail = codexPaths(w)
		}
	}
	if len(i.name) == 0 {
		i.name = i.kind
	}
	return i
}

// isTool tells tools from messages, thoughts, and the warnings that are called errors.
func (i codexItem) isTool() bool {
	switch string(i.kind) {
	case "", "agent_message", "error", "reasoning", "todo_list", "plan":
		return false
	}
	return true
}

func (c *codexStream) started(i codexItem) {
	if !i.isTool() {
		return
	}
	c.Tool(string(i.name), i.detail)
	if c.open == nil {
		c.open = map[string]bool{}
	}
	if len(c.open) < maxOpen {
		c.open[string(i.id)] = true
	}
}

// completed counts a step: a message, or a tool that ended. How often the model was asked is not told.
func (c *codexStream) completed(i codexItem) {
	switch {
	case string(i.kind) == "agent_message":
		c.speak(i.text)
	case i.isTool():
		if !c.open[string(i.id)] { // some are told only when they end
			c.Tool(string(i.name), i.detail)
		}
		delete(c.open, string(i.id))
		if string(i.status) == "declined" {
			c.Denied(string(i.name), i.detail, "--yolo")
		}
	default:
		return
	}
	c.Retry = nil
	c.Step()
}

func (c *codexStream) speak(escaped []byte) {
	c.buffer = stream.Unescape(c.buffer[:0], escaped)
	c.Say(c.buffer)
	c.Said.EndMessage()
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
func codexPaths(w *stream.Walker) string {
	var paths []string
	for range w.Elements() {
		for key := range w.Fields() {
			if string(key) == "path" && len(paths) < 4 {
				paths = append(paths, w.Word())
			}
		}
	}
	return strings.Join(paths, " ")
}

// codexUsage is what the CLI calls its tokens, which are those of the whole turn. The input's figure includes the cache's.
var codexUsage = stream.TokenNames{"input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens"}

func codexMessage(failure []byte) string {
	if failure == nil {
		return ""
	}
	w := stream.Walker{Text: failure}
	if w.Peek() == '"' {
		return w.Word()
	}
	message := ""
	for key := range w.Fields() {
		if string(key) == "message" {
			message = w.Word()
		}
	}
	return message
}

var (
	codexRetry  = text.LazyRegexp(`^Reconnecting\.\.\. \d+/\d+ \((.*)\)$`)
	codexStatus = text.LazyRegexp(`^(?:unexpected status|exceeded retry limit, last status:) (\d{3})\b`)
	codexAgain  = text.LazyRegexp(`[Tt]ry again in ((?:\d+ \w+[, ]*)+)`)
	codexReset  = text.LazyRegexp(`[Tt]ry again at ([A-Z][a-z]{2} \d{1,2}[a-z]{2}, \d{4})? ?(\d{1,2}:\d{2} [AP]M)\b`)
	// codexOrdinal is what Go's layouts have no word for: 1st, 2nd, 3rd, 17th.
	codexOrdinal = text.LazyRegexp(`(\d)[a-z]{2},`)
	codexSpan    = text.LazyRegexp(`(\d+) (day|hour|minute|second)`)
)

// codexErrors are those in which no status stands.
var codexErrors = sentences{
	{ralph.EndAuth, text.LazyRegexp(`missing environment variable|not logged in`)},
	{ralph.EndLimit, text.LazyRegexp(`usage limit|quota exceeded`)},
	{ralph.EndProvider, text.LazyRegexp(`high demand|stream disconnected|error sending request|connection|timed out|timeout`)},
}

// codexFault says what the words of an error event mean that came now.
func codexFault(message string, now time.Time) *stream.Fault {
	if m := codexRetry().FindStringSubmatch(message); m != nil {
		message = m[1]
	}
	f := codexErrors.fault(message, codexLogin)
	if m := codexStatus().FindStringSubmatch(message); m != nil {
		status, _ := strconv.ParseInt(m[1], 10, 64) // three digits
		f = quotedFault(stream.StatusClass(status), message, codexLogin)
	}
	if f.Class == ralph.EndLimit {
		f.Wait = codexWait(message, now)
	}
	return f
}

// codexWait reads "try again in 2 days 17 hours 14 minutes", "try again at 9:33 AM" and "try again at Nov 17th, 2026 9:33 AM".
func codexWait(message string, now time.Time) time.Duration {
	if m := codexReset().FindStringSubmatch(message); m != nil {
		return codexUntil(m[1], m[2], now)
	}
	var wait time.Duration
	unit := map[string]time.Duration{"day": 24 * time.Hour, "hour": time.Hour, "minute": time.Minute, "second": time.Second}
	if m := codexAgain().FindStringSubmatch(message); m != nil {
		for _, part := range codexSpan().FindAllStringSubmatch(m[1], -1) {
			n, _ := strconv.Atoi(part[1])
			wait += time.Duration(min(n, 1000)) * unit[part[2]]
		}
	}
	return wait
}

// codexUntil is the time until a moment of this machine's clock, today if no day is told. Its seconds are cut off, so that the minute is waited out.
func codexUntil(day, clock string, now time.Time) time.Duration {
	layout, text := "3:04 PM", clock
	if day != "" {
		layout, text = "Jan 2, 2006 3:04 PM", codexOrdinal().ReplaceAllString(day, "$1,")+" "+clock
	}
	reset, err := time.ParseInLocation(layout, text, now.Location())
	if err != nil {
		return 0
	}
	if day == "" {
		year, month, today := now.Date()
		reset = time.Date(year, month, today, reset.Hour(), reset.Minute(), 0, 0, now.Location())
	}
	return max(reset.Add(time.Minute).Sub(now), 0)
}
