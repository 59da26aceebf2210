package sandbox

import (
	"encoding/csv"
	"path"
	"slices"
	"strconv"
	"strings"
)

// RunLabel is the label with the run's ID that a container has.
const RunLabel = "ralph.run"

// encloseDocker starts a container whose root cannot be written. It sees the paths of the rules, and
// nothing else of the host. A program is looked up in the image by its bare name. The container stays when
// it ends, so that its end can be looked at.
func encloseDocker(c Command, w Wall) Command {
	argv := []string{
		"docker", "run", "--interactive", "--pull", "never", "--name", w.Box.Name, "--label", RunLabel + "=" + w.Box.Run,
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
	argv = append(argv, passed(c.Env, "PATH", "TMPDIR", "SHELL")...)
	if c.Dir != "" {
		argv = append(argv, "--workdir", c.Dir)
	}
	argv = append(argv, w.Box.Image, inImage(c.Argv[0], w.Rules))
	return Command{Argv: append(argv, c.Argv[1:]...), Dir: c.Dir, Env: c.Env}
}

// passed returns the flags that pass variables to a container, each by its name alone: everybody can read a
// command line. Those that say where the client finds its engine, and the named ones, stay outside.
func passed(env []string, without ...string) (argv []string) {
	seen := map[string]bool{}
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !seen[name] && !strings.HasPrefix(name, "DOCKER_") && !slices.Contains(without, name) {
			seen[name] = true
			argv = append(argv, "--env", name)
		}
	}
	return argv
}

func dockerMounts(rules []Rule) (argv []string) {
	for _, r := range rules {
		folder, found := above(rules, r.Path)
		switch {
		case r.Access == Link: // an image has no use for the user's links
		case r.Access == Hide && found && folder.Access != Hide && folder.From == "": // it would be seen there
			argv = append(argv, "--mount", mount("tmpfs", "", r.Path))
		case r.Access == Hide: // it is not there
		case r.Access == Read:
			argv = append(argv, "--mount", mount("bind", r.source(), r.Path, "readonly"))
		case r.Access == Write:
			argv = append(argv, "--mount", mount("bind", r.source(), r.Path))
		}
	}
	return argv
}

// mount returns the value of docker's flag --mount, which is a record of comma-separated values.
func mount(kind, source, target string, more ...string) string {
	fields := []string{"type=" + kind}
	if source != "" {
		fields = append(fields, "source="+source)
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(slices.Concat(fields, []string{"target=" + target}, more)) // a Builder takes everything
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// inImage returns the name of a program in an image: its path if a rule shows it, else its bare name.
func inImage(program string, rules []Rule) string {
	if !path.IsAbs(program) {
		return program
	}
	shown := slices.ContainsFunc(rules, func(r Rule) bool {
		return r.Access != Hide && r.Access != Link && r.From == "" && contains(r.Path, program)
	})
	if shown {
		return program
	}
	return path.Base(program)
}
