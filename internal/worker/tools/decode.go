package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// Decode reads the input of a call into the struct that into points to. It is stricter than
// encoding/json: a field that is unknown, repeated, in another case, missing or of another type is
// an error, and nothing may follow the object. The error is one sentence about one problem, for the
// model.
//
// The fields of the struct have json tags and may be strings, bools, numbers, structs, slices and
// pointers of those, and json.RawMessage. A field with omitempty may be left out or null. The tag
// enum lists the strings that a field may have, as in `enum:"accept,reject"`; an optional one may
// also be empty.
func Decode(input json.RawMessage, into any) error {
	if len(bytes.TrimSpace(input)) == 0 {
		return errors.New("the input is empty; it must be a JSON object")
	}
	if err := checkJSON(input); err != nil {
		return err
	}
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("decode input: %T is not a pointer to a struct", into)
	}
	return decodeValue("", bytes.TrimSpace(input), target.Elem(), "")
}

// checkJSON returns where JSON is invalid.
func checkJSON(input []byte) error {
	err := json.Unmarshal(input, new(json.RawMessage))
	if err == nil {
		return nil
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("the input is not valid JSON: %s, at byte %d of %d", syntax.Error(), syntax.Offset, len(input))
	}
	return fmt.Errorf("the input is not valid JSON: %w", err)
}

// decodeValue reads one value. path is its name for the model, "" for the whole input; enum is the
// tag of its field.
func decodeValue(path string, raw []byte, v reflect.Value, enum string) error {
	if v.Type() == rawType {
		v.SetBytes(bytes.Clone(raw))
		return nil
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return decodeValue(path, raw, v.Elem(), enum)
	}
	if wanted := wantedKind(v); wanted != kindOf(raw) {
		return fmt.Errorf("%s must be %s, not %s", named(path), wanted, kindOf(raw))
	}
	switch v.Kind() {
	case reflect.Struct:
		return decodeObject(path, raw, v)
	case reflect.Slice:
		return decodeArray(path, raw, v, enum)
	case reflect.String:
		return decodeString(path, raw, v, enum)
	case reflect.Bool:
		v.SetBool(raw[0] == 't')
		return nil
	}
	return decodeNumber(path, raw, v)
}

func decodeObject(path string, raw []byte, v reflect.Value) error {
	fields := fieldsOf(v.Type())
	seen := make([]bool, len(fields))
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("read input: %w", err)
	}
	for d.More() {
		var value json.RawMessage
		name, err := d.Token()
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return fmt.Errorf("read input: %w", err)
		}
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			names := text.Mapped(fields, func(f field) string { return f.name })
			return fmt.Errorf("%s is unknown; the fields are %s", named(below(path, fmt.Sprint(name))),
				strings.Join(names, ", "))
		}
		f := fields[i]
		if seen[i] {
			return fmt.Errorf("%s appears twice", named(below(path, f.name)))
		}
		seen[i] = true
		if f.optional && (string(value) == "null" || f.enum != "" && string(value) == `""`) {
			continue
		}
		if err := decodeValue(below(path, f.name), value, v.FieldByIndex(f.index), f.enum); err != nil {
			return err
		}
	}
	for i, f := range fields {
		if !seen[i] && !f.optional {
			return fmt.Errorf("%s is missing", named(below(path, f.name)))
		}
	}
	return nil
}

func decodeArray(path string, raw []byte, v reflect.Value, enum string) error {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return fmt.Errorf("read input: %w", err)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, item := range items {
		if err := decodeValue(fmt.Sprintf("%s[%d]", path, i), item, v.Index(i), enum); err != nil {
			return err
		}
	}
	return nil
}

func decodeString(path string, raw []byte, v reflect.Value, enum string) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("%s is not a valid string: %w", named(path), err)
	}
	if enum != "" && !slices.Contains(strings.Split(enum, ","), text) {
		return fmt.Errorf("%s must be one of %s, not %q", named(path), strings.ReplaceAll(enum, ",", ", "),
			Clip(text, nameLimit))
	}
	v.SetString(text)
	return nil
}

func decodeNumber(path string, raw []byte, v reflect.Value) error {
	number, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.IsInf(number, 0) {
		return fmt.Errorf("%s is out of range", named(path))
	}
	if v.CanFloat() {
		v.SetFloat(number)
		return nil
	}
	if number != math.Trunc(number) {
		return fmt.Errorf("%s must be a whole number", named(path))
	}
	if !v.CanInt() || math.Abs(number) >= 1<<53 || v.OverflowInt(int64(number)) {
		return fmt.Errorf("%s is out of range", named(path))
	}
	v.SetInt(int64(number))
	return nil
}

// nameLimit limits how much of a name or value made up by the model is repeated to it.
const nameLimit = 60

func named(path string) string {
	if path == "" {
		return "the input"
	}
	return "field " + Clip(path, 2*nameLimit)
}

func below(path, name string) string {
	name = Clip(name, nameLimit)
	if path == "" {
		return name
	}
	return path + "." + name
}

// kindOf describes a JSON value in words.
func kindOf(raw []byte) string {
	kinds := map[byte]string{
		'{': "an object", '[': "an array", '"': "a string", 't': "true or false", 'f': "true or false", 'n': "null",
	}
	return cmp.Or(kinds[raw[0]], "a number")
}

// wantedKind returns what kindOf must return for a value that fits into v.
func wantedKind(v reflect.Value) string {
	kinds := map[string]string{
		"object": "an object", "array": "an array", "string": "a string", "boolean": "true or false",
	}
	return cmp.Or(kinds[jsonType(v.Type())], "a number")
}
