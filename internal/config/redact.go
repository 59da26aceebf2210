package config

import (
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// redacted stands where a secret stood.
const redacted = "***"

// secretName reports whether something so called is likely a secret. It looks at whole words: a key is one, a keyboard is not.
func secretName(name string) bool {
	for _, word := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("_-.:", r) }) {
		switch word {
		case "key",
			"apikey",
			"token",
			"authtoken",
			"secret",
			"password",
			"passwd",
			"pass",
			"pw",
			"credential",
			"credentials",
			"auth":
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

// redact takes secrets out of a value that is to be shown: the login part of a URL, what is assigned to a name that sounds like a secret, what
// follows an option so called, and the shapes of well-known keys.
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
		if !secretName(name) || strings.TrimSpace(sign) == "" && !isOption {
			continue
		}
		// What begins with a dash is the next option, what begins with a dollar only names the secret.
		if value := firstWord(text); value != "" && !strings.HasPrefix(value, "-") && !strings.HasPrefix(value, "$") {
			out.WriteString(redacted)
			text = text[len(value):]
		}
	}
}

// firstWord is a quoted text, or all up to the next blank or quote. A quotation mark without an end quotes the rest.
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
