package config

import (
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// redacted replaces a secret.
const redacted = "***"

// isSecretName reports whether a name likely belongs to a secret. It compares whole words: "key"
// matches, "keyboard" does not.
func isSecretName(name string) bool {
	isSeparator := func(r rune) bool { return strings.ContainsRune("_-.:", r) }
	for _, word := range strings.FieldsFunc(strings.ToLower(name), isSeparator) {
		switch word {
		case "key", "apikey", "token", "authtoken", "auth", "secret",
			"password", "passwd", "pass", "pw", "credential", "credentials":
			return true
		}
	}
	return false
}

var (
	urlLogin   = text.LazyRegexp(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s'"@]+@`)
	assignment = text.LazyRegexp(`([A-Za-z_][A-Za-z0-9_.-]*)(=|: *|\s+)`)
	bearer     = text.LazyRegexp(`([Bb]earer|[Bb]asic) +[^\s'"]+`)
	knownShape = text.LazyRegexp(`\b(sk-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abp]-|AKIA)[A-Za-z0-9_-]{8,}`)
)

// redact removes secrets from a value before it is shown: the login part of a URL, a value assigned
// to a name that sounds like a secret, the value of an option with such a name, and strings in the
// form of well-known keys.
func redact(text string) string {
	text = urlLogin().ReplaceAllString(text, "${1}"+redacted+"@")
	text = knownShape().ReplaceAllString(text, redacted)
	text = bearer().ReplaceAllString(text, "${1} "+redacted)
	var out strings.Builder
	for {
		found := assignment().FindStringSubmatchIndex(text)
		if found == nil {
			return out.String() + text
		}
		name, sign := text[found[2]:found[3]], text[found[4]:found[5]]
		isOption := strings.HasSuffix(text[:found[2]], "--")
		out.WriteString(text[:found[1]])
		text = text[found[1]:]
		if !isSecretName(name) || strings.TrimSpace(sign) == "" && !isOption {
			continue
		}
		// A word with a dash is the next option. One with a dollar sign only names the secret.
		if value := firstWord(text); value != "" && !strings.HasPrefix(value, "-") && !strings.HasPrefix(value, "$") {
			out.WriteString(redacted)
			text = text[len(value):]
		}
	}
}

// firstWord returns a quoted text, or everything up to the next blank or quote. An unclosed quote
// includes the rest of the text.
func firstWord(text string) string {
	if text == "" || text[0] != '\'' && text[0] != '"' {
		end := strings.IndexAny(text, " \t\r\n'\"")
		if end < 0 {
			return text
		}
		return text[:end]
	}
	end := strings.IndexByte(text[1:], text[0])
	if end < 0 {
		return text
	}
	return text[:end+2]
}
