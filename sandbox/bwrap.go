package sandbox

// encloseBwrap uses namespaces for processes, messages and mounts. The command has no capabilities, no
// terminal to type into, and dies with its parent.
func encloseBwrap(c Command, w Wall) Command {
	argv := []string{
		"bwrap", "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
		"--unshare-cgroup-try", "--cap-drop", "ALL",
	}
	if w.Network == Off {
		argv = append(argv, "--unshare-net")
	}
	argv = append(argv, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
	for _, r := range w.Rules {
		switch r.Access {
		case Link:
			argv = append(argv, "--symlink", r.From, r.Path)
		case Hide:
			argv = append(argv, "--tmpfs", r.Path)
		case Read:
			argv = append(argv, "--ro-bind", r.source(), r.Path)
		case Write:
			argv = append(argv, "--bind", r.source(), r.Path)
		}
	}
	if c.Dir != "" {
		argv = append(argv, "--chdir", c.Dir)
	}
	c.Argv = append(append(argv, "--"), c.Argv...)
	return c
}
