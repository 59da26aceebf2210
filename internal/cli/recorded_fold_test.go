package cli_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/runlog"
)

// renamedFields maps a field, as Type.Field, to its name when the recordings were made, starting in
// lower case. Add a field here if only its name changes, so that the recorded folds stay valid.
var renamedFields = map[string]string{
	"AnswerGiven.Message":        "letter",
	"CheckResult.NeedsAccess":    "weaker",
	"Evaluation.Cached":          "standing",
	"History.Cooldowns":          "rests",
	"History.LastProvenTree":     "settled",
	"Memory.Messages":            "letters",
	"Observation.BaseTests":      "weighed",
	"Observation.ListDamage":     "injuries",
	"Stash.OpenWork":             "unsettled",
	"Stash.Stashed":              "aside",
	"StashedWork.RestoreFailure": "notBack",
	"SteeringSeen.Message":       "letter",
	"TreeMove.Restores":          "back",
	"TreeState.AfterChecks":      "after",
	"TreeState.LastProvenTree":   "settled",
	"TreeState.Omitted":          "left",
	"Verdict.Cooldown":           "rest",
}

// foldedRun describes a run's state after its last event, and gives a hash of it after each event.
// The text names no type and no package, so that types can move. It has every field in lower case,
// so that fields can be exported.
func foldedRun(store *runlog.Store, run string) string {
	var after []string
	state := &fold.State{}
	err := store.Read(run, func(e ralph.Event, _ []byte) error {
		if err := state.Apply(e); err != nil {
			return err
		}
		after = append(after, foldHash(state))
		return nil
	})
	var out strings.Builder
	fmt.Fprintf(&out, "read to the end: %v\n", err)
	last := dumpString(state)
	out.WriteString(last)
	kept, err := recordedState(store, run)
	switch {
	case err != nil:
		fmt.Fprintf(&out, "as one reads it to resume: %v\n", err)
	case dumpString(kept) != last:
		fmt.Fprintf(&out, "as one reads it to resume:\n%s", dumpString(kept))
	default:
		out.WriteString("as one reads it to resume: the same\n")
	}
	fmt.Fprintf(&out, "result.json: %s\n", compareResult(store, run, state))
	out.WriteString("hash after each event:\n")
	for group := range slices.Chunk(after, 10) {
		fmt.Fprintln(&out, strings.Join(group, " "))
	}
	return out.String()
}

// compareResult says whether the result of the fold is, byte for byte, the one that the run wrote.
func compareResult(store *runlog.Store, run string, state *fold.State) string {
	left, err := os.ReadFile(filepath.Join(store.RunDir(run), "result.json"))
	if err != nil {
		return "none"
	}
	result := state.Result()
	if chain, err := store.Verify(run); err == nil {
		result.Receipt = chain.Head
	}
	var again bytes.Buffer
	encoder := json.NewEncoder(&again)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(result); err != nil {
		return err.Error()
	}
	if !bytes.Equal(left, again.Bytes()) {
		return fmt.Sprintf("another one than the log gives: %x, %x", sha256.Sum256(left), sha256.Sum256(again.Bytes()))
	}
	return "the one that the log gives"
}

func foldHash(state *fold.State) string {
	result, err := json.Marshal(state.Result())
	if err != nil {
		return err.Error()
	}
	hash := sha256.Sum256(append([]byte(dumpString(state)), result...))
	return fmt.Sprintf("%x", hash[:4])
}

// dumpString writes every non-zero field of a value, including unexported ones, one per line and below
// the one that it belongs to.
func dumpString(pointer any) string {
	var out bytes.Buffer
	dumpFields(&out, "", reflect.ValueOf(pointer).Elem())
	return out.String()
}

var timeType = reflect.TypeFor[time.Time]()

// dump writes an addressable value. The label is its indentation and its name.
func dump(out *bytes.Buffer, label string, v reflect.Value) {
	switch kind := v.Kind(); {
	case v.Type() == timeType:
		fmt.Fprintf(out, "%s: %s\n", label, v.Interface().(time.Time).UTC().Format(time.RFC3339Nano))
	case kind == reflect.Struct:
		fmt.Fprintf(out, "%s\n", label)
		dumpFields(out, indentOf(label)+" ", v)
	case kind == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		dumpText(out, label, string(v.Bytes()))
	case kind == reflect.Slice || kind == reflect.Array:
		fmt.Fprintf(out, "%s: %d\n", label, v.Len())
		for i := range v.Len() {
			dump(out, fmt.Sprintf("%s %d", indentOf(label), i), v.Index(i))
		}
	case kind == reflect.Map:
		dumpMap(out, label, v)
	case (kind == reflect.Pointer || kind == reflect.Interface) && v.IsNil():
		fmt.Fprintf(out, "%s: nil\n", label)
	case kind == reflect.Pointer:
		dump(out, label, v.Elem())
	case kind == reflect.Interface:
		dump(out, label, addressable(v.Elem()))
	case kind == reflect.String:
		dumpText(out, label, v.String())
	case v.CanInt():
		fmt.Fprintf(out, "%s: %d\n", label, v.Int())
	case v.CanUint():
		fmt.Fprintf(out, "%s: %d\n", label, v.Uint())
	case v.CanFloat():
		fmt.Fprintf(out, "%s: %s\n", label, strconv.FormatFloat(v.Float(), 'g', -1, 64))
	default: // a bool
		fmt.Fprintf(out, "%s: %v\n", label, v.Interface())
	}
}

func indentOf(label string) string { return label[:len(label)-len(strings.TrimLeft(label, " "))] }

// dumpFields writes the fields of a struct in the order of their names. Fields of an embedded
// struct count as its own.
func dumpFields(out *bytes.Buffer, indent string, v reflect.Value) {
	lines := map[string]string{}
	collectFields(lines, indent, v)
	for _, key := range sortedKeys(lines) {
		out.WriteString(lines[key])
	}
}

func collectFields(lines map[string]string, indent string, v reflect.Value) {
	for i := range v.NumField() {
		field := reflect.NewAt(v.Field(i).Type(), v.Field(i).Addr().UnsafePointer()).Elem() // even if it is unexported
		kind := v.Type().Field(i)
		switch {
		case field.IsZero():
			continue
		case kind.Anonymous && kind.Type.Kind() == reflect.Struct:
			collectFields(lines, indent, field)
			continue
		}
		key := lowerFirst(kind.Name)
		if old, ok := renamedFields[v.Type().Name()+"."+kind.Name]; ok {
			key = old
		}
		var inner bytes.Buffer
		dump(&inner, indent+key, field)
		lines[key] = inner.String()
	}
}

func dumpMap(out *bytes.Buffer, label string, v reflect.Value) {
	fmt.Fprintf(out, "%s: %d\n", label, v.Len())
	entries := map[string]string{}
	for key, value := range v.Seq2() {
		name := strconv.Quote(fmt.Sprint(key.Interface()))
		var inner bytes.Buffer
		dump(&inner, indentOf(label)+" "+name, addressable(value))
		entries[name] = inner.String()
	}
	for _, key := range sortedKeys(entries) {
		out.WriteString(entries[key])
	}
}

// dumpText writes a string, or the beginning and the hash of a long one.
func dumpText(out *bytes.Buffer, name, text string) {
	const longest = 120
	if len(text) <= longest {
		fmt.Fprintf(out, "%s: %s\n", name, strconv.Quote(text))
		return
	}
	hash := sha256.Sum256([]byte(text))
	fmt.Fprintf(out, "%s: %s... %d bytes, %x\n", name, strconv.Quote(text[:40]), len(text), hash[:8])
}

func addressable(v reflect.Value) reflect.Value {
	held := reflect.New(v.Type()).Elem()
	held.Set(v)
	return held
}

func lowerFirst(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToLower(first)) + name[size:]
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// recordedState folds the log of a run as the command line does.
func recordedState(store *runlog.Store, run string) (*fold.State, error) {
	state := &fold.State{}
	if err := store.Fold(run, state); err != nil {
		return nil, err
	}
	return state, nil
}
