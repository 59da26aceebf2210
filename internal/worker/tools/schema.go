package tools

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
)

// Schema returns the JSON schema of what [Decode] accepts for a struct. The tag doc tells the model
// what a field means.
func Schema(input any) json.RawMessage {
	schema, _ := json.Marshal(schemaOf(reflect.TypeOf(input), field{})) // encoding never fails
	return schema
}

var rawType = reflect.TypeFor[json.RawMessage]()

// field is one field of an input.
type field struct {
	name, doc, enum string
	optional        bool
	index           []int
	kind            reflect.Type
}

// fieldsOf lists the fields of a struct, in order.
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

// schemaOf keeps the order of the fields, because models fill them in that order.
func schemaOf(t reflect.Type, f field) (schema object) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != rawType {
		schema.add("type", jsonType(t))
	}
	if f.doc != "" {
		schema.add("description", f.doc)
	}
	switch {
	case t == rawType:
	case t.Kind() == reflect.Struct:
		properties, required := object{}, []string{}
		for _, f := range fieldsOf(t) {
			properties.add(f.name, schemaOf(f.kind, f))
			if !f.optional {
				required = append(required, f.name)
			}
		}
		schema.add("properties", properties)
		schema.add("required", required)
		schema.add("additionalProperties", false)
	case t.Kind() == reflect.Slice:
		schema.add("items", schemaOf(t.Elem(), field{enum: f.enum}))
	case f.enum != "":
		schema.add("enum", strings.Split(f.enum, ","))
	}
	return schema
}

// object is a JSON object that keeps the order of its entries.
type object []string

func (o *object) add(key string, value any) {
	name, _ := json.Marshal(key) // strings, lists of strings and objects can always be encoded
	text, _ := json.Marshal(value)
	*o = append(*o, string(name)+":"+string(text))
}

// MarshalJSON writes the entries.
func (o object) MarshalJSON() ([]byte, error) { return []byte("{" + strings.Join(o, ",") + "}"), nil }

func jsonType(t reflect.Type) string {
	types := map[reflect.Kind]string{
		reflect.Struct: "object", reflect.Slice: "array", reflect.String: "string", reflect.Bool: "boolean",
		reflect.Float32: "number", reflect.Float64: "number",
	}
	return cmp.Or(types[t.Kind()], "integer")
}
