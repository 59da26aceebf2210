package config

import "github.com/ralphloop/ralph"

// ParseLength reads a length of time as flags write it: 90s, 10m, 2h, or a bare number of seconds.
func ParseLength(text string) (ralph.Span, error) {
	value, p := Key{Kind: Length, Max: billion}.read(one(text))
	if p != nil {
		return 0, p.from("length")
	}
	return value.(ralph.Span), nil
}
