package secrets

import (
	"bytes"
	"encoding/json"
)

// MapJSON returns a JSON text with every string in it changed.
func MapJSON(text []byte, change func(string) string) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(mapped(value, change))
}

func mapped(value any, change func(string) string) any {
	switch v := value.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = mapped(v[i], change)
		}
	case map[string]any:
		changed := make(map[string]any, len(v))
		for name, item := range v {
			changed[change(name)] = mapped(item, change)
		}
		return changed
	}
	return value
}
