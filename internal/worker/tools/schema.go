package tools

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// Schema is the JSON schema of what [Decode] takes for a struct. The tag doc tells the model what a field means.
func Schema(input any) json.RawMessage {
	var b bytes.Buffer
	writeSchema(&b, reflect.TypeOf(input), field{})
	return b.Bytes()
}

var rawType = reflect.TypeFor[json.RawMessage]()

// field is one field of an input.
type field struct {
	name, doc, enum string
	optional        bool
	index           []int
	kind            reflect.Type
}

// fieldsOf lists what a struct takes, in its own order.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		fields = append(fields, field{
			name: name, doc: f.Tag.Get("doc"), enum: f.Tag.Get("enum"), optional: strings.Contains(rest, "omitempty"),
			index: f.Index, kind: f.Type,
		})
	}
	return fields
}

// writeSchema keeps the order of the fields: models fill them in as they stand.
func writeSchema(b *bytes.Buffer, t reflect.Type, f field) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	b.WriteByte('{')
	defer b.WriteByte('}')
	if t != rawType {
		writeEntry(b, "type", jsonType(t))
	}
	if f.doc != "" {
		writeEntry(b, "description", f.doc)
	}
	switch {
	case t == rawType:
	case t.Kind() == reflect.Struct:
		writeProperties(b, fieldsOf(t))
	case t.Kind() == reflect.Slice:
		writeEntry(b, "items", nil)
		writeSchema(b, t.Elem(), field{enum: f.enum})
	case f.enum != "":
		writeEntry(b, "enum", strings.Split(f.enum, ","))
	}
}

func writeProperties(b *bytes.Buffer, fields []field) {
	required := []string{}
	writeEntry(b, "properties", nil)
	b.WriteByte('{')
	for _, f := range fields {
		writeEntry(b, f.name, nil)
		writeSchema(b, f.kind, f)
		if !f.optional {
			required = append(required, f.name)
		}
	}
	b.WriteByte('}')
	writeEntry(b, "required", required)
	writeEntry(b, "additionalProperties", false)
}

// writeEntry writes a key and its value; the value follows by other hands if it is nil.
func writeEntry(b *bytes.Buffer, key string, value any) {
	if last := b.Bytes()[b.Len()-1]; last != '{' {
		b.WriteByte(',')
	}
	text, _ := json.Marshal(key) // strings and lists of them can be written
	b.Write(text)
	b.WriteByte(':')
	if value != nil {
		text, _ = json.Marshal(value)
		b.Write(text)
	}
}

func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float32, reflect.Float64:
		return "number"
	}
	return "integer"
}
