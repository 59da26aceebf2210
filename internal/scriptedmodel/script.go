package scriptedmodel

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Script has scenarios by name.
type Script map[string]Scenario

// Scenario is what the agents that ask under one name get.
type Scenario struct {
	About string `json:"about,omitempty"` // one line for people
	// Conversations are for one fresh agent after the other; the last one is for all that come later.
	Conversations [][]Turn `json:"conversations"`
	// Side is what calls beside the conversation get: titles, summaries, sub-agents. "" is a harmless word.
	Side string `json:"side,omitempty"`
}

// Turn is one answer of the model. A conversation that goes on past its last turn gets that turn again, or a plain word if it calls tools.
type Turn struct {
	Thinking string     `json:"thinking,omitempty"`
	Text     string     `json:"text,omitempty"`
	Tools    []ToolCall `json:"tools,omitempty"`
	Empty    bool       `json:"empty,omitempty"` // the model says nothing at all
	Stop     Stop       `json:"stop,omitempty"`
	Usage    *Usage     `json:"usage,omitempty"` // nil is DefaultUsage; what is negative is told as it is
	// Unmetered says that nothing is told of tokens.
	Unmetered bool    `json:"unmetered,omitempty"`
	Pace      Pause   `json:"pace,omitempty"` // between two pieces of a stream
	Faults    []Fault `json:"faults,omitempty"`
	// Fill has expressions by name. Where the text says {{name}}, it gets what the expression's first group matches in the request's body, in which
	// strings stand as JSON writes them. What does not match stays as it is.
	Fill map[string]string `json:"fill,omitempty"`
}

// ToolCall is one of: a shell command, a file to be written, or a tool by its own name.
type ToolCall struct {
	Shell string         `json:"shell,omitempty"`
	Write *FileWrite     `json:"write,omitempty"`
	Name  string         `json:"name,omitempty"`
	Input map[string]any `json:"input,omitempty"` // with Name
	// Raw is an input that need not be JSON, with Name. Where a format has no text for inputs, it is told as a string.
	Raw string `json:"raw,omitempty"`
}

// FileWrite is a file with its whole text.
type FileWrite struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Stop is why a turn ends, where it is not because everything was said.
type Stop string

// Reasons to stop.
const (
	StopLength  Stop = "length"  // the answer is as long as was allowed
	StopRefusal Stop = "refusal" // the model does not want to
)

// Usage are tokens. Input has none of those that the cache spared; Output includes Reasoning.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Reasoning  int64 `json:"reasoning"`
}

// prompt is all of the input, whether the cache spared it or not.
func (u Usage) prompt() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// DefaultUsage is what a turn uses of which the script does not say it.
var DefaultUsage = Usage{Input: 1000, Output: 50, CacheRead: 300, Reasoning: 10}

// FaultKind is a way to fail.
type FaultKind string

// Ways to fail.
const (
	FaultStatus     FaultKind = "status"      // an HTTP status with the vendor's error body
	FaultHang       FaultKind = "hang"        // no byte of an answer
	FaultStall      FaultKind = "stall"       // the answer begins and does not go on
	FaultPing       FaultKind = "ping"        // the same, but the connection is kept alive all the time
	FaultCut        FaultKind = "cut"         // the answer begins and the connection is closed
	FaultEnd        FaultKind = "end"         // the answer begins and ends, as if that were all
	FaultGarble     FaultKind = "garble"      // the answer begins well and goes on with what is no JSON
	FaultDrop       FaultKind = "drop"        // the connection is closed without an answer
	FaultErrorEvent FaultKind = "error_event" // the answer begins well and goes on with an error
)

// Fault is served in place of a turn.
type Fault struct {
	Do      FaultKind         `json:"do"`
	Times   int               `json:"times,omitempty"`   // that it is served in one conversation; 0 is once
	Forever bool              `json:"forever,omitempty"` // it never ends; side calls get it, too
	Status  int               `json:"status,omitempty"`  // of FaultStatus and FaultErrorEvent
	Type    string            `json:"type,omitempty"`    // the vendor's word for it, if not the usual one
	Message string            `json:"message,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// RetryAfter is told in the header of that name.
	RetryAfter Pause `json:"retry_after,omitempty"`
	// RetryDate is the same as a date: that long after the request.
	RetryDate Pause `json:"retry_date,omitempty"`
	// ResetIn makes it an account's usage limit, which ends that long after the request.
	ResetIn Pause `json:"reset_in,omitempty"`
}

// Pause is a time span that is written as "1.5s".
type Pause time.Duration

// UnmarshalText reads a span that is not negative.
func (p *Pause) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no time span; one like %q is wanted", text, "1.5s")
	}
	*p = Pause(d)
	return nil
}

// MarshalText writes the span as it is read.
func (p Pause) MarshalText() ([]byte, error) { return []byte(time.Duration(p).String()), nil }

//go:embed standard.json
var standard []byte

// Standard is the built-in script: one scenario for each thing that a model does or that goes wrong with it.
func Standard() Script {
	script, err := Parse(standard)
	if err != nil {
		panic(err) // a test parses it
	}
	return script
}

// Names lists the scenarios in alphabetical order.
func (s Script) Names() []string { return slices.Sorted(maps.Keys(s)) }

// Parse reads a script. What it does not know is an error that says where.
func Parse(text []byte) (Script, error) {
	var script Script
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&script); err != nil {
		return nil, fmt.Errorf("read script: line %d: %w", lineOf(text, d.InputOffset(), err), plain(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read script: line %d: something follows the script's end", lineOf(text, d.InputOffset(), nil))
	}
	if err := script.check(); err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	return script, nil
}

func lineOf(text []byte, offset int64, err error) int {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		offset = int64(len(text))
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = e.Offset
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset = e.Offset
	}
	return 1 + bytes.Count(text[:min(offset, int64(len(text)))], []byte("\n"))
}

// plain takes the package's name off an error, and tells an early end as what it is.
func plain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the script ends too early")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// scenarioName keeps names apart from the versions in paths, so that a base URL without a scenario is told as such.
var scenarioName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (s Script) check() error {
	if len(s) == 0 {
		return errors.New("there is no scenario")
	}
	for _, name := range s.Names() {
		if !scenarioName.MatchString(name) || strings.HasPrefix(name, "v1") {
			return fmt.Errorf("scenario %q: a name has letters, digits, dots, dashes, and does not begin with v1", name)
		}
		if len(s[name].Conversations) == 0 {
			return fmt.Errorf("scenario %q: there is no conversation", name)
		}
		for i, turns := range s[name].Conversations {
			if len(turns) == 0 {
				return fmt.Errorf("scenario %q: conversation %d has no turn", name, i+1)
			}
			for j, turn := range turns {
				if err := turn.check(); err != nil {
					return fmt.Errorf("scenario %q: conversation %d: turn %d: %w", name, i+1, j+1, err)
				}
			}
		}
	}
	return nil
}

func (t Turn) check() error {
	says := t.Text != "" || len(t.Tools) > 0 || t.Thinking != ""
	switch {
	case t.Empty && says:
		return errors.New("an empty turn says nothing and calls nothing")
	case !t.Empty && !says && !t.failsForever():
		return errors.New("text, tools, thinking or empty is wanted")
	case t.Unmetered && t.Usage != nil:
		return errors.New("usage does not go with unmetered")
	case t.Stop != "" && t.Stop != StopLength && t.Stop != StopRefusal:
		return fmt.Errorf("stop %q: %s or %s is wanted", t.Stop, StopLength, StopRefusal)
	}
	for name, expression := range t.Fill {
		if e, err := regexp.Compile(expression); err != nil || e.NumSubexp() == 0 {
			return fmt.Errorf("fill %q: an expression with a group is wanted", name)
		}
	}
	for i, call := range t.Tools {
		if err := call.check(); err != nil {
			return fmt.Errorf("tool %d: %w", i+1, err)
		}
	}
	for i, f := range t.Faults {
		if err := f.check(); err != nil {
			return fmt.Errorf("fault %d: %w", i+1, err)
		}
		if f.Forever && i < len(t.Faults)-1 {
			return fmt.Errorf("fault %d: nothing comes after a fault that never ends", i+1)
		}
	}
	return nil
}

// filled is the text with what the request's body has for its placeholders.
func (t Turn) filled(body []byte) string {
	var pairs []string
	for name, expression := range t.Fill {
		if m := regexp.MustCompile(expression).FindSubmatch(body); m != nil {
			pairs = append(pairs, "{{"+name+"}}", string(m[1]))
		}
	}
	return strings.NewReplacer(pairs...).Replace(t.Text)
}

func (t Turn) failsForever() bool { return len(t.Faults) > 0 && t.Faults[len(t.Faults)-1].Forever }

func (c ToolCall) check() error {
	kinds := 0
	for _, given := range []bool{c.Shell != "", c.Write != nil, c.Name != ""} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return errors.New("exactly one of shell, write and name is wanted")
	case (c.Input != nil || c.Raw != "") && c.Name == "":
		return errors.New("input goes with a name")
	case c.Input != nil && c.Raw != "":
		return errors.New("raw is in place of input")
	case c.Write != nil && c.Write.Path == "":
		return errors.New("write: a path is wanted")
	}
	return nil
}

func (f Fault) check() error {
	switch f.Do {
	case FaultStatus, FaultErrorEvent:
		if (f.Do == FaultStatus || f.Status != 0) && (f.Status < 400 || f.Status > 599) {
			return fmt.Errorf("status %d: one from 400 to 599 is wanted", f.Status)
		}
	case FaultHang, FaultStall, FaultPing, FaultCut, FaultEnd, FaultGarble, FaultDrop:
		if f.Status != 0 || f.ResetIn != 0 || f.RetryAfter != 0 || f.RetryDate != 0 || f.Headers != nil || f.Type != "" ||
			f.Message != "" {
			return fmt.Errorf("%s: only times and forever go with it", f.Do)
		}
	default:
		return fmt.Errorf("do %q: one of status, hang, stall, ping, cut, end, garble, drop, error_event is wanted", f.Do)
	}
	if f.RetryAfter != 0 && f.RetryDate != 0 {
		return errors.New("retry_date is in place of retry_after")
	}
	if f.Times < 0 || f.Times > 0 && f.Forever {
		return errors.New("times is a number from 1 on, and does not go with forever")
	}
	return nil
}
