package loop

import (
	"strings"
)

// steeringItems splits the text of a STEERING.md into items. Each list item, with the lines
// indented below it, and each paragraph is one item. Headings, rules and comments are not.
func steeringItems(text string) []string {
	var items []string
	var item []string
	gap := false // after a blank line in a list item, only indented lines continue it
	end := func() {
		if joined := strings.TrimSpace(strings.Join(item, "\n")); joined != "" {
			items = append(items, joined)
		}
		item, gap = nil, false
	}
	comment := false
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		line = strings.TrimRight(line, " \t\n")
		bare := strings.TrimSpace(line)
		switch {
		case comment || strings.HasPrefix(bare, "<!--"):
			comment = !strings.Contains(bare, "-->")
		case bare == "":
			if gap = len(item) > 0; gap && !isListItem(item[0]) {
				end()
			}
		case strings.HasPrefix(bare, "#"), strings.Trim(bare, "-*_= ") == "":
			end()
		case line == bare && isListItem(bare):
			end()
			item = append(item, bare)
		default:
			if gap && line == bare {
				end()
			}
			item, gap = append(item, line), false
		}
	}
	end()
	var open []string
	for _, item := range items {
		item = trimListMark(item)
		if !strings.HasPrefix(item, "[x] ") && !strings.HasPrefix(item, "[X] ") { // done
			open = append(open, item)
		}
	}
	return open
}

func isListItem(line string) bool { return trimListMark(line) != line }

// trimListMark removes the mark of a list item.
func trimListMark(line string) string {
	for _, mark := range []string{"- [ ] ", "* [ ] ", "- ", "* ", "+ "} {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			return rest
		}
	}
	digits := strings.TrimLeft(line, "0123456789")
	if digits != line && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") ")) {
		return digits[2:]
	}
	return line
}
