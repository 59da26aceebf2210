package config

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
)

// Row is one line of `ralph config show`.
type Row struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// Show lists every key with its value and where that came from, in table order, with secrets taken out.
func Show(loaded Loaded) []Row {
	var rows []Row
	for _, key := range Keys() {
		if key.Ready() {
			value := format(withoutSecrets(key.field(&loaded.Settings)))
			rows = append(rows, Row{Key: key.Name, Value: value, Origin: loaded.Origins[key.Name].String()})
		}
	}
	return rows
}

// withoutSecrets is a field to show in place of another. Items are redacted one by one, before quoting hides their own quotes.
func withoutSecrets(field any) any {
	switch value := field.(type) {
	case *string:
		clean := redact(*value)
		return &clean
	case *[]string:
		clean := make([]string, 0, len(*value))
		for _, item := range *value {
			clean = append(clean, redact(item))
		}
		return &clean
	}
	return field
}

// format writes the value of a field so that a config file or a flag would take it back.
func format(field any) string {
	switch value := field.(type) {
	case *string:
		return *value
	case *[]string:
		return formatList(*value)
	case *ralph.Span:
		return formatSpan(*value)
	case *float64:
		return strconv.FormatFloat(*value, 'f', -1, 64)
	case *int:
		return strconv.Itoa(*value)
	case *int64:
		return strconv.FormatInt(*value, 10)
	case *bool:
		return strconv.FormatBool(*value)
	}
	panic(fmt.Sprintf("config: no way to show a %T", field))
}

func formatList(list []string) string {
	if len(list) == 0 {
		return "[]"
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(list); err != nil {
		panic(fmt.Sprintf("config: show list: %v", err)) // texts always encode
	}
	return strings.TrimSpace(out.String())
}

func formatSpan(span ralph.Span) string {
	if span == 0 {
		return "0"
	}
	text := span.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}
