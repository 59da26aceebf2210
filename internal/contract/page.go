// Package contract reads docs/contract.md, so that its tests can hold the code to it.
//
// The page is written for people. What a test compares is taken from its tables, and from the few sentences that list names: exit codes with their
// stop reasons and states, gates with their refusals, event types, commands, flags, keys and profiles. What the page promises and the code does not
// have yet is named in a list in the tests, with the feature that it comes with. A name that is in the code and in that list fails, and so does one
// that is in neither: nothing drifts, and nothing is forgotten.
package contract

import (
	"regexp"
	"strings"
)

// Page is the contract, cut into what can be compared.
type Page struct {
	text   string // without its code blocks
	blocks []string
	tables []Table
}

// Table is one table of the page. Cells keep their Markdown, but for the escaped bars.
type Table struct {
	Header []string
	Rows   [][]string
}

// Parse cuts a page up. Text that is no table is kept as it is; nothing is an error.
func Parse(text string) Page {
	var page Page
	var prose, block []string
	inBlock := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "```"):
			if inBlock {
				page.blocks = append(page.blocks, strings.Join(block, "\n"))
			}
			inBlock, block = !inBlock, nil
		case inBlock:
			block = append(block, line)
		default:
			prose = append(prose, line)
		}
	}
	page.text = strings.Join(prose, "\n")
	page.tables = tables(prose)
	return page
}

func tables(lines []string) []Table {
	var found []Table
	inside := false
	for _, line := range lines {
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		row := cells(line)
		switch {
		case !inside:
			found = append(found, Table{Header: row})
			inside = true
		case strings.Trim(row[0], "-: ") == "":
			// the rule below the header
		default:
			last := &found[len(found)-1]
			last.Rows = append(last.Rows, row)
		}
	}
	return found
}

// cells splits a row at its bars, except at those with a backslash before them.
func cells(line string) []string {
	const bar = "\x00"
	line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, bar)
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	parts := strings.Split(line, "|")
	for i, part := range parts {
		parts[i] = strings.TrimSpace(strings.ReplaceAll(part, bar, "|"))
	}
	return parts
}

// Table is the table whose first column has the given heading; its zero value if there is none.
func (p Page) Table(heading string) Table {
	for _, t := range p.tables {
		if t.Header[0] == heading {
			return t
		}
	}
	return Table{}
}

// Block is the first code block that holds the given text, or "".
func (p Page) Block(holding string) string {
	for _, block := range p.blocks {
		if strings.Contains(block, holding) {
			return block
		}
	}
	return ""
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// spans lists what stands between backquotes.
func spans(text string) []string { return groups(codeSpan, text) }

// groups lists what the first group of an expression matches.
func groups(expression *regexp.Regexp, text string) []string {
	var found []string
	for _, match := range expression.FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}
