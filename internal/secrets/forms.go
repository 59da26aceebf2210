package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf16"
)

// wraps are the lengths of lines in which programs print long base64 and hexadecimal texts: openssl
// and PEM, base64 and MIME, xxd.
var wraps = []int{64, 76, 60}

// forms returns one line of a secret as programs print it.
func forms(line string) []string {
	found := []string{line}
	found = append(found, jsonForms(line)...)
	found = append(found, url.QueryEscape(line), url.PathEscape(line))
	found = append(found, percentForm(line, "%%%02X", unreserved), percentForm(line, "%%%02x", unreserved))
	found = append(found, binaryForms(line)...)
	return append(found, escapedForms(line)...) // last: the number of a form is part of its mask
}

// unreserved are what percent-encoding leaves as it is, beside letters and digits.
const unreserved = "-_.~"

// escapedForms returns a secret with more escapes than necessary, or twice escaped.
func escapedForms(line string) []string {
	var found []string
	for _, format := range []string{"%%%02X", "%%%02x"} {
		found = append(found, percentForm(line, format, unreserved+"/"), everyByte(line, format, ""))
	}
	for _, escape := range []string{`\u%04x`, `\u%04X`, `\x%02x`, `\%03o`} {
		found = append(found, everyByte(line, escape, ""))
	}
	for _, once := range jsonForms(line) {
		found = append(found, jsonForms(once)...)
	}
	return append(found, everyByte(line, "%02x", " "), everyByte(line, "%02X", " "), everyByte(line, "%02x", ":"),
		everyByte(line, "%02X", ":"))
}

// everyByte returns every byte of a secret in a format.
func everyByte(line, format, between string) string {
	all := make([]string, len(line))
	for i, c := range []byte(line) {
		all[i] = fmt.Sprintf(format, c)
	}
	return strings.Join(all, between)
}

// binaryForms returns a secret in base64 and hexadecimal.
func binaryForms(secret string) []string {
	var found []string
	for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		whole := alphabet.EncodeToString([]byte(secret))
		found = append(found, whole)
		found = append(found, wrapped(whole)...)
		for before := range 3 {
			found = append(found, base64Inside(alphabet, secret, before))
		}
	}
	digits := hex.EncodeToString([]byte(secret))
	for _, whole := range []string{digits, strings.ToUpper(digits)} {
		found = append(found, whole)
		found = append(found, wrapped(whole)...)
	}
	return found
}

// base64Inside returns the characters by which a secret is found in the base64 form of a longer text. They
// depend on the secret alone and on the number of bytes before it, of which only the remainder of a
// division by three matters.
func base64Inside(alphabet *base64.Encoding, secret string, before int) string {
	text := alphabet.WithPadding(base64.NoPadding).EncodeToString([]byte("\x00\x00\x00"[:before] + secret))
	first := (before*8 + 5) / 6
	end := (before + len(secret)) * 8 / 6
	return text[first:end]
}

// wrapped returns the lines of a long text, for every usual length of lines.
func wrapped(text string) []string {
	var lines []string
	for _, width := range wraps {
		for from := 0; len(text) > width && from < len(text); from += width {
			lines = append(lines, text[from:min(from+width, len(text))])
		}
	}
	return lines
}

// jsonForms returns a secret inside of a JSON string, as Go, JavaScript and Python write it.
func jsonForms(line string) []string {
	quoted, err := json.Marshal(line)
	if err != nil {
		return nil
	}
	html := string(quoted[1 : len(quoted)-1])
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(html)
	var ascii strings.Builder
	for _, r := range plain {
		switch {
		case r < 0x80:
			ascii.WriteRune(r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&ascii, `\u%04x`, unit)
			}
		}
	}
	return []string{html, plain, ascii.String(), strings.ReplaceAll(plain, "/", `\/`)}
}

// percentForm returns a secret with every byte escaped that is no letter, no digit and none of others.
func percentForm(line, format, others string) string {
	var out strings.Builder
	for _, c := range []byte(line) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(others, c) >= 0 {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, format, c)
		}
	}
	return out.String()
}
