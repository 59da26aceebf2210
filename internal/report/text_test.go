package report

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	renderer "github.com/yuin/goldmark/renderer/html"
)

func TestTextsAreCleaned(t *testing.T) {
	long := strings.Repeat("é", textLimit+1)
	for text, want := range map[string]string{
		"":                                    "",
		" a\n\tb\r\nc ":                       "a b c",
		"\x1b[31mred\x07\x00":                 "[31mred",
		"a\u202eb\u200bc\ufeffd":              "abcd",
		"bad \xff byte":                       "bad \ufffd byte",
		long:                                  strings.Repeat("é", textLimit-1) + "…",
		"line\u2028separator\u0085and others": "line separator and others",
	} {
		if got := clean(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestTextsAreEscaped(t *testing.T) {
	for text, want := range map[string][2]string{
		"plain words, 1.5 - x": {"plain words, 1.5 - x", "`plain words, 1.5 - x`"},
		"a|b":                  {"a&#124;b", "<code>a&#124;b</code>"},
		`a\|b`:                 {`a\\&#124;b`, "<code>a&#92;&#124;b</code>"},
		"`x`":                  {"\\`x\\`", "<code>&#96;x&#96;</code>"},
		"<b>":                  {`\<b\>`, "`<b>`"},
		"@root":                {"@<!-- -->root", "`@root`"},
		"http://x":             {`http\://x`, "`http://x`"},
		"www.x":                {`www\.x`, "`www.x`"},
	} {
		if got := [2]string{prose(text), code(text)}; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

var tags = regexp.MustCompile(`<[^>]*>`)

// FuzzCells puts any text into a cell: a Markdown renderer must show that text, and one row of two
// cells.
func FuzzCells(f *testing.F) {
	for _, text := range []string{
		evil, "a\\|b", "`` ` ``", "\\", "a\\", "|", "<!-- x", "-->", "&amp;", "&#124;", "![x](y)", "https://e.example",
		"a@b.example", "~~x~~", "$x$", "1. x", "# x", "- x", "<code>", "</code>", "www.a.example",
	} {
		f.Add(text)
	}
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(renderer.WithUnsafe()))
	f.Fuzz(func(t *testing.T, raw string) {
		text := clean(raw)
		for _, cell := range []string{prose(text), code(text)} {
			p := &page{}
			p.table("a", "b")
			p.row(cell, "end")
			var out bytes.Buffer
			if err := md.Convert([]byte(p.text.String()), &out); err != nil {
				t.Fatal(err)
			}
			_, body, _ := strings.Cut(out.String(), "<tbody>")
			if strings.Count(body, "<td>") != 2 || strings.Count(body, "<tr>") != 1 || strings.Contains(body, "<a ") ||
				strings.Contains(body, "<img") {
				t.Fatalf("%q became %s", text, body)
			}
			shown := html.UnescapeString(tags.ReplaceAllString(strings.TrimSuffix(strings.TrimSpace(body), "</tbody>\n</table>"),
				""))
			if got := strings.Join(strings.Fields(shown), " "); got != strings.TrimSpace(text+" end") {
				t.Fatalf("%q is shown as %q", text, got)
			}
		}
	})
}
