package canary

import "github.com/ralphloop/ralph/internal/text"

var (
	docLine       = text.LazyRegexp(`\(line \d+\)`)
	unstableParts = text.LazyRegexp(`0x[0-9a-fA-F]{4,}` +
		`|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}` +
		`|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?` +
		`|/(?:tmp|var/folders|private/var|private/tmp|home|Users|root)(?:/[\w.@+-]+)+/?|[A-Z]:\\[\w.\\@+-]+` +
		`|\b[0-9a-f]*\d[0-9a-f]{7,}\b` +
		`|(?:127\.0\.0\.1|localhost|\[::1\]):\d+`)
)

// stableName replaces what differs between runs in a test's name: addresses, folders, times, long
// numbers. changed is true if there was any. The line of a doc test is replaced, too, but does not
// count as a change.
func stableName(name string) (text string, changed bool) {
	name = docLine().ReplaceAllString(name, "(line _)")
	text = unstableParts().ReplaceAllString(name, "_")
	return text, text != name
}
