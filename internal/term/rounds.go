package term

import (
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
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
		var codes []string
		for _, r := range data.Refusals {
			codes = append(codes, r.Code)
		}
		for _, r := range data.Tasks {
			codes = append(codes, r.Code)
		}
		return []string{"  " + l.Style.yellow(fmt.Sprintf("✗ case %d refused", data.Round)) + ": " + Clean(strings.Join(codes, ", "))}
	}
	return nil
}
