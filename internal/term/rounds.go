package term

import (
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// round tells what goes on inside of an iteration whose agent is judged while it works.
func (l *Lines) round(e ralph.Event) []string {
	switch data := e.Data.(type) {
	case ralph.CaseSubmitted:
		return []string{fmt.Sprintf("  case %d: %s", data.Round, Shorten(Clean(data.Summary), 100))}
	case ralph.CaseAnswered:
		if data.Accepted {
			return []string{fmt.Sprintf("  ✓ case %d accepted", data.Round)}
		}
		codes := text.Mapped(data.Refusals, func(r ralph.Refusal) string { return r.Code })
		codes = append(codes, text.Mapped(data.Tasks, func(r ralph.TaskRefusal) string { return r.Code })...)
		return []string{"  " + l.Style.yellow(fmt.Sprintf("✗ case %d refused", data.Round)) + ": " + Clean(strings.Join(codes, ", "))}
	}
	return nil
}
