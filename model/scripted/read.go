package scripted

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/model"
)

// Script maps roles to conversations.
type Script map[string][][]Turn

// Open reads a script from a file.
func Open(path string) (Script, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	script, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read script %s: %w", path, err)
	}
	return script, nil
}

// Options configure where a client starts.
type Options struct {
	Skip int // conversations that were used already
}

// Client returns the model for one role.
func (s Script) Client(role string, o Options) (model.Client, error) {
	conversations, ok := s[role]
	if !ok {
		return nil, fmt.Errorf("the script has no conversations for %q, only for %s", role,
			strings.Join(slices.Sorted(maps.Keys(s)), ", "))
	}
	return New(conversations, o)
}

// New returns a model that follows the conversations.
func New(conversations [][]Turn, o Options) (model.Client, error) {
	if len(conversations) == 0 {
		return nil, errors.New("there are no conversations")
	}
	c := &client{
		conversations: conversations, current: max(o.Skip, 0), served: map[position]int{}, fill: map[string]*regexp.Regexp{},
	}
	for i, turns := range conversations {
		if len(turns) == 0 {
			return nil, fmt.Errorf("conversation %d has no turns", i+1)
		}
		for j, turn := range turns {
			if err := turn.check(); err != nil {
				return nil, fmt.Errorf("conversation %d, turn %d: %w", i+1, j+1, err)
			}
			for _, expression := range turn.Fill {
				c.fill[expression] = regexp.MustCompile(expression) // checked above
			}
		}
	}
	return c, nil
}

func (t Turn) check() error {
	says := t.Text != "" || t.Thought != "" || len(t.Calls) > 0
	switch {
	case t.Empty && says:
		return errors.New("empty: an empty turn cannot have text, thought or calls")
	case !t.Empty && !says && t.Fault == nil:
		return errors.New("set at least one of: text, thought, calls, empty, fault")
	case !slices.Contains([]model.End{"", model.EndTurn, model.EndCalls, model.EndLength, model.EndRefuse}, t.End):
		return fmt.Errorf("end %q: choose one of: %s, %s, %s, %s", t.End, model.EndTurn, model.EndCalls, model.EndLength,
			model.EndRefuse)
	}
	for i, call := range t.Calls {
		if call.Name == "" {
			return fmt.Errorf("call %d: name is missing", i+1)
		}
	}
	for name, expression := range t.Fill {
		if e, err := regexp.Compile(expression); err != nil || e.NumSubexp() == 0 {
			return fmt.Errorf("fill %q: must be a regular expression with a group", name)
		}
	}
	return t.Fault.check()
}

var kinds = []model.FaultKind{
	model.FaultAuth, model.FaultLimit, model.FaultProvider, model.FaultOverflow, model.FaultRefused,
}

func (f *Fault) check() error {
	switch {
	case f == nil:
		return nil
	case !slices.Contains(kinds, f.Kind):
		return fmt.Errorf("fault: kind %q: choose one of: %q", f.Kind, kinds)
	case f.Times < 0:
		return errors.New("fault: times must not be negative")
	}
	return nil
}

// Parse reads a script. For anything unknown or invalid, the error names the line and the field.
func Parse(text []byte) (Script, error) {
	r := reader{text: text, tokens: json.NewDecoder(bytes.NewReader(text))}
	script := Script{}
	err := r.object(func(role string) error {
		if _, twice := script[role]; twice {
			return r.at("%q is given twice", role)
		}
		conversations, err := r.conversations(role)
		script[role] = conversations
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, err := r.tokens.Token(); !errors.Is(err, io.EOF) {
		return nil, r.at("unexpected text after the end of the script")
	}
	if len(script) == 0 {
		return nil, r.at("the script has no roles")
	}
	return script, nil
}

// reader reads a script token by token, so that it always knows its position.
type reader struct {
	text   []byte
	tokens *json.Decoder
}

// at returns an error for the current position.
func (r *reader) at(format string, values ...any) error {
	return r.atOffset(r.tokens.InputOffset(), format, values...)
}

func (r *reader) atOffset(offset int64, format string, values ...any) error {
	line := 1 + bytes.Count(r.text[:min(offset, int64(len(r.text)))], []byte("\n"))
	return fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, values...))
}

// open reads an opening bracket.
func (r *reader) open(bracket json.Delim, what string) error {
	token, err := r.tokens.Token()
	if err != nil {
		return r.syntax(err)
	}
	if token != bracket {
		return r.at("%s must begin with %s", what, bracket)
	}
	return nil
}

// close reads the bracket after the last element.
func (r *reader) close() error {
	_, err := r.tokens.Token()
	return r.syntax(err)
}

func (r *reader) syntax(err error) error {
	if err == nil {
		return nil
	}
	offset := r.tokens.InputOffset()
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = e.Offset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.atOffset(int64(len(r.text)), "the script ends unexpectedly")
	}
	return r.atOffset(offset, "%s", strings.TrimPrefix(err.Error(), "json: "))
}

func (r *reader) object(member func(name string) error) error {
	if err := r.open('{', "an object of roles"); err != nil {
		return err
	}
	for r.tokens.More() {
		token, err := r.tokens.Token()
		if err != nil {
			return r.syntax(err)
		}
		name, _ := token.(string) // in an object, a name is always a string
		if err := member(name); err != nil {
			return err
		}
	}
	return r.close()
}

func (r *reader) list(what string, element func(number int) error) error {
	if err := r.open('[', what); err != nil {
		return err
	}
	number := 0
	for r.tokens.More() {
		number++
		if err := element(number); err != nil {
			return err
		}
	}
	if number == 0 {
		return r.at("%s must not be empty", what)
	}
	return r.close()
}

func (r *reader) conversations(role string) ([][]Turn, error) {
	var all [][]Turn
	err := r.list(fmt.Sprintf("%s: a list of conversations", role), func(i int) error {
		var turns []Turn
		err := r.list(fmt.Sprintf("%s, conversation %d: a list of turns", role, i), func(j int) error {
			turn, err := r.turn(fmt.Sprintf("%s, conversation %d, turn %d", role, i, j))
			turns = append(turns, turn)
			return err
		})
		all = append(all, turns)
		return err
	})
	return all, err
}

func (r *reader) turn(where string) (Turn, error) {
	var raw json.RawMessage
	if err := r.tokens.Decode(&raw); err != nil {
		return Turn{}, r.syntax(err)
	}
	begin := r.tokens.InputOffset() - int64(len(raw))
	var turn Turn
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&turn); err != nil {
		return Turn{}, r.atOffset(begin+offsetOf(raw, err), "%s: %s", where, wrongValue(err))
	}
	if err := turn.check(); err != nil {
		return Turn{}, r.atOffset(begin, "%s: %v", where, err)
	}
	return turn, nil
}

// wrongValue describes an invalid value in terms of JSON, not of Go.
func wrongValue(err error) string {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	wanted := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Bool: "true or false", reflect.Slice: "a list", reflect.Struct: "an object",
		reflect.Map: "an object",
		reflect.Int: "a whole number", reflect.Int64: "a whole number",
	}[e.Type.Kind()]
	if e.Type == reflect.TypeFor[Span]() {
		wanted = `a time span like "1.5s"`
	}
	given := map[string]string{
		"string": "a string", "bool": "true or false", "array": "a list", "object": "an object", "number": "a number",
	}[e.Value]
	// a number comes with its digits
	said := fmt.Sprintf("expected %s, got %s", cmp.Or(wanted, "something else"), cmp.Or(given, e.Value))
	return strings.TrimPrefix(e.Field+": "+said, ": ")
}

// offsetOf returns the offset of an error in a turn: from the error itself, or from the field that
// it names.
func offsetOf(raw []byte, err error) int64 {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return e.Offset
	}
	if _, quoted, ok := strings.Cut(err.Error(), "unknown field "); ok {
		return int64(max(bytes.Index(raw, []byte(quoted)), 0))
	}
	return 0
}
