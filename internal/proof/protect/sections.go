package protect

import (
	"fmt"
	"slices"
	"strings"
)

// sectioned is a file of sections with keys, TOML or INI, part of which affects tests.
type sectioned struct {
	syntax   syntax
	sections []string // sections that affect tests as a whole
	keys     []string // keys that affect tests, with their sections
}

type syntax int

const (
	toml syntax = iota
	ini
)

var (
	setupCfg = sectioned{syntax: ini, sections: []string{"tool:*", "coverage*", "pytest", "aliases", "nosetests", "tox"}}
	// The keys are the same tables, written as keys of a table above them.
	pyproject = sectioned{
		sections: []string{
			"tool.pytest*", "tool.coverage*", "tool.tox*", "tool.hatch.envs*", "tool.nox*", "tool.poe*", "tool.taskipy*",
			"tool.pdm.scripts*",
		},
		keys: []string{
			"tool.pytest*", "tool.coverage*", "tool.tox*", "tool.hatch.envs*", "tool.nox*",
			"project.entry-points.pytest11*",
		},
	}
	bunfig = sectioned{sections: []string{"test*", "run*"}, keys: []string{"preload", "test*"}}
	cargo  = sectioned{
		sections: []string{"test", "profile.test*", "profile.dev*", "patch*", "replace*"},
		keys: []string{
			"lib.test", "lib.harness", "lib.doctest", "bin.test", "bin.harness", "example.test", "package.autotests",
			"workspace.exclude", "workspace.default-members", "test", "profile.test*", "profile.dev*",
		},
	}
)

// matchesAny reports whether a name is in a list. An entry that ends with * matches every name with
// that prefix.
func matchesAny(name string, list []string) bool {
	return slices.ContainsFunc(list, func(one string) bool {
		prefix, wild := strings.CutSuffix(one, "*")
		return name == one || wild && strings.HasPrefix(name, prefix)
	})
}

// differs compares the parts that affect tests. A file that cannot be parsed differs, even if it
// never could be.
func (f sectioned) differs(_ *inspection, base, now []byte) bool {
	was, errBase := f.part(base)
	is, errNow := f.part(now)
	return errBase != nil || errNow != nil || !slices.Equal(was, is)
}

// steersAlone reports whether a new file affects tests. A file that is too long to be read may hide
// it.
func (f sectioned) steersAlone(_ *inspection, _ string, data []byte) bool {
	part, err := f.part(data)
	return err != nil || len(part) > 0 || len(data) >= Limit
}

// part lists the settings that affect tests, as "section: key = value".
func (f sectioned) part(data []byte) ([]string, error) {
	settings, err := readSettings(f.syntax, string(data))
	if err != nil {
		return nil, err
	}
	var part []string
	for _, s := range settings {
		if matchesAny(s.section, f.sections) || matchesAny(strings.TrimPrefix(s.section+"."+s.key, "."), f.keys) {
			part = append(part, fmt.Sprintf("%s: %s = %s", s.section, s.key, s.value))
		}
	}
	return part, nil
}

// setting is one key with its value as written. A section without keys is a setting without a key.
type setting struct{ section, key, value string }

// readSettings splits a file. It knows just enough TOML and INI to find where a setting begins and
// ends.
func readSettings(kind syntax, text string) ([]setting, error) {
	if strings.ContainsRune(text, 0) {
		return nil, fmt.Errorf("read settings: not text")
	}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	if kind == ini {
		return readINI(text)
	}
	return readTOML(text)
}

func readINI(text string) ([]setting, error) {
	var settings []setting
	section, opened := "", false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		indented := len(line) > 0 && (line[0] == ' ' || line[0] == '\t')
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case indented && len(settings) > 0 && settings[len(settings)-1].key != "":
			settings[len(settings)-1].value += "\n" + trimmed
		case trimmed[0] == '[':
			name, _, closed := strings.Cut(trimmed[1:], "]")
			if !closed {
				return nil, fmt.Errorf("read section %q: it is not closed", trimmed)
			}
			section, opened = strings.TrimSpace(name), true
			settings = append(settings, setting{section: section})
		case !opened:
			return nil, fmt.Errorf("read line %q: it is in no section", trimmed)
		default:
			at := strings.IndexAny(trimmed, "=:")
			if at < 0 {
				settings = append(settings, setting{section: section, key: trimmed})
				continue
			}
			settings = append(settings, setting{section, strings.TrimSpace(trimmed[:at]), strings.TrimSpace(trimmed[at+1:])})
		}
	}
	return settings, nil
}

func readTOML(text string) ([]setting, error) {
	var settings []setting
	section := ""
	for text != "" {
		text = strings.TrimLeft(text, " \t\n")
		switch {
		case text == "":
		case text[0] == '#':
			_, text, _ = strings.Cut(text, "\n")
		case text[0] == '[':
			line, rest, _ := strings.Cut(text, "\n")
			name, closed := tomlHeader(line)
			if !closed {
				return nil, fmt.Errorf("read section %q: it is not closed", line)
			}
			section, text = name, rest
			settings = append(settings, setting{section: section})
		default:
			key, rest, found := tomlKey(text)
			if !found {
				line, _, _ := strings.Cut(text, "\n")
				return nil, fmt.Errorf("read line %q: it is not a setting", line)
			}
			value, size, ended := tomlValue(rest)
			if !ended {
				return nil, fmt.Errorf("read value of %q: it does not end", key)
			}
			settings = append(settings, setting{section, key, value})
			text = rest[size:]
		}
	}
	return settings, nil
}

// tomlHeader reads [a.b] and [[a.b]].
func tomlHeader(line string) (name string, closed bool) {
	brackets := 1
	if strings.HasPrefix(line, "[[") {
		brackets = 2
	}
	name, size := tomlName(line[brackets:], "]")
	return name, strings.HasPrefix(line[brackets+size:], "]]"[:brackets])
}

// tomlKey reads a key with its equals sign.
func tomlKey(text string) (key, rest string, found bool) {
	key, size := tomlName(text, "=\n")
	rest = text[size:]
	return key, strings.TrimPrefix(rest, "="), key != "" && strings.HasPrefix(rest, "=")
}

// tomlName reads a dotted name up to one of the ends outside quotes. It strips quotes and
// whitespace around the parts.
func tomlName(text, ends string) (name string, size int) {
	var b strings.Builder
	for size < len(text) && strings.IndexByte(ends, text[size]) < 0 {
		switch c := text[size]; c {
		case '"', '\'':
			line, _, _ := strings.Cut(text[size:], "\n")
			inner, n := quotedText(line)
			b.WriteString(inner)
			size += n
		case ' ', '\t', '\r':
			size++
		default:
			b.WriteByte(c)
			size++
		}
	}
	return b.String(), size
}

// tomlValue reads a value up to the end of the line, or beyond it inside brackets or triple quotes.
// It strips comments and whitespace outside quotes.
func tomlValue(text string) (value string, size int, ended bool) {
	var b strings.Builder
	depth := 0
	for size < len(text) {
		rest := text[size:]
		switch c := rest[0]; {
		case strings.HasPrefix(rest, `"""`) || strings.HasPrefix(rest, `'''`):
			end := strings.Index(rest[3:], rest[:3])
			if end < 0 {
				return "", size, false
			}
			b.WriteString(rest[:end+6])
			size += end + 6
		case c == '"' || c == '\'':
			line, _, _ := strings.Cut(rest, "\n")
			_, n := quotedText(line)
			b.WriteString(line[:n])
			size += n
		case c == '#':
			line, _, _ := strings.Cut(rest, "\n")
			size += len(line)
		case c == '\n' && depth <= 0:
			return b.String(), size + 1, true
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			size++
		default:
			depth += strings.Count("[{", rest[:1]) - strings.Count("]}", rest[:1])
			b.WriteByte(c)
			size++
		}
	}
	return b.String(), size, depth <= 0
}
