package sandbox

import "strings"

// encloseSeatbelt writes a profile for sandbox-exec. The last rule that matches decides there, so
// parents come first. It was never tried on macOS.
func encloseSeatbelt(c Command, w Wall) Command {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n(deny file-write*)\n")
	b.WriteString(`(allow file-write* (literal "/dev/null") (literal "/dev/zero") (regex #"^/dev/tty"))` + "\n")
	for _, r := range w.Rules {
		path := `(subpath "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(r.Path) + `")`
		switch {
		case r.Access == Link: // nothing hides links
		case r.From != "" && r.Access == Read:
			b.WriteString("(deny file-write* " + path + ")\n")
		case r.From != "":
			from := `(subpath "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(r.From) + `")`
			b.WriteString("(allow file-read* file-write* " + from + ")\n")
			c.Env = append(c.Env[:len(c.Env):len(c.Env)], "TMPDIR="+r.From)
		case r.Access == Hide:
			b.WriteString("(deny file-read-data file-write* " + path + ")\n")
		case r.Access == Read:
			b.WriteString("(allow file-read* " + path + ")\n(deny file-write* " + path + ")\n")
		case r.Access == Write:
			b.WriteString("(allow file-read* file-write* " + path + ")\n")
		}
	}
	if w.Network == Off {
		b.WriteString(`(deny network*)` + "\n" + `(allow network* (local ip "localhost:*") (remote ip "localhost:*"))` + "\n")
	}
	c.Argv = append([]string{"sandbox-exec", "-p", b.String(), "--"}, c.Argv...)
	return c
}
