package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
)

const (
	maxSummaryChars  = 4000 // characters
	maxCaseTextChars = 1000 // characters of every other text in a case
	maxCoverage      = 100
	maxWorkArounds   = 5
	maxDoubts        = 20
	proseWords       = 8 // so many words without a path are not a pointer
)

// CaseInput is a case as a model writes it.
type CaseInput struct {
	Summary       string          `json:"summary" doc:"What was done, in a few sentences."`
	Coverage      []coverageInput `json:"ac_coverage" doc:"One entry for each acceptance criterion."`
	WorkArounds   []string        `json:"work_arounds,omitempty" doc:"At most 5: what is not as it should be, and why."`
	Uncertainties []string        `json:"uncertainties,omitempty" doc:"What you are not certain of."`
	Untestable    string          `json:"untestable,omitempty" doc:"Why no test can show the work, if none can."`
}

type coverageInput struct {
	Criterion   string `json:"criterion" doc:"The criterion, in its own words."`
	AddressedBy string `json:"addressed_by" doc:"Where it is met: a pointer such as path/to/file.go:Symbol."`
	Evidence    string `json:"evidence,omitempty" doc:"What shows it, such as a test."`
}

// DecodeCase reads a case. The error describes one problem, for the model.
func DecodeCase(input json.RawMessage) (ralph.Case, error) {
	var in CaseInput
	if err := Decode(input, &in); err != nil {
		return ralph.Case{}, err
	}
	if err := in.check(); err != nil {
		return ralph.Case{}, err
	}
	c := ralph.Case{
		Summary: in.Summary, WorkArounds: in.WorkArounds, Uncertainties: in.Uncertainties,
		Untestable: in.Untestable,
	}
	for _, a := range in.Coverage {
		c.Coverage = append(c.Coverage, ralph.Coverage(a))
	}
	return c, nil
}

func (in CaseInput) check() error {
	if err := checkText("summary", in.Summary, maxSummaryChars); err != nil {
		return err
	}
	switch {
	case len(in.Coverage) == 0:
		return errors.New("field ac_coverage is empty; name each criterion and where it is met")
	case len(in.Coverage) > maxCoverage:
		return fmt.Errorf("field ac_coverage has %d entries, more than %d", len(in.Coverage), maxCoverage)
	}
	for i, a := range in.Coverage {
		if err := a.check(fmt.Sprintf("ac_coverage[%d].", i)); err != nil {
			return err
		}
	}
	if err := checkTexts("work_arounds", in.WorkArounds, maxWorkArounds); err != nil {
		return err
	}
	if err := checkTexts("uncertainties", in.Uncertainties, maxDoubts); err != nil || in.Untestable == "" {
		return err
	}
	return checkText("untestable", in.Untestable, maxCaseTextChars)
}

func (a coverageInput) check(path string) error {
	if err := checkText(path+"criterion", a.Criterion, maxCaseTextChars); err != nil {
		return err
	}
	if err := checkText(path+"addressed_by", a.AddressedBy, maxCaseTextChars); err != nil {
		return err
	}
	if isProse(a.AddressedBy) {
		return fmt.Errorf("field %saddressed_by is prose; it must be a pointer such as path/to/file.go:Symbol", path)
	}
	if a.Evidence != "" {
		return checkText(path+"evidence", a.Evidence, maxCaseTextChars)
	}
	return nil
}

func checkTexts(path string, items []string, most int) error {
	if len(items) > most {
		return fmt.Errorf("field %s has %d entries, more than %d", path, len(items), most)
	}
	for i, item := range items {
		if err := checkText(fmt.Sprintf("%s[%d]", path, i), item, maxCaseTextChars); err != nil {
			return err
		}
	}
	return nil
}

// checkText checks that a text is neither empty nor too long.
func checkText(path, text string, limit int) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("field %s is empty", path)
	}
	if n := utf8.RuneCountInString(text); n > limit {
		return fmt.Errorf("field %s has %d characters, more than %d", path, n, limit)
	}
	return nil
}

// isProse reports whether a pointer is a sentence that names no path.
func isProse(pointer string) bool {
	words := strings.Fields(pointer)
	points := func(word string) bool { return isPathLike(strings.Trim(word, "`'\"()[]{}<>,;:.!?*")) }
	return len(words) >= proseWords && !slices.ContainsFunc(words, points)
}

// isPathLike accepts a/b, main.go, main.go:Add and pkg::Name, but not 1.5 or "e.g.".
func isPathLike(word string) bool {
	if strings.ContainsAny(word, `/\`) || strings.Contains(word, "::") {
		return strings.Trim(word, `/\:`) != ""
	}
	stem, rest, ok := strings.Cut(word, ".")
	letter := func(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
	return ok && rest != "" && letter(rest[0]) && len(stem)+len(rest) > 2
}
