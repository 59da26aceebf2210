package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Exit is one exit code.
type Exit struct {
	Code    int
	Name    string
	Reasons []string
	Status  string
}

var word = regexp.MustCompile(`^[a-z_]+$`)

// Exits reads the exit-code table. A row of several codes gives one Exit for each.
func (p Page) Exits() ([]Exit, error) {
	var exits []Exit
	for _, row := range p.Table("code").Rows {
		for text := range strings.SplitSeq(row[0], ",") {
			code, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				return nil, fmt.Errorf("read exit code: %w", err)
			}
			status := strings.Trim(row[3], "`-")
			exits = append(exits, Exit{Code: code, Name: row[1], Reasons: words(row[2]), Status: status})
		}
	}
	return exits, nil
}

// words lists the code spans that are plain names.
func words(text string) []string {
	return slices.DeleteFunc(spans(text), func(span string) bool { return !word.MatchString(span) })
}

// Gate is one gate with the codes of its refusals.
type Gate struct {
	Name     string
	Refusals []string
}

// Gates reads the gate table, without the variable part of a refusal.
func (p Page) Gates() []Gate {
	var gates []Gate
	for _, row := range p.Table("gate").Rows {
		gate := Gate{Name: row[0]}
		for _, refusal := range spans(row[1]) {
			code, _, _ := strings.Cut(refusal, ":")
			gate.Refusals = append(gate.Refusals, code)
		}
		gates = append(gates, gate)
	}
	return gates
}

// LiveStates lists the states of a run that has not ended.
func (p Page) LiveStates() []string { return words(p.sentence("A run that has not ended is")) }

// EventTypes lists the types of events, in the page's order.
func (p Page) EventTypes() []string {
	var types []string
	for _, span := range spans(p.sentence("Types:")) {
		for name := range strings.SplitSeq(span, ",") {
			types = append(types, strings.TrimSpace(name))
		}
	}
	return types
}

var fullStop = regexp.MustCompile(`\.(\s|$)`)

// sentence returns the text from opening to the next period that ends a sentence.
func (p Page) sentence(opening string) string {
	_, rest, _ := strings.Cut(p.text, opening)
	end := fullStop.FindStringIndex(rest)
	if end == nil {
		return rest
	}
	return rest[:end[0]]
}

var jsonKey = regexp.MustCompile(`"([a-z]+)":`)

// EventFields lists the fields of an event's envelope, except its checksum.
func (p Page) EventFields() []string {
	var fields []string
	for _, span := range spans(p.sentence("Event:")) {
		fields = append(fields, groups(jsonKey, span)...)
	}
	return fields
}

var commandWords = regexp.MustCompile(`^ralph((?: [a-z]+(?:-[a-z]+)*)+)(?: |$)`)

// Commands lists the commands, each with the words that lead to it, such as "config show".
func (p Page) Commands() []string {
	var found []string
	for _, row := range p.Table("command").Rows {
		for _, span := range spans(row[0]) {
			if match := commandWords.FindStringSubmatch(span); match != nil {
				found = append(found, strings.TrimSpace(match[1]))
			}
		}
	}
	return sorted(found)
}

var longFlag = regexp.MustCompile(`--([a-z][a-z-]*[a-z])`)

// RunFlags lists the long flags of `ralph run`, except global ones, without their dashes.
func (p Page) RunFlags() []string {
	var text strings.Builder
	for _, row := range p.Table("flag of `run`").Rows {
		text.WriteString(strings.Join(row, " ") + "\n")
	}
	for _, row := range p.Table("command").Rows {
		if strings.HasPrefix(row[0], "`ralph run ") {
			text.WriteString(strings.Join(row, " ") + "\n")
		}
		for _, span := range spans(row[0]) {
			if strings.HasPrefix(span, "ralph run --") {
				text.WriteString(span + "\n")
			}
		}
	}
	return longFlags(text.String())
}

// GlobalFlags lists the long flags that every command has.
func (p Page) GlobalFlags() []string { return longFlags(p.sentence("\nGlobal:")) }

func longFlags(text string) []string { return sorted(groups(longFlag, text)) }

var (
	groupedKey = regexp.MustCompile(`^((?:agent|checks|gate|breaker|tasks|worker|evaluator|planner|sandbox|limits|` +
		`notify|prompt|hooks)\.[a-z_]+)(?::.*)?$`)
	wholeGroup = regexp.MustCompile(`^([a-z]+)\.\*$`)
)

// Keys lists the configuration keys that the page names: those of the key table, and grouped names
// anywhere else. It excludes keys that only follow from a flag's name.
func (p Page) Keys() []string {
	var found []string
	for _, span := range spans(p.text) {
		if match := groupedKey.FindStringSubmatch(span); match != nil {
			found = append(found, match[1])
		}
	}
	for _, row := range p.Table("key").Rows {
		names := spans(row[0])
		found = append(found, names...)
		// "`evaluator.*` … have the same four" as the row's own group.
		for _, span := range spans(row[2]) {
			if match := wholeGroup.FindStringSubmatch(span); match != nil {
				found = append(found, inGroup(match[1], names)...)
			}
		}
	}
	return sorted(found)
}

func inGroup(group string, names []string) []string {
	var moved []string
	for _, name := range names {
		_, last, _ := strings.Cut(name, ".")
		moved = append(moved, group+"."+last)
	}
	return moved
}

// Profiles lists the profiles.
func (p Page) Profiles() []string {
	var found []string
	for _, row := range p.Table("profile").Rows {
		found = append(found, spans(row[0])...)
	}
	return sorted(found)
}

// Tags lists the promise tags that the page shows, as an agent would write them.
func (p Page) Tags() []string {
	var found []string
	for _, row := range p.Table("tag `<promise>TYPE:content</promise>`").Rows {
		for _, span := range spans(row[0]) {
			if strings.HasPrefix(span, "<promise>") {
				found = append(found, span)
			}
		}
	}
	return found
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
