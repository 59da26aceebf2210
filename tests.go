package ralph

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// TestAuthor lets an agent write acceptance tests before any work is done. How the agent ended is a value. An
// error means that the harness itself failed.
type TestAuthor interface {
	// Write lets the agent write tests in its own copy of the base, and keeps the test files that it added. The
	// result says whether they are for hidden checks.
	Write(ctx context.Context, in AuthorInput) (TestsWritten, error)
	// Adopt makes the kept tests part of the run: protected files of the workspace, or hidden tests. It may be
	// called again for the same tests.
	Adopt(ctx context.Context, tests TestsWritten) error
}

// AuthorInput is what the author of tests gets.
type AuthorInput struct {
	Attempt int
	Prompt  string
	Dir     string // the workspace
	Base    TreeState
	Folder  string // for the prompt and the output; "" keeps neither
	Marker  string
	Timeout time.Duration
	Budget  Budget
	Live    func(Activity) // never nil
}

// TestsWritten records tests that an agent wrote before any work.
type TestsWritten struct {
	Agent   string     `json:"agent"`
	Model   string     `json:"model,omitempty"`
	Attempt int        `json:"attempt"`
	Files   []TestFile `json:"files"`
	Ignored []string   `json:"ignored,omitempty"` // other files that the agent wrote
	Hidden  bool       `json:"hidden,omitempty"`  // the working agent never sees the files
	Used    bool       `json:"used"`
	Failing []string   `json:"failing,omitempty"` // the checks that fail because of the tests
	Problem string     `json:"problem,omitempty"` // why the tests are not used

	End           EndClass `json:"end"`
	Error         string   `json:"error,omitempty"`
	Hint          string   `json:"hint,omitempty"`
	Duration      Span     `json:"duration"`
	Cost          *float64 `json:"cost,omitempty"`
	CostEstimated bool     `json:"cost_estimated,omitempty"`
	CostPartial   bool     `json:"cost_partial,omitempty"`
	Tokens        *Tokens  `json:"tokens,omitempty"`
	TokensPartial bool     `json:"tokens_partial,omitempty"`
}

// TestFile is one file of tests.
type TestFile struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Text   string `json:"-"` // for a person who decides whether to use it
}

// String formats the tests for people. It does not name hidden ones: an agent may read this.
func (t TestsWritten) String() string {
	by := t.Agent
	if t.Model != "" && !strings.HasSuffix(by, ":"+t.Model) {
		by += " " + t.Model
	}
	if t.Hidden {
		return fmt.Sprintf("%s wrote hidden tests (files: %d)", by, len(t.Files))
	}
	return fmt.Sprintf("%s wrote %s, now protected", by, strings.Join(t.Names(), ", "))
}

// Names lists the files.
func (t TestsWritten) Names() []string {
	var names []string
	for _, file := range t.Files {
		names = append(names, file.Name)
	}
	return names
}

// Protects adds the files to the protected ones.
func (t TestsWritten) Protects(protected []string) []string {
	all := slices.Clone(protected)
	for _, name := range t.Names() {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// Spending returns what the author used, as far as it is known.
func (t TestsWritten) Spending() Spending {
	s := Spending{t.Tokens, t.TokensPartial, t.Cost, t.CostEstimated, t.CostPartial}
	if didWork(t.End) {
		return s.MarkPartial()
	}
	return s
}
