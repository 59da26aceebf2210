package install

import (
	"fmt"
	"slices"
	"strings"
)

// contextLines is how many unchanged lines a patch shows around a change.
const contextLines = 3

// Patch shows the change as a patch with one hunk. An install changes one place of a file.
func (c Change) Patch() string {
	oldName, newName := c.Path, c.Path
	if !c.Existed {
		oldName = "/dev/null"
	}
	after := c.After
	if c.Remove {
		newName, after = "/dev/null", nil
	}
	a, b := lines(c.Before), lines(after)
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	tail := 0
	for tail < len(a)-same && tail < len(b)-same && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	from, more := max(0, same-contextLines), min(tail, contextLines)
	var patch strings.Builder
	fmt.Fprintf(&patch, "--- %s\n+++ %s\n@@ -%s +%s @@\n", oldName, newName,
		span(from, len(a)-tail+more), span(from, len(b)-tail+more))
	for _, part := range []struct {
		mark  string
		lines []string
	}{
		{" ", a[from:same]}, {"-", a[same : len(a)-tail]}, {"+", b[same : len(b)-tail]}, {" ", a[len(a)-tail:][:more]},
	} {
		for _, line := range part.lines {
			patch.WriteString(part.mark + strings.TrimSuffix(line, "\n") + "\n")
			if !strings.HasSuffix(line, "\n") {
				patch.WriteString("\\ No newline at end of file\n")
			}
		}
	}
	return patch.String()
}

// span returns the lines from one index up to another as a patch counts them.
func span(from, to int) string {
	if to == from {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func lines(text []byte) []string { return slices.Collect(strings.Lines(string(text))) }
