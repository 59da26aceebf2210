package sandbox

import (
	"cmp"
	"path"
	"strconv"
	"strings"
)

// RunLabel is the label with the run's ID that a container has.
const RunLabel = "ralph.run"

// encloseDocker starts a container whose root cannot be written. It sees the paths of the rules, and
// nothing else of the host. A program is looked up in the image by its bare name.
func encloseDocker(c Command, w Wall) Command {
	argv := []string{
		"docker", "run", "--rm", "--interactive", "--name", w.Box.Name, "--label", RunLabel + "=" + w.Box.Run,
		"--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
	}
	if w.Box.Init {
		argv = append(argv, "--init")
	}
	if w.Box.User != "" {
		argv = append(argv, "--user", w.Box.User)
	}
	if w.Limits.Processes > 0 {
		argv = append(argv, "--pids-limit", strconv.Itoa(w.Limits.Processes))
	}
	if w.Limits.Memory > 0 {
		memory := strconv.FormatInt(w.Limits.Memory, 10)
		argv = append(argv, "--memory", memory, "--memory-swap", memory)
	}
	if w.Network == Off {
		argv = append(argv, "--network", "none")
	}
	argv = append(argv, dockerMounts(w.Rules)...)
	var client []string // what the docker client itself needs
	for _, entry := range c.Env {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case name == "PATH" || strings.HasPrefix(name, "DOCKER_"):
			client = append(client, entry)
		case name == "TMPDIR":
		default:
			argv = append(argv, "--env", name)
			client = append(client, entry)
		}
	}
	if c.Dir != "" {
		argv = append(argv, "--workdir", c.Dir)
	}
	argv = append(argv, w.Box.Image, inImage(c.Argv[0], w.Rules))
	return Command{Argv: append(argv, c.Argv[1:]...), Dir: c.Dir, Env: client}
}

func dockerMounts(rules []Rule) (argv []string) {
	for _, r := range rules {
		folder, found := above(rules, r.Path)
		switch {
		case r.Access == Link: // an image has no use for the user's links
		case r.From != "" && r.Access == Write:
			argv = append(argv, "--volume", r.From+":"+r.Path)
		case r.Access == Hide && found && folder.canChange():
			argv = append(argv, "--tmpfs", r.Path)
		case r.Access == Hide: // it is not there
		case r.Access == Read:
			argv = append(argv, "--volume", cmp.Or(r.From, r.Path)+":"+r.Path+":ro")
		case r.Access == Write:
			argv = append(argv, "--volume", r.Path+":"+r.Path)
		}
	}
	return argv
}

// inImage returns the name of a program in an image: its path if a rule shows it, else its bare name.
func inImage(program string, rules []Rule) string {
	if !path.IsAbs(program) {
		return program
	}
	rule, found := above(append(rules, Rule{Path: program}), program)
	if found && rule.Access != Hide && rule.From == "" {
		return program
	}
	return path.Base(program)
}
