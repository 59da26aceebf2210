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

// Script maps names to scenarios.
type Script map[string]Scenario

// Scenario is the script for all agents that use its name.
type Scenario struct {
	About string `json:"about,omitempty"` // one line for people
	// Conversations are for one fresh agent after the other; all later agents get the last one.
	Conversations [][]Turn `json:"conversations"`
	// Side is the answer to calls outside of the conversation: titles, summaries, sub-agents. Default:
	// a harmless word.
	Side string `json:"side,omitempty"`
}

// Turn is one answer of the model. A conversation that continues past its last turn repeats that
// turn, or gets a plain sentence if it calls tools.
type Turn struct {
	Thinking string     `json:"thinking,omitempty"`
	Text     string     `json:"text,omitempty"`
	Tools    []ToolCall `json:"tools,omitempty"`
	Empty    bool       `json:"empty,omitempty"` // the answer has no content
	Stop     Stop       `json:"stop,omitempty"`
	Usage    *Usage     `json:"usage,omitempty"` // default: DefaultUsage; negative counts are sent unchanged
	// Unmetered leaves the tokens out of the answer.
	Unmetered bool    `json:"unmetered,omitempty"`
	Pace      Pause   `json:"pace,omitempty"` // between two pieces of a stream
	Faults    []Fault `json:"faults,omitempty"`
	// Fill maps names to regular expressions. A placeholder {{name}} in the text is replaced by the
	// first group of a match in the request's body, in which strings are encoded as JSON. A
	// placeholder without a match stays unchanged.
	Fill map[string]string `json:"fill,omitempty"`
}

// ToolCall is one of: a shell command, a file to write, or a tool by its name.
type ToolCall struct {
	Shell string         `json:"shell,omitempty"`
	Write *FileWrite     `json:"write,omitempty"`
	Name  string         `json:"name,omitempty"`
	Input map[string]any `json:"input,omitempty"` // with Name
	// Raw is an input for Name that need not be JSON. In formats where input is not text, it is sent
	// as a string.
	Raw string `json:"raw,omitempty"`
}

// FileWrite is a file with its whole text.
type FileWrite struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Stop is the reason why a turn ends early.
type Stop string

// Reasons to stop.
const (
	StopLength  Stop = "length"  // the answer reached the output limit
	StopRefusal Stop = "refusal" // the model refuses
)

// Usage counts tokens. Input excludes tokens read from the cache or written to it; Output includes
// Reasoning.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Reasoning  int64 `json:"reasoning"`
}

// prompt returns all input tokens, cached or not.
func (u Usage) prompt() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// DefaultUsage is the usage of a turn for which the script gives none.
var DefaultUsage = Usage{Input: 1000, Output: 50, CacheRead: 300, Reasoning: 10}

// FaultKind is a way to fail.
type FaultKind string

// Ways to fail.
const (
	FaultStatus     FaultKind = "status"      // an HTTP status with the vendor's error body
	FaultHang       FaultKind = "hang"        // no byte of an answer
	FaultStall      FaultKind = "stall"       // the answer starts and then stops
	FaultPing       FaultKind = "ping"        // the same, but pings keep the connection alive
	FaultCut        FaultKind = "cut"         // the answer starts and the connection is closed
	FaultEnd        FaultKind = "end"         // the answer starts and ends as if it were complete
	FaultGarble     FaultKind = "garble"      // the answer starts well and continues with invalid JSON
	FaultDrop       FaultKind = "drop"        // the connection is closed without an answer
	FaultErrorEvent FaultKind = "error_event" // the answer starts well and continues with an error
)

// Fault is served instead of a turn.
type Fault struct {
	Do      FaultKind         `json:"do"`
	Times   int               `json:"times,omitempty"`   // in one conversation; default: once
	Forever bool              `json:"forever,omitempty"` // it never ends; side calls get it as well
	Status  int               `json:"status,omitempty"`  // for FaultStatus and FaultErrorEvent
	Type    string            `json:"type,omitempty"`    // the vendor's error type, if not the usual one
	Message string            `json:"message,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// RetryAfter is sent in the header of that name.
	RetryAfter Pause `json:"retry_after,omitempty"`
	// RetryDate is sent in the same header as a date: that long after the request.
	RetryDate Pause `json:"retry_date,omitempty"`
	// ResetIn makes the fault an account's usage limit, which ends that long after the request.
	ResetIn Pause `json:"reset_in,omitempty"`
}

// Pause is a duration that is written as "1.5s".
type Pause time.Duration

// UnmarshalText parses a duration that is not negative.
func (p *Pause) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("invalid time span %q (example: %q)", text, "1.5s")
	}
	*p = Pause(d)
	return nil
}

// MarshalText formats the duration for UnmarshalText.
func (p Pause) MarshalText() ([]byte, error) { return []byte(time.Duration(p).String()), nil }

//go:embed standard.json
var standard []byte

// Standard returns the built-in script: one scenario for each thing that a model does or that goes
// wrong with it.
func Standard() Script {
	script, err := Parse(standard)
	if err != nil {
		panic(err) // a test parses it
	}
	return script
}

// Names lists the scenarios in alphabetical order.
func (s Script) Names() []string { return slices.Sorted(maps.Keys(s)) }

// Parse reads a script. For anything unknown, the error says where it is.
func Parse(text []byte) (Script, error) {
	var script Script
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&script); err != nil {
		return nil, fmt.Errorf("read script: line %d: %w", lineOf(text, d.InputOffset(), err), plain(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read script: line %d: unexpected text after the end of the script",
			lineOf(text, d.InputOffset(), nil))
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

// plain removes the package's name from an error, and names an early end.
func plain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the script ends unexpectedly")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// scenarioName keeps names distinct from the versions in paths, so that a base URL without a
// scenario is recognized.
var scenarioName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (s Script) check() error {
	if len(s) == 0 {
		return errors.New("the script has no scenarios")
	}
	for _, name := range s.Names() {
		if !scenarioName.MatchString(name) || strings.HasPrefix(name, "v1") {
			return fmt.Errorf("scenario %q: a name may have letters, digits, dots, dashes and underscores, "+
				"and must not begin with v1", name)
		}
		if len(s[name].Conversations) == 0 {
			return fmt.Errorf("scenario %q: there are no conversations", name)
		}
		for i, turns := range s[name].Conversations {
			if len(turns) == 0 {
				return fmt.Errorf("scenario %q: conversation %d has no turns", name, i+1)
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
		return errors.New("an empty turn cannot have text, tools or thinking")
	case !t.Empty && !says && !t.failsForever():
		return errors.New("set at least one of: text, tools, thinking, empty")
	case t.Unmetered && t.Usage != nil:
		return errors.New("usage cannot be combined with unmetered")
	case t.Stop != "" && t.Stop != StopLength && t.Stop != StopRefusal:
		return fmt.Errorf("stop %q: choose one of: %s, %s", t.Stop, StopLength, StopRefusal)
	}
	for name, expression := range t.Fill {
		if e, err := regexp.Compile(expression); err != nil || e.NumSubexp() == 0 {
			return fmt.Errorf("fill %q: must be a regular expression with a group", name)
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
			return fmt.Errorf("fault %d: no fault can follow one that never ends", i+1)
		}
	}
	return nil
}

// filled returns the text with its placeholders replaced from the request's body.
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
		return errors.New("choose exactly one of: shell, write, name")
	case (c.Input != nil || c.Raw != "") && c.Name == "":
		return errors.New("input needs a name")
	case c.Input != nil && c.Raw != "":
		return errors.New("raw cannot be combined with input")
	case c.Write != nil && c.Write.Path == "":
		return errors.New("write: path is missing")
	}
	return nil
}

func (f Fault) check() error {
	switch f.Do {
	case FaultStatus, FaultErrorEvent:
		if (f.Do == FaultStatus || f.Status != 0) && (f.Status < 400 || f.Status > 599) {
			return fmt.Errorf("status %d: must be from 400 to 599", f.Status)
		}
	case FaultHang, FaultStall, FaultPing, FaultCut, FaultEnd, FaultGarble, FaultDrop:
		if f.Status != 0 || f.ResetIn != 0 || f.RetryAfter != 0 || f.RetryDate != 0 || f.Headers != nil || f.Type != "" ||
			f.Message != "" {
			return fmt.Errorf("%s: can be combined only with times and forever", f.Do)
		}
	default:
		return fmt.Errorf("do %q: choose one of: status, hang, stall, ping, cut, end, garble, drop, error_event", f.Do)
	}
	if f.RetryAfter != 0 && f.RetryDate != 0 {
		return errors.New("retry_date cannot be combined with retry_after")
	}
	if f.Times < 0 || f.Times > 0 && f.Forever {
		return errors.New("times must not be negative, and cannot be combined with forever")
	}
	return nil
}
