package sandbox

// encloseSbx runs the command in a microVM of Docker Sandboxes that exists already. Its engine decides
// what it can reach: the folders that it was created with, at the same paths, and the network that its
// policy allows. A program is looked up there by its bare name, unless it is in the working folder.
func encloseSbx(c Command, w Wall) Command {
	argv := []string{"sbx", "exec", "--interactive"}
	var visible []Rule
	if c.Dir != "" {
		argv = append(argv, "--workdir", c.Dir)
		visible = []Rule{{Path: c.Dir, Access: Write}}
	}
	argv = append(argv, passed(c.Env, "PATH", "HOME", "TMPDIR", "SHELL")...)
	argv = append(argv, w.Box.Name, inImage(c.Argv[0], visible))
	return Command{Argv: append(argv, c.Argv[1:]...), Dir: c.Dir, Env: c.Env}
}
