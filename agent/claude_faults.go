package agent

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// complaint classifies an error result. The subtype does not help: it is "success" for most of
// them.
func (c *claudeStream) complaint(e *claudeEvent) *stream.Fault {
	code, status := cmp.Or(e.Code, c.excuse), e.status()
	said := promise.OneLine(e.Result, stream.SentenceSize)
	if said == "" && len(e.Errors) > 0 {
		said = e.Errors[0]
	}
	// the CLI's own text; an error result may also hold a copy of the agent's last message
	sentence := ""
	if !c.isOwn(e.Result) {
		sentence = strings.TrimSpace(e.Result)
	}
	f, byWords := claudeFault(status, code), c.bySentence(sentence)
	switch {
	case claudeOwnLimit().MatchString(e.Subtype + " " + e.Reason):
		f = &stream.Fault{Class: ralph.EndCut, Text: "stopped at a limit of its own"}
	case c.limited && !strings.HasPrefix(e.Subtype, "error_max") &&
		(f == nil || f.Class == ralph.EndProvider && status == 0):
		f = &stream.Fault{Class: ralph.EndLimit, Text: stream.LimitReached}
	case f == nil && byWords != nil:
		f = byWords
	case f == nil && e.Reason == "api_error" && status == 0 && code == "":
		f = &stream.Fault{Class: ralph.EndProvider, Text: stream.ModelUnreachable}
	case f == nil:
		f = &stream.Fault{Class: ralph.EndFailed, Text: stream.EndedWithError}
		if why := promise.OneLine(cmp.Or(e.Reason, e.Subtype), stream.DetailSize); why != "" && why != "success" {
			f.Text += " (" + why + ")"
		}
	}
	if f.Class == ralph.EndLimit && c.resets.After(c.Now()) {
		f.Wait = c.resets.Sub(c.Now())
	}
	return f.Saying(said)
}

// bySentence classifies what the CLI itself says where it gives no code; nil if the sentence is not known.
func (c *claudeStream) bySentence(sentence string) *stream.Fault {
	switch status := claudeStatus(sentence); {
	case claudeCreditSentence().MatchString(sentence):
		return &stream.Fault{Class: ralph.EndLimit, Text: stream.CreditUsedUp, Hint: stream.CreditHint}
	case claudeLoginSentence().MatchString(sentence):
		return claudeFault(0, "authentication_failed")
	case status != 0:
		return cmp.Or(claudeFault(status, ""), &stream.Fault{Class: ralph.EndFailed, Text: stream.ModelRefused})
	case c.saysLimit(sentence):
		return &stream.Fault{Class: ralph.EndLimit, Text: stream.LimitReached}
	}
	return nil
}

// claudeOwnLimit matches the subtype and the reason of a closing event after --max-turns or --max-budget-usd.
var claudeOwnLimit = text.LazyRegexp(`^error_max_(?:turns|budget)| (?:max_turns|budget_exhausted)$`)

// What the CLI itself prints where it gives no code. Sentences are recognized by their beginning,
// so that mentioning them does not count. The advice to log in also follows other complaints, after
// a dot.
var (
	claudeLoginSentence  = text.LazyRegexp(`^(Please run /login|Invalid API key|Not logged in)\b|· Please run /login$`)
	claudeCreditSentence = text.LazyRegexp(`^Credit balance is too low\b`)
	// in lower case
	claudeLimitSentence = text.LazyRegexp(
		`^(((claude )?(ai )?usage|5-hour|session|(opus |sonnet )?weekly) limit reached|` +
			`you['’]ve hit your ([a-z0-9-]+ ){0,2}limit)\b`,
	)
)

var claudeStatusSentence = text.LazyRegexp(`^(?:Failed to authenticate\. )?API Error: (\d{3})\b`)

// claudeStatus returns the HTTP status that older versions report only as text, or 0 if there is
// none.
func claudeStatus(sentence string) int64 {
	found := claudeStatusSentence().FindStringSubmatch(sentence)
	if found == nil {
		return 0
	}
	status, _ := strconv.ParseInt(found[1], 10, 64) // three digits
	return status
}

// saysLimit recognizes the sentences about a limit. Older versions append the time of the reset, in
// Unix seconds, after a bar.
func (c *claudeStream) saysLimit(sentence string) bool {
	if !claudeLimitSentence().MatchString(strings.ToLower(sentence)) {
		return false
	}
	_, reset, _ := strings.Cut(sentence, "|")
	if seconds, err := strconv.ParseInt(strings.TrimSpace(reset), 10, 64); err == nil {
		c.resets = time.Unix(seconds, 0)
	}
	return true
}

// claudeFault classifies an HTTP status, or the CLI's own code if the status says nothing; nil if
// it is the agent's own error.
func claudeFault(status int64, code string) *stream.Fault {
	f := stream.HTTPFault(status, claudeLogin)
	switch {
	case f != nil:
		return f
	case code == "authentication_failed":
		f = &stream.Fault{Class: ralph.EndAuth, Text: stream.LoginRefused, Hint: claudeLogin}
	case code == "rate_limit":
		f = &stream.Fault{Class: ralph.EndLimit, Text: stream.LimitReached}
	case code == "overloaded":
		f = &stream.Fault{Class: ralph.EndProvider, Text: stream.ModelOverloaded}
	case status == 0 && (code == "server_error" || code == "unknown"):
		f = &stream.Fault{Class: ralph.EndProvider, Text: stream.ModelUnreachable}
	default:
		return nil
	}
	return f.WithStatus(status)
}
