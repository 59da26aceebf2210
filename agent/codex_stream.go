package agent

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

// codexStream reads the events of `codex exec --json`.
//
//	thread.started   session
//	item.started     a tool starts
//	item.completed   a message of the agent, a tool that ended, or a warning
//	error            a retry ("Reconnecting... 1/5 (…)"), or what turn.failed will repeat
//	turn.completed   the closing event of a successful turn: usage
//	turn.failed      the closing event of a failed one
//
// Its errors have no codes, so their text must be read.
type codexStream struct {
	*stream.Reading
	open    openCalls
	session sessionFile
}

type codexEvent struct {
	Type    string    `json:"type"`
	Thread  string    `json:"thread_id"`
	Message string    `json:"message"`
	Item    codexItem `json:"item"`
	Failure errorText `json:"error"`
	Usage   usage     `json:"usage"`
}

// codexItem is what the agent said or did.
type codexItem struct {
	ID      string        `json:"id"`
	Type    string        `json:"type"`
	Status  string        `json:"status"`
	Text    string        `json:"text"`
	Tool    string        `json:"tool"`
	Command string        `json:"command"`
	Query   string        `json:"query"`
	Changes []codexChange `json:"changes"`
	Exit    *int          `json:"exit_code"`
	Output  string        `json:"aggregated_output"`
}

type codexChange struct {
	Path string `json:"path"`
}

func (c *codexStream) ignores(kind string) bool { return kind == "item.updated" }

func (c *codexStream) event(e *codexEvent) bool {
	switch e.Type {
	case "thread.started":
		c.InSession(e.Thread)
	case "turn.started", "item.updated":
	case "item.started":
		c.started(e.Item)
	case "item.completed":
		c.completed(e.Item)
		c.readSession()
	case "error":
		c.complains(e.Message)
	case "turn.completed":
		c.Closed, c.Hopeless, c.Fault, c.Retry = true, false, nil, nil
		c.readSession()
		c.Tokens = withoutCache(codexUsage.of(e.Usage))
		c.TellSpent()
	case "turn.failed":
		c.Closed, c.Retry = true, nil
		c.Fault = codexFault(string(e.Failure), c.Now())
	default:
		return false
	}
	return true
}

// complains records a retry, or an error that turn.failed will repeat. A refused login is refused again, so there is
// nothing to wait for.
func (c *codexStream) complains(message string) {
	f := codexFault(message, c.Now())
	if !codexRetry().MatchString(message) {
		c.Retry = f
		return
	}
	c.Retrying(f)
	if f.Class == ralph.EndAuth {
		c.Fault, c.Hopeless = f, true
	}
}

// longEvent is usually a tool's output.
func (c *codexStream) longEvent(e *codexEvent) bool {
	ofItem := e.Type == "item.started" || e.Type == "item.completed"
	return ofItem && e.Item.Type != "" && e.Item.Type != "agent_message" && c.event(e)
}

func (i codexItem) isTool() bool {
	return !slices.Contains([]string{"", "agent_message", "error", "reasoning", "todo_list", "plan"}, i.Type)
}

// call names the tools of MCP servers by their own name, others by their kind.
func (i codexItem) call() openCall {
	paths := text.Mapped(i.Changes[:min(len(i.Changes), 4)], func(c codexChange) string { return c.Path })
	return openCall{cmp.Or(i.Tool, i.Type), cmp.Or(codexShell(i.Command), i.Query, strings.Join(paths, " "))}
}

func (c *codexStream) started(i codexItem) {
	if i.isTool() {
		c.Tool(i.call().name, i.call().detail)
		c.open.begin(i.ID, openCall{})
		c.Evidence.Began(i.ID, i.call().name, shell.Call{Line: i.Command})
	}
}

// completed counts a step: a message, or a tool that ended. The number of model calls is not
// reported.
func (c *codexStream) completed(i codexItem) {
	switch call := i.call(); {
	case i.Type == "agent_message":
		c.SayAll(i.Text)
	case i.isTool():
		if _, known := c.open.end(i.ID); !known { // some are reported only when they end
			c.Tool(call.name, call.detail)
		}
		if i.Status != "" { // otherwise the end of a long event is missing
			c.Evidence.Began(i.ID, call.name, shell.Call{Line: i.Command})
			c.Evidence.Ended(i.ID, stream.Ended{Exit: i.Exit, Failed: i.Status != "completed", Output: i.Output}, c.Now())
		}
		if i.Status == "declined" {
			c.Denied(call.name, call.detail, "--yolo")
		}
	default:
		return
	}
	c.Retry = nil
	c.Step()
}

// codexShell removes the shell that wraps every command.
func codexShell(command string) string {
	for _, shell := range []string{"/bin/bash -lc ", "bash -lc "} {
		if rest, ok := strings.CutPrefix(command, shell); ok {
			return strings.Trim(rest, `'"`)
		}
	}
	return command
}

// codexUsage holds the CLI's names for tokens, which are those of the whole turn. The input figure
// includes the cache.
var codexUsage = tokenNames{"input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens"}

var (
	codexRetry  = text.LazyRegexp(`^Reconnecting\.\.\. \d+/\d+ \((.*)\)$`)
	codexStatus = text.LazyRegexp(`^(?:unexpected status|exceeded retry limit, last status:) (\d{3})\b`)
	codexAgain  = text.LazyRegexp(`[Tt]ry again in ((?:\d+ \w+[, ]*)+)`)
	codexReset  = text.LazyRegexp(`[Tt]ry again at ([A-Z][a-z]{2} \d{1,2}[a-z]{2}, \d{4})? ?(\d{1,2}:\d{2} [AP]M)\b`)
	// codexOrdinal matches what Go's layouts cannot express: 1st, 2nd, 3rd, 17th.
	codexOrdinal = text.LazyRegexp(`(\d)[a-z]{2},`)
	codexSpan    = text.LazyRegexp(`(\d+) (day|hour|minute|second)`)
)

// codexErrors are errors without a status.
var codexErrors = sentences{
	{ralph.EndAuth, text.LazyRegexp(`missing environment variable|not logged in`)},
	{ralph.EndLimit, text.LazyRegexp(`usage limit|quota exceeded`)},
	{
		ralph.EndProvider,
		text.LazyRegexp(`high demand|stream disconnected|error sending request|connection|timed out|timeout`),
	},
}

// codexFault classifies the text of an error event that arrived now.
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

// codexWait reads "try again in 2 days 17 hours 14 minutes", "try again at 9:33 AM" and "try again
// at Nov 17th, 2026 9:33 AM".
func codexWait(message string, now time.Time) time.Duration {
	if m := codexReset().FindStringSubmatch(message); m != nil {
		return codexUntil(m[1], m[2], now)
	}
	var wait time.Duration
	unit := map[string]time.Duration{
		"day": 24 * time.Hour, "hour": time.Hour, "minute": time.Minute, "second": time.Second,
	}
	if m := codexAgain().FindStringSubmatch(message); m != nil {
		for _, part := range codexSpan().FindAllStringSubmatch(m[1], -1) {
			n, _ := strconv.Atoi(part[1])
			wait += time.Duration(min(n, 1000)) * unit[part[2]]
		}
	}
	return wait
}

// codexUntil returns the time until a moment of this machine's clock, today if no day is given. The
// seconds are missing in the text, so it waits until the minute is over.
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
