package secrets

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Shortest is how many bytes a secret must have to be masked. A shorter one would match by chance.
const Shortest = 8

// Secret is a value to mask.
type Secret struct {
	Label string // names the variable or file that the value is from
	Value string
}

// Masker replaces secrets. It does not change, so that any number of goroutines can use it.
type Masker struct {
	// byHead has the patterns that begin with eight bytes, the longest first.
	byHead map[uint64][]pattern
	// heads has what a text can end with if a pattern begins there: one to seven first bytes of any.
	heads map[string]bool
	// shift says how far the next match is at least, for the last bytes of a block of eight.
	shift [1 << hashBits]uint8
	masks []string // mask and text in turn, for Reveal
}

type pattern struct{ text, mask string }

// New returns a masker of these secrets, or nil if there is none to mask.
func New(all []Secret) *Masker {
	m := &Masker{byHead: map[uint64][]pattern{}, heads: map[string]bool{}}
	for i := range m.shift {
		m.shift[i] = Shortest - gram + 1
	}
	known, count := map[string]bool{}, map[string]int{}
	for _, secret := range all {
		label := cleanLabel(secret.Label)
		for _, line := range lines(secret.Value) {
			if len(line) < Shortest {
				continue
			}
			count[label]++
			for i, form := range forms(line) {
				mask := maskOf(label, count[label], i)
				m.masks = append(m.masks, mask, form)
				if len(form) >= Shortest && !known[form] {
					known[form] = true
					m.add(pattern{form, mask})
				}
			}
		}
	}
	if len(known) == 0 {
		return nil
	}
	for _, group := range m.byHead {
		slices.SortFunc(group, func(a, b pattern) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
	return m
}

const opening = "[masked:"

// maskOf returns the mask of the nth value with a label, in one of its forms. Each has its own, so that Reveal
// restores exactly the text that was masked. The first value as it is, by far the most common, has no number.
func maskOf(label string, nth, form int) string {
	switch {
	case form > 0:
		label += fmt.Sprintf("#%d.%d", nth, form)
	case nth > 1:
		label += fmt.Sprintf("#%d", nth)
	}
	return opening + label + "]"
}

// HasMask reports whether a text looks like one with a mask.
func HasMask(text string) bool { return strings.Contains(text, opening) }

// lines returns the lines of a secret, without the frame of a PEM block.
func lines(value string) []string {
	if !strings.Contains(value, "\n") {
		return []string{value}
	}
	var found []string
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
			found = append(found, line)
		}
	}
	return found
}

// cleanLabel returns a label that does not end a string of JSON or a line.
func cleanLabel(label string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune("\"'\\`$[]<>&#", r) {
			return '_'
		}
		return r
	}, label)
}

const (
	gram     = 4 // bytes at the end of a block that decide how far to skip
	hashBits = 14
)

func hash(last uint32) uint32 { return last * 0x9E3779B1 >> (32 - hashBits) }

func (m *Masker) add(p pattern) {
	head := binary.LittleEndian.Uint64([]byte(p.text[:Shortest]))
	m.byHead[head] = append(m.byHead[head], p)
	for n := 1; n < Shortest; n++ {
		m.heads[p.text[:n]] = true
	}
	for at := 0; at+gram <= Shortest; at++ {
		slot := &m.shift[hash(binary.LittleEndian.Uint32([]byte(p.text[at:at+gram])))]
		*slot = min(*slot, uint8(Shortest-gram-at))
	}
}

// next returns the position of the first match at or after from, and its pattern. If there is none,
// at is where a match may begin that text only has the start of; with more, text that has only the
// start of a match of a longer pattern counts as none, because the rest may still come.
func (m *Masker) next(text []byte, from int, more bool) (at int, found pattern, ok bool) {
	i := from
	for i+Shortest <= len(text) {
		if skip := m.shift[hash(binary.LittleEndian.Uint32(text[i+Shortest-gram:]))]; skip > 0 {
			i += int(skip)
			continue
		}
		for _, p := range m.byHead[binary.LittleEndian.Uint64(text[i:])] {
			switch rest := text[i:]; {
			case len(rest) >= len(p.text) && string(rest[:len(p.text)]) == p.text:
				return i, p, true
			case more && len(rest) < len(p.text) && p.text[:len(rest)] == string(rest):
				return i, p, false
			}
		}
		i++
	}
	for i = min(i, len(text)); more && i < len(text); i++ {
		if m.heads[string(text[i:])] {
			return i, pattern{}, false
		}
	}
	return len(text), pattern{}, false
}

// appendMasked appends text to out, masked. It returns how many bytes of text it took; all of them,
// unless there is more to come.
func (m *Masker) appendMasked(out, text []byte, more bool) ([]byte, int) {
	done := 0
	for {
		at, found, ok := m.next(text, done, more)
		out = append(out, text[done:at]...)
		if !ok {
			return out, at
		}
		if len(out) > 0 && out[len(out)-1] == '\\' { // the first byte may belong to an escape, as in \n
			out = append(out, text[at])
		}
		out = append(out, found.mask...)
		done = at + len(found.text)
	}
}

// Bytes returns text with its secrets masked, or text itself if it has none.
func (m *Masker) Bytes(text []byte) []byte {
	if !m.finds(text) {
		return text
	}
	masked, _ := m.appendMasked(nil, text, false)
	return masked
}

func (m *Masker) finds(text []byte) bool {
	if m == nil {
		return false
	}
	_, _, found := m.next(text, 0, false)
	return found
}

// String returns text with its secrets masked.
func (m *Masker) String(text string) string {
	if m == nil || len(text) < Shortest {
		return text
	}
	return string(m.Bytes([]byte(text)))
}

// Reveal returns a text whose secrets String masked, with these secrets. That is the original text, unless
// it has a mask of its own or a secret after a backslash; Restores tells.
func (m *Masker) Reveal(text string) string {
	if m == nil || !HasMask(text) {
		return text
	}
	return strings.NewReplacer(m.masks...).Replace(text)
}

// Restores reports whether Reveal returns this text after String.
func (m *Masker) Restores(text string) bool { return m.Reveal(m.String(text)) == text }
