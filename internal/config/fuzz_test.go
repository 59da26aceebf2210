package config

import (
	"errors"
	"strings"
	"testing"
)

// FuzzFile reads anything as a config file: it is accepted, or refused in one line.
func FuzzFile(f *testing.F) {
	for _, text := range badFiles {
		if len(text) < 1000 {
			f.Add(text)
		}
	}
	for _, text := range []string{
		"", "max_iterations: 3\n", "checks:\n  commands: [a, b]\n  timeout: 5m\n", "a: &a [*a, *a]", "\ufeffchecks: |\n  x\n",
		"? a\n: b\n", "!!map {a: b}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseFile("config.yaml", []byte(text), LayerProject)
		var usage *UsageError
		if err != nil && (!errors.As(err, &usage) || strings.Contains(usage.Error(), "\n")) {
			t.Errorf("not a usage error on one line: %q", err)
		}
		var settings Settings
		for _, e := range l {
			e.key.store(&settings, e.value) // panics if a value is not of its key's kind
		}
	})
}

// FuzzValue sets every key to any text.
func FuzzValue(f *testing.F) {
	for _, text := range []string{
		"", "0", "-1", "1e9", "5m", "NaN", "true", "COMPLETE\nDONE", "9223372036854775808", "\x00", "1h1h1h", ".", "+5",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, key := range Keys() {
			value, p := key.read(splitValue(key, text))
			if p != nil {
				continue
			}
			var settings Settings
			key.store(&settings, value)
			if key.Kind == List {
				continue
			}
			shown := format(key.field(&settings))
			if again, p := key.read(oneItem(shown)); p != nil || again != value {
				t.Errorf("%s: %q is shown as %q, which is %v %v", key.Name, text, shown, again, p)
			}
		}
	})
}

// FuzzRedact must end, and must not grow the text without bound.
func FuzzRedact(f *testing.F) {
	for _, text := range []string{"TOKEN=x", "https://a:b@c", "--token a --key b", "key: key: key:", "Bearer Bearer x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := redact(text); len(got) > 4*len(text)+16 {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	})
}
