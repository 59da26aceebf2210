package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
	"text/tabwriter"

	"github.com/itchyny/gojq"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/term"
)

// printJSON prints a value as an indented object. With --jq, it prints each result of the
// expression on a line.
func (a *app) printJSON(value any) error {
	if a.globals.jq == "" {
		return writeIndented(a.streams.Out, value)
	}
	query, err := a.query()
	if err != nil {
		return err
	}
	plain, err := asPlain(value)
	if err != nil {
		return err
	}
	results := query.Run(plain)
	for {
		result, more := results.Next()
		if !more {
			return nil
		}
		if failed, ok := result.(error); ok {
			return usage("--jq %q: %v", a.globals.jq, failed)
		}
		if text, ok := result.(string); ok {
			if a.streams.OutTerm {
				text = term.CleanText(text)
			}
			fmt.Fprintln(a.streams.Out, text)
			continue
		}
		if err := json.NewEncoder(jsonWriter{a.streams.Out}).Encode(result); err != nil {
			return fmt.Errorf("write result: %w", err)
		}
	}
}

// print prints a value as JSON for programs, or a sentence about it for people.
func (a *app) print(value any, sentence string, args ...any) error {
	return a.show(value, func(out io.Writer) { fmt.Fprintf(out, sentence, args...) })
}

// printSent reports that a message or an order was delivered or queued.
func (a *app) printSent(order, state, run, means string) error {
	return a.print(map[string]string{"run_id": run, "order": order, "state": state}, "%s: %s\n", state, means)
}

// show prints a value as JSON for programs, or calls text to print it for people.
func (a *app) show(value any, text func(out io.Writer)) error {
	if a.wantsJSON() {
		return a.printJSON(value)
	}
	text(a.outLines())
	return nil
}

// table is show for lines whose columns are separated by tabs.
func (a *app) table(value any, lines func(out io.Writer)) error {
	var written error
	err := a.show(value, func(out io.Writer) {
		var text bytes.Buffer
		columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		lines(columns)
		written = columns.Flush()
		_, err := out.Write(text.Bytes()) // at once: lines are wrapped as a whole
		written = cmp.Or(written, err)
	})
	return cmp.Or(err, written)
}

// printOutcome prints the result of something that has ended. A --jq expression that fails and a
// reader that closed the pipe do not change the exit code.
func (a *app) printOutcome(value any) error {
	err := a.printJSON(value)
	if is[*config.UsageError](err) {
		fmt.Fprintf(a.errLines(), "ralph: %v\n", err)
		return nil
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// query parses --jq. It returns nil if the flag was not given.
func (a *app) query() (*gojq.Query, error) {
	if a.globals.jq == "" {
		return nil, nil
	}
	query, err := gojq.Parse(a.globals.jq)
	if err != nil {
		return nil, usage("--jq %q: %v", a.globals.jq, err)
	}
	return query, nil
}

// jsonWriter writes whole JSON values so that a terminal can show them.
type jsonWriter struct{ to io.Writer }

func (w jsonWriter) Write(data []byte) (int, error) {
	if _, err := w.to.Write(term.EscapeJSON(data)); err != nil {
		return 0, err
	}
	return len(data), nil
}

func writeIndented(out io.Writer, value any) error {
	encoder := json.NewEncoder(jsonWriter{out})
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// asPlain converts a value to the maps and lists that jq works on.
func asPlain(value any) (any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	return plain, nil
}

// wantsJSON reports whether the output is for a program. --jq implies --json.
func (a *app) wantsJSON() bool { return a.globals.json || a.globals.jq != "" }

// style returns the style for stderr, where progress and messages go.
func (a *app) style() term.Style { return a.styleOn(a.streams.ErrTerm) }

func (a *app) styleOn(terminal bool) term.Style {
	switch a.globals.color {
	case "always":
		return term.Style{Color: true}
	case "never":
		return term.Style{}
	}
	return term.Style{Color: terminal && !a.globals.plain && !a.streams.Env.NoColor && a.streams.Env.Term != "dumb"}
}
