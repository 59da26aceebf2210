package config

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ralphloop/ralph"
)

// rawValue is a value before it is read. A list has any number of items, anything else has one.
type rawValue struct {
	items []string
	list  bool
}

func oneItem(text string) rawValue { return rawValue{items: []string{text}} }

// splitValue reads a value from the environment or --set: a list has one item per line.
func splitValue(key Key, text string) rawValue {
	if key.Kind != List {
		return oneItem(text)
	}
	g := rawValue{list: true}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			g.items = append(g.items, line)
		}
	}
	return g
}

// read parses the value of a key. The result is a string, []string, int64, float64, ralph.Span or
// bool.
func (k Key) read(g rawValue) (any, *problem) {
	if !k.Ready() {
		return nil, k.notYet("this")
	}
	if k.Kind == List {
		return k.readList(g.items)
	}
	if g.list {
		return nil, &problem{msg: "the value is a list", hint: cmp.Or(k.valueHint(), "use a single value")}
	}
	text := strings.TrimSpace(g.items[0])
	switch k.Kind {
	case Count:
		return k.readCount(text)
	case Amount:
		return k.readNumber(text, "is not a number")
	case Length:
		return k.readLength(text)
	case Switch:
		return k.readSwitch(text)
	default:
		return k.readText(text)
	}
}

func (k Key) notYet(what string) *problem {
	return &problem{msg: fmt.Sprintf("%s is not available yet (%s)", what, k.Later)}
}

// valueHint says what the key can hold, or "" if it holds any text.
func (k Key) valueHint() string {
	zero := ""
	if k.Zero != "" {
		zero = " (0 means " + k.Zero + ")"
	}
	least, most := strconv.FormatFloat(k.Min, 'f', -1, 64), strconv.FormatFloat(k.Max, 'f', -1, 64)
	switch k.Kind {
	case Count:
		return "choose a whole number from " + least + " to " + most + zero
	case Amount:
		return "choose a number from 0 to " + most + zero
	case Length:
		return "use a duration such as 90s, 10m or 2h, or a number of seconds up to " + most + zero
	case Switch:
		return "choose true or false"
	}
	if len(k.Choices) > 0 {
		return "choose one of: " + strings.Join(k.Choices, ", ")
	}
	return ""
}

// rejectValue quotes a bad value, cut short: a value may be a whole file by mistake.
func (k Key) rejectValue(text, why string) *problem {
	return &problem{msg: fmt.Sprintf("%s %s", quote(text), why), hint: k.valueHint()}
}

func quote(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strconv.Quote(text)
}

func (k Key) readCount(text string) (any, *problem) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil && !isDigits(strings.TrimLeft(text, "+-")):
		return nil, k.rejectValue(text, "is not a whole number")
	case strings.HasPrefix(text, "-") && n != 0:
		return nil, k.rejectValue(text, "is negative")
	case err != nil || float64(n) > k.Max:
		return nil, k.rejectValue(text, "is too large")
	case float64(n) < k.Min:
		return nil, k.rejectValue(text, "is too small")
	}
	return n, nil
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// readNumber reads a plain decimal number. Go also parses hexadecimal, NaN and Inf, but in a
// configuration they are mistakes.
func (k Key) readNumber(text, otherwise string) (float64, *problem) {
	if strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, k.rejectValue(text, otherwise)
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !math.IsInf(f, 0):
		return 0, k.rejectValue(text, otherwise)
	case f < 0:
		return 0, k.rejectValue(text, "is negative")
	case f > k.Max:
		return 0, k.rejectValue(text, "is too large")
	}
	return math.Abs(f), nil
}

func (k Key) readLength(text string) (any, *problem) {
	const wrong = "is not a duration"
	if isNumber := strings.Trim(text, "0123456789.+-") == ""; isNumber {
		seconds, p := k.readNumber(text, wrong)
		if p != nil {
			return nil, p
		}
		return k.span(text, seconds)
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil && looksTooLong(text):
		return nil, k.rejectValue(text, "is too large")
	case err != nil:
		return nil, k.rejectValue(text, wrong)
	case d < 0:
		return nil, k.rejectValue(text, "is negative")
	case d.Seconds() > k.Max:
		return nil, k.rejectValue(text, "is too large")
	}
	return k.span(text, d.Seconds())
}

// looksTooLong reports whether a duration overflowed, because time.ParseDuration has the same error
// for that and for a typo.
func looksTooLong(text string) bool {
	unit := strings.TrimLeft(text, "0123456789")
	_, err := time.ParseDuration("1" + unit)
	return err == nil && unit != text
}

// span rounds to milliseconds, as the log does. It rejects a length that would be recorded as 0,
// because 0 means something else.
func (k Key) span(text string, seconds float64) (any, *problem) {
	d := time.Duration(math.Round(seconds*1000)) * time.Millisecond
	if d == 0 && seconds > 0 {
		return nil, k.rejectValue(text, "is shorter than a millisecond")
	}
	return ralph.Span(d), nil
}

func (k Key) readSwitch(text string) (any, *problem) {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return nil, k.rejectValue(text, "is neither true nor false")
}

func (k Key) readText(text string) (any, *problem) {
	if strings.ContainsRune(text, 0) {
		return nil, &problem{msg: "the value contains a NUL character"}
	}
	if text == "" && k.Default != "" {
		return nil, &problem{msg: "the value is empty", hint: k.valueHint()}
	}
	if k.item != nil && text != "" {
		if p := k.item(text); p != nil {
			return nil, p
		}
	}
	switch {
	case len(k.Choices) == 0, text == "", slices.Contains(k.Choices, text):
		return text, nil
	case slices.Contains(k.Coming, text):
		return nil, k.notYet(quote(text))
	}
	p := k.rejectValue(text, "is not one of "+strings.Join(k.Choices, ", "))
	p.hint = didYouMean(Nearest(text, k.Choices))
	return nil, p
}

func (k Key) readList(items []string) (any, *problem) {
	var list []string
	which := "the value"
	if len(items) > 1 {
		which = "one of the values"
	}
	for _, item := range items {
		item = strings.TrimSpace(item)
		switch {
		case item == "":
			return nil, &problem{msg: which + " is empty"}
		case strings.ContainsRune(item, 0):
			return nil, &problem{msg: which + " contains a NUL character"}
		}
		if k.item != nil {
			if p := k.item(item); p != nil {
				return nil, p
			}
		}
		list = append(list, item)
	}
	if len(list) == 0 && k.Default != "" {
		return nil, &problem{msg: "the list is empty", hint: "add at least one value, or remove the key"}
	}
	return list, nil
}

// checkTag rejects tags that cannot occur in an agent's text, because such a run would never
// complete.
func checkTag(tag string) *problem {
	switch strings.ToUpper(tag) {
	case "BLOCKED", "DECIDE":
		return &problem{msg: quote(tag) + " cannot be a completion tag: it already has a meaning"}
	}
	bad := func(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune("<>:", r) }
	if strings.ContainsFunc(tag, bad) {
		return &problem{msg: quote(tag) + " cannot be a completion tag", hint: "use a word without <, >, : and line breaks"}
	}
	return nil
}

// checkFailureRule accepts halt, skip and retry:N.
func checkFailureRule(rule string) *problem {
	if n, ok := strings.CutPrefix(rule, "retry:"); ok {
		if times, err := strconv.Atoi(n); err == nil && times > 0 && times <= billion {
			return nil
		}
	}
	if rule == "halt" || rule == "skip" {
		return nil
	}
	return &problem{
		msg:  quote(rule) + " is not halt, skip or retry:N",
		hint: "retry:2 tries the task two more times, after the others",
	}
}

// checkWorktree accepts a name that a branch can have below ralph/.
func checkWorktree(name string) *problem {
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/", r))
	}
	if strings.ContainsFunc(name, odd) || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "/") ||
		strings.Contains(name, "..") {
		return &problem{
			msg:  quote(name) + " is not a valid worktree name",
			hint: "use letters and digits, with . _ - / between them",
		}
	}
	return nil
}

// checkFurtherAgent accepts an agent CLI or the built-in worker, with or without a model.
func checkFurtherAgent(text string) *problem {
	agents := append(slices.Clone(AgentCLIs), Worker)
	name, model, hasModel := strings.Cut(text, ":")
	switch {
	case !slices.Contains(agents, name):
		p := &problem{msg: quote(name) + " is not a known agent", hint: "one of " + strings.Join(agents, ", ")}
		if near := Nearest(name, agents); near != "" {
			p.hint = "did you mean " + quote(near) + "?"
		}
		return p
	case hasModel && strings.TrimSpace(model) == "":
		return &problem{msg: quote(text) + " has no model", hint: "use NAME or NAME:MODEL"}
	}
	return checkModel(model)
}

// checkEvaluator accepts an agent CLI, the worker, or a model's name.
func checkEvaluator(text string) *problem {
	name, _, _ := strings.Cut(text, ":")
	if slices.Contains(AgentCLIs, name) || Nearest(name, AgentCLIs) != "" { // a typo rather than a model
		return checkFurtherAgent(text)
	}
	return checkModel(text)
}

// checkGlob accepts a pattern of files in the workspace.
func checkGlob(pattern string) *problem {
	bare := strings.TrimPrefix(pattern, "!")
	switch {
	case strings.TrimSpace(bare) == "":
		return &problem{
			msg:  "an empty pattern matches nothing",
			hint: "use a pattern such as tests/**, or tests for the project's tests",
		}
	case strings.HasPrefix(bare, "/"), slices.Contains(strings.Split(bare, "/"), ".."):
		return &problem{
			msg:  quote(pattern) + " is outside the workspace",
			hint: "patterns are relative to the workspace, such as tests/**",
		}
	}
	return nil
}

// checkModel rejects a name that a CLI could take for a flag: without consent, a repository may
// name a model and nothing more.
func checkModel(name string) *problem {
	if strings.HasPrefix(strings.TrimSpace(name), "-") {
		return &problem{
			msg:  quote(name) + " is not a valid model name",
			hint: "put arguments for the agent in agent.args, or after --",
		}
	}
	return nil
}

// checkVariable accepts the name of a variable, never its value: a config file is no place for a
// secret.
func checkVariable(name string) *problem {
	stem := strings.TrimSuffix(name, "*")
	plain := func(r rune) bool {
		return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	isName := stem == "" || strings.Trim(stem, "_") != "" && strings.TrimFunc(stem, plain) == "" &&
		(stem[0] < '0' || stem[0] > '9')
	switch {
	case strings.Contains(name, "="):
		before, _, _ := strings.Cut(name, "=")
		return &problem{
			msg:  quote(before) + " has a value",
			hint: "use only the name; the value comes from the environment",
		}
	case strings.ContainsAny(name, ", ;:"):
		return &problem{
			msg:  quote(name) + " is not a variable name",
			hint: "for several, repeat --set, or write a list in a configuration file, or one per line in a variable",
		}
	case !isName:
		return &problem{msg: quote(name) + " is not a variable name", hint: "use NAME or PREFIX_*"}
	}
	return nil
}

// store puts a value from read into the key's field.
func (k Key) store(s *Settings, value any) {
	field, given := reflect.ValueOf(k.field(s)).Elem(), reflect.ValueOf(value)
	if field.CanInt() { // int, int64 or ralph.Span
		field.SetInt(given.Int())
		return
	}
	field.Set(given)
}

// ParseLength reads a length of time as in a flag: 90s, 10m, 2h, or a bare number of seconds.
func ParseLength(text string) (ralph.Span, error) {
	value, p := Key{Kind: Length, Max: billion}.read(oneItem(text))
	if p != nil {
		return 0, p.from("length")
	}
	return value.(ralph.Span), nil
}
