package sandbox

import "strings"

// encloseSbx runs the command in a microVM of Docker Sandboxes that exists already. Its engine decides
// what it can reach: the workspace, at the same path, and the network that its policy allows.
func encloseSbx(c Command, w Wall) Command {
	argv := []string{"sbx", "exec", "--interactive"}
	if c.Dir != "" {
		argv = append(argv, "--workdir", c.Dir)
	}
	var client []string
	for _, entry := range c.Env {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case "PATH", "HOME", "TMPDIR": // the microVM has its own
			client = append(client, entry)
		default:
			argv = append(argv, "--env", name)
			client = append(client, entry)
		}
	}
	argv = append(argv, w.Box.Name, inImage(c.Argv[0], nil))
	return Command{Argv: append(argv, c.Argv[1:]...), Dir: c.Dir, Env: client}
}
