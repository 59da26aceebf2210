package setup

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/project"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

const configHead = `# yaml-language-server: $schema=config.schema.json
# Ralph's settings for this project. "#name: value" is a key with its default: remove the # and edit the value.
# "ralph config show" prints every value and where it comes from. ` +
	`Ralph asks each user once to trust the commands below.
`

// ownWords are keys that do not belong into a repository: each is for one run, or for the user.
var ownWords = []string{"trust", "yolo", "spec"}

// configText returns the text of the config file. What the user chose is active; every other key is
// a comment with its default. Removing the # from any or all of the lines that begin with # and no
// blank leaves valid YAML.
func (c Choice) configText() string {
	groups := []string{"checks", "agent", ""} // what users look for first; the others follow in table order
	members := map[string][]configLine{}
	for _, key := range config.Keys() {
		if !key.Ready() || slices.Contains(ownWords, key.Name) {
			continue
		}
		group := key.Group()
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		members[group] = append(members[group], c.lines(key)...)
	}
	var text strings.Builder
	text.WriteString(configHead)
	for _, group := range groups {
		text.WriteByte('\n')
		indent := ""
		if group != "" {
			fmt.Fprintf(&text, "%s:\n", group) // a group without an active key is a null and sets nothing
			indent = "  "
		}
		writeAligned(&text, indent, members[group])
	}
	return text.String()
}

// configLine is a setting, active or commented out, and the comment after it.
type configLine struct{ setting, comment string }

// lines returns the lines of one key, with the user's choice if there is one.
func (c Choice) lines(key config.Key) []configLine {
	name := strings.TrimPrefix(key.Name, key.Group()+".")
	switch {
	case key.Name == "checks.commands" && len(c.Checks)+len(c.Others) > 0:
		lines := []configLine{{name + ":", meaning(key)}}
		for _, command := range c.Checks {
			lines = append(lines, configLine{"  - " + scalar(command), ""})
		}
		for _, proposal := range c.Others {
			lines = append(lines, configLine{"  #- " + scalar(proposal.Command), whyNot(proposal)})
		}
		return lines
	case key.Name == "agent.name" && c.Agent != "":
		return []configLine{{name + ": " + scalar(c.Agent), meaning(key)}}
	case key.Name == "gate.proof" && c.Proof != "":
		return []configLine{{name + ": " + scalar(c.Proof), meaning(key)}}
	}
	return []configLine{{strings.TrimRight("#"+name+": "+defaultValue(key), " "), meaning(key)}}
}

func whyNot(proposal project.Proposal) string {
	why := fmt.Sprintf("%s: %s", proposal.Kind, proposal.Because)
	if proposal.Missing != "" {
		why += "; " + proposal.Missing + " is not on PATH"
	}
	return why
}

// meaning returns the key's description, with its choices and the meaning of 0.
func meaning(key config.Key) string {
	text := key.Doc
	if len(key.Choices) > 1 && key.Kind == config.Text {
		text += " (" + strings.Join(key.Choices, ", ") + ")"
	}
	if key.Zero != "" {
		text += " (0: " + key.Zero + ")"
	}
	return text
}

func defaultValue(key config.Key) string {
	switch {
	case key.Default == "": // a null, which sets nothing
	case key.Kind == config.Text:
		return scalar(key.Default)
	case key.Kind == config.List:
		return "[" + strings.Join(text.Mapped(strings.Split(key.Default, "\n"), scalar), ", ") + "]"
	}
	return key.Default
}

// plainScalar matches text that YAML reads as itself everywhere.
var plainScalar = regexp.MustCompile(`^[A-Za-z./][A-Za-z0-9 ./_=-]*$`)

// yamlWords look like text, but some version of YAML reads them as something else.
var yamlWords = []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n", ".inf", ".nan"}

func scalar(text string) string {
	if strings.ContainsFunc(text, unicode.IsControl) { // a line break would end the comment that the text may be in
		return strconv.Quote(text)
	}
	if plainScalar.MatchString(text) && !strings.HasSuffix(text, " ") &&
		!slices.Contains(yamlWords, strings.ToLower(text)) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// writeAligned aligns the comments, except those of long settings.
func writeAligned(text *strings.Builder, indent string, lines []configLine) {
	const widest = 30
	width := 0
	for _, line := range lines {
		if n := len(line.setting); line.comment != "" && n <= widest {
			width = max(width, n)
		}
	}
	for _, line := range lines {
		if line.comment == "" {
			fmt.Fprintf(text, "%s%s\n", indent, line.setting)
			continue
		}
		// A comment may contain the name of a file. A line break in that name could add settings.
		comment := promise.OneLine(line.comment, len(line.comment))
		fmt.Fprintf(text, "%s%-*s  # %s\n", indent, width, line.setting, comment)
	}
}
