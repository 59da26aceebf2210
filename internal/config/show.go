package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// Row is one line of `ralph config show`.
type Row struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// Show lists every key with its value and origin, in table order, without secrets.
func Show(loaded Loaded) []Row {
	var rows []Row
	for _, key := range Keys() {
		if key.Ready() {
			value := format(redactField(key.field(&loaded.Settings)))
			rows = append(rows, Row{Key: key.Name, Value: value, Origin: loaded.Origins[key.Name].String()})
		}
	}
	return rows
}

// redactField returns a redacted copy of a field, safe to print on a terminal. The items of a list
// are redacted one by one, before quoting changes the quotes in them.
func redactField(field any) any {
	switch value := field.(type) {
	case *string:
		clean := quoteInvisible(redact(*value))
		return &clean
	case *[]string:
		clean := text.Mapped(*value, redact)
		return &clean
	}
	return field
}

// format formats a field so that a config file or a flag accepts it.
func format(field any) string {
	switch value := field.(type) {
	case *string:
		return *value
	case *[]string:
		return "[" + strings.Join(text.Mapped(*value, strconv.Quote), ",") + "]"
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
	panic(fmt.Sprintf("config: cannot show a %T", field))
}

// quoteInvisible quotes text that has characters that cannot be seen. A file of a repository must
// not be able to move the cursor over the command that the user is asked about.
func quoteInvisible(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
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
