// Package contract reads docs/contract.md, so that its tests can compare the code with it.
//
// The page is written for people. The tests compare its tables, and the few sentences that list
// names: exit codes with their stop reasons and states, gates with their refusals, event types,
// commands, flags, keys and profiles. A list in the tests names what the page promises and the code
// does not have yet, with the feature that will add it. A name that is in the code and in that list
// fails, and so does a name on the page that is in neither: nothing drifts, and nothing is
// forgotten.
package contract

import (
	"regexp"
	"strings"
)

// Page is the contract, split into parts that can be compared.
type Page struct {
	text   string // without its code blocks
	blocks []string
	tables []Table
}

// Table is one table of the page. Cells keep their Markdown, except for escaped bars.
type Table struct {
	Header []string
	Rows   [][]string
}

// Parse splits a page. It keeps text outside of tables unchanged, and never fails.
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

// Table returns the table whose first column has the given heading, or a zero Table if there is
// none.
func (p Page) Table(heading string) Table {
	for _, t := range p.tables {
		if t.Header[0] == heading {
			return t
		}
	}
	return Table{}
}

// Block returns the first code block that contains the given text, or "".
func (p Page) Block(holding string) string {
	for _, block := range p.blocks {
		if strings.Contains(block, holding) {
			return block
		}
	}
	return ""
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// spans lists the text between backquotes.
func spans(text string) []string { return groups(codeSpan, text) }

// groups lists the matches of the first group of an expression.
func groups(expression *regexp.Regexp, text string) []string {
	var found []string
	for _, match := range expression.FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}
