package config

import (
	"encoding/json"
	"fmt"

	"github.com/ralphloop/ralph/internal/text"
)

// Schema returns the JSON schema (draft 2020-12) of a config file, for editors. It is a little
// stricter than the reader: it has only one spelling of yes and no, and no keys of a later version.
func Schema() []byte {
	top, groups := map[string]any{}, map[string]map[string]any{}
	for _, key := range Keys() {
		if !key.Ready() {
			continue
		}
		group := key.Group()
		if group == "" {
			top[key.Name] = key.schema()
			continue
		}
		if groups[group] == nil {
			groups[group] = map[string]any{}
		}
		groups[group][key.Name[len(group)+1:]] = key.schema()
	}
	for group, members := range groups {
		object := closedObject(members)
		object["description"] = fmt.Sprintf("a value in place of the group sets %s", allKeys.groups[group].Name)
		top[group] = map[string]any{"anyOf": []any{object, allKeys.groups[group].schema()}}
	}
	seed := map[string]any{}
	for name, full := range seedKeys() {
		seed[name] = allKeys.byName[full].schema()
	}
	top[seedSection] = closedObject(seed)

	schema := closedObject(top)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "Ralph configuration"
	encoded, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("config: encode schema: %v", err)) // maps of texts and numbers always encode
	}
	return append(encoded, '\n')
}

// closedObject allows null, or an object with these members and no others.
func closedObject(members map[string]any) map[string]any {
	return map[string]any{"type": []string{"object", "null"}, "properties": members, "additionalProperties": false}
}

func (k Key) schema() map[string]any {
	schema := k.kindSchema()
	schema["description"] = k.Doc
	if k.Default == "" {
		return schema
	}
	switch k.Kind {
	case Count, Amount, Switch:
		schema["default"] = json.RawMessage(k.Default)
	case List:
		schema["default"] = splitValue(k, k.Default).items
	default:
		schema["default"] = k.Default
	}
	return schema
}

func (k Key) kindSchema() map[string]any {
	switch k.Kind {
	case Count:
		return map[string]any{"type": []string{"integer", "null"}, "minimum": k.Min, "maximum": k.Max}
	case Amount:
		return map[string]any{"type": []string{"number", "null"}, "minimum": 0, "maximum": k.Max}
	case Length:
		return map[string]any{
			"type":    []string{"number", "string", "null"},
			"minimum": 0,
			"maximum": k.Max,
			"pattern": `^[0-9.]+([hms0-9.]|ms)*$`,
		}
	case Switch:
		return map[string]any{"type": []string{"boolean", "null"}}
	case List:
		// A command may be the word true, which is a boolean in YAML.
		item := map[string]any{"type": []string{"string", "number", "boolean"}, "minLength": 1}
		return map[string]any{
			"anyOf": []any{map[string]any{"type": "array", "items": item}, item, map[string]any{"type": "null"}},
		}
	}
	if len(k.Choices) > 0 {
		choices := text.Mapped(k.Choices, func(choice string) any { return choice })
		return map[string]any{"enum": append(choices, nil)}
	}
	return map[string]any{"type": []string{"string", "number", "boolean", "null"}}
}
