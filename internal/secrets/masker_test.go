package secrets_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/internal/secrets"
)

const token = "tk/9f+3\"a<é>7c_Q0z"

func TestEveryFormIsMasked(t *testing.T) {
	m := secrets.New([]secrets.Secret{{Label: "MY_TOKEN", Value: token}})
	quoted, err := json.Marshal("x" + token)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(quoted))
	if err != nil {
		t.Fatal(err)
	}
	pairs, digits := regexp.MustCompile(".."), hex.EncodeToString([]byte(token))
	texts := map[string]string{
		"plain":           token,
		"JSON":            string(quoted),
		"JSON in ASCII":   `tk/9f+3\"a<\u00e9>7c_Q0z`,
		"JSON with \\/":   `tk\/9f+3\"a<é>7c_Q0z`,
		"query":           url.QueryEscape(token),
		"path":            url.PathEscape(token),
		"hex":             hex.EncodeToString([]byte(token)),
		"upper hex":       strings.ToUpper(hex.EncodeToString([]byte(token))),
		"lower percent":   strings.ToLower(url.QueryEscape("/+")) + url.QueryEscape(token),
		"base64":          base64.StdEncoding.EncodeToString([]byte(token)),
		"base64, after 1": base64.StdEncoding.EncodeToString([]byte("a" + token + "zz")),
		"base64, after 2": base64.StdEncoding.EncodeToString([]byte("ab" + token + "z")),
		"URL, after 3":    base64.URLEncoding.EncodeToString([]byte("abc" + token)),
		"URL, after 4":    base64.URLEncoding.EncodeToString([]byte("abcd" + token)),
		"URL, after 5":    base64.RawURLEncoding.EncodeToString([]byte("abcde" + token)),
		"percent but /":   strings.ReplaceAll(url.QueryEscape(token), "%2F", "/"),
		"hex with colons": strings.Trim(pairs.ReplaceAllString(digits, "$0:"), ":"),
		"every % byte":    strings.ToUpper(pairs.ReplaceAllString(digits, "%$0")),
		"JSON in JSON":    string(twice),
	}
	for name, text := range texts {
		got := m.String("before " + text + " after")
		if !strings.HasPrefix(got, "before ") || !strings.Contains(got, "[masked:MY_TOKEN") ||
			!strings.HasSuffix(got, " after") {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
}

func TestASecretSplitOverWritesIsMasked(t *testing.T) {
	m := secrets.New([]secrets.Secret{{"A", "first-secret-1"}, {"B", "first-secret-1-and-more"}})
	text := "x first-secret-1 y first-secret-1-and-more z first-secret-1-and-mo first-secr"
	want := "x [masked:A] y [masked:B] z [masked:A]-and-mo first-secr"
	for first := range len(text) {
		for second := first; second < len(text); second++ {
			var out bytes.Buffer
			w := m.Writer(&out)
			for _, part := range []string{text[:first], text[first:second], text[second:]} {
				if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != want {
				t.Fatalf("split at %d and %d: %q", first, second, got)
			}
		}
	}
}

func TestOnlyABeginningOfASecretIsKeptBack(t *testing.T) {
	m := secrets.New([]secrets.Secret{{"A", "first-secret-1"}})
	var out bytes.Buffer
	w := m.Writer(&out)
	for _, step := range [][2]string{
		{"Continue? [y/N] ", "Continue? [y/N] "}, {"fi", ""}, {"ne", "fine"}, {"a first-sec", "a "},
	} {
		out.Reset()
		if _, err := w.Write([]byte(step[0])); err != nil || out.String() != step[1] {
			t.Errorf("after %q: passed on %q, error %v", step[0], out.String(), err)
		}
	}
}

func TestTheLinesOfAKeyAreMasked(t *testing.T) {
	body := "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n" +
		"MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\n"
	key := "-----BEGIN PRIVATE KEY-----\n" + body + "-----END PRIVATE KEY-----\n"
	m := secrets.New([]secrets.Secret{{"key.pem", key}})
	if got := m.String(key); got != strings.Replace(key, body, "[masked:key.pem]\n[masked:key.pem#2]\n", 1) {
		t.Errorf("plain: %q", got)
	}
	quoted, _ := json.Marshal(key)
	if got := m.String(string(quoted)); !json.Valid([]byte(got)) || strings.Count(got, "[masked:key.pem") != 2 {
		t.Errorf("JSON: %q", got)
	}
}

func TestALongSecretInLinesOfBase64IsMasked(t *testing.T) {
	long := strings.Repeat("0aB1cD2eF3gH4", 20)
	m := secrets.New([]secrets.Secret{{"LONG", long}})
	text := base64.StdEncoding.EncodeToString([]byte(long))
	for _, width := range []int{64, 76} {
		var lines []string
		for rest := text; rest != ""; rest = rest[min(width, len(rest)):] {
			lines = append(lines, rest[:min(width, len(rest))])
		}
		if got := m.String(strings.Join(lines, "\n")); strings.Count(got, "[masked:LONG#") != len(lines) {
			t.Errorf("lines of %d: %q", width, got)
		}
	}
}

func TestAnEscapeBeforeASecretStaysWhole(t *testing.T) {
	m := secrets.New([]secrets.Secret{{"N", "never-say-this"}})
	got := m.String(`{"text":"a\never-say-this"}`)
	if got != `{"text":"a\n[masked:N]"}` {
		t.Errorf("got %s", got)
	}
}

func TestRevealUndoesString(t *testing.T) {
	m := secrets.New([]secrets.Secret{{"A", "first-secret-1"}, {".env:3", "other_secret_2"}})
	text := "curl -H 'X: first-secret-1' other_secret_2"
	if masked := m.String(text); strings.Contains(masked, "secret") || m.Reveal(masked) != text {
		t.Errorf("masked %q, revealed %q", masked, m.Reveal(masked))
	}
}

// Every form, and every value of a variable, had the same mask, and Reveal put the first value in its place.
func TestB15RevealRestoresTheTextThatWasMasked(t *testing.T) {
	m := secrets.New([]secrets.Secret{
		{"URL", token}, {"URL", "second-secret-2"}, {"TOKEN", "second-secret-2"}, {"KEY", "line-one-1\nline-two-2\n"},
	})
	for _, command := range []string{
		"curl -u " + token + ":second-secret-2",
		"auth " + base64.StdEncoding.EncodeToString([]byte("user:"+token)),
		"auth " + base64.StdEncoding.EncodeToString([]byte("second-secret-2")),
		"get https://host/?q=" + url.QueryEscape(token) + "&h=" + hex.EncodeToString([]byte("second-secret-2")),
		"printf line-two-2 line-one-1",
	} {
		masked := m.String(command)
		if masked == command || m.Reveal(masked) != command || !m.Restores(command) {
			t.Errorf("%q was masked as %q and restored as %q", command, masked, m.Reveal(masked))
		}
	}
	for _, command := range []string{"echo [masked:URL]", `printf '\second-secret-2'`} {
		if m.Restores(command) {
			t.Errorf("%q counts as restored, but becomes %q", command, m.Reveal(m.String(command)))
		}
	}
}

func TestNoSecretsNoMasker(t *testing.T) {
	m := secrets.New([]secrets.Secret{{"SHORT", "1234567"}})
	if m != nil || m.String("1234567") != "1234567" {
		t.Error("a short value is masked")
	}
}

func FuzzPiecesAreMaskedLikeTheWhole(f *testing.F) {
	f.Add("a first-secret-1\\first-secret-1", 5)
	f.Add("first-secfirst-secret-1-and", 9)
	m := secrets.New([]secrets.Secret{{"A", "first-secret-1"}, {"B", "secret-1-and"}, {"C", "aaaaaaaab"}})
	f.Fuzz(func(t *testing.T, text string, at int) {
		at = max(0, min(at, len(text)))
		var out bytes.Buffer
		w := m.Writer(&out)
		_, _ = w.Write([]byte(text[:at]))
		_, _ = w.Write([]byte(text[at:]))
		_ = w.Close()
		if want := m.String(text); out.String() != want {
			t.Errorf("in pieces %q, whole %q", out.String(), want)
		}
	})
}

func BenchmarkMasking(b *testing.B) {
	text := bytes.Repeat([]byte("ok  	github.com/ralphloop/ralph/judge	0.412s {\"type\":\"text\"}\n"), 1<<20/64)
	var many []secrets.Secret
	for i := range 40 {
		many = append(many, secrets.Secret{Label: "S", Value: strings.Repeat(string(rune('A'+i)), 3) + token})
	}
	for name, m := range map[string]*secrets.Masker{
		"none": nil, "one": secrets.New(many[:1]), "forty": secrets.New(many),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var w = m.Writer(discard{})
				for rest := text; len(rest) > 0; rest = rest[min(32<<10, len(rest)):] {
					_, _ = w.Write(rest[:min(32<<10, len(rest))])
				}
			}
		})
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
