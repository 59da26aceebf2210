package cli

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
)

// sessionMarks are the variables that Claude Code and Codex add to the environment of their commands, and by which
// Ralph knows the session.
var sessionMarks = append([]string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"}, sessionVariables...)

// ownPlaces are the variables that say where Ralph's state and the user's configuration are. No CLI changes them for
// its commands.
var ownPlaces = []string{"HOME", "RALPH_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}

// environInside returns the environment of the session's own process for a goal that its agent sets: the agent chooses
// the variables of a command that it calls, such as PATH, and checks get them. Where that process is not known, it
// returns the environment as it is.
func environInside(env config.Env, agent string, line []process.Ancestor) (config.Env, error) {
	program, ok := knownProgram(line)
	if !ok {
		return env, nil
	}
	environ, known := process.Environ(program.PID)
	if !known {
		return env, nil
	}
	theirs := config.NewEnv(environ)
	for _, name := range ownPlaces {
		own, isSet := env.Lookup(name)
		if value, alsoSet := theirs.Lookup(name); own != value || isSet != alsoSet {
			return env, usage("%s is not that of the session: ralph goal was called inside a session of %s, where a goal has "+
				"the environment in which the session was started; leave the variable as it is, or let a person set the goal, in "+
				"a terminal outside of the session", name, agent)
		}
	}
	for _, name := range sessionMarks {
		environ = slices.DeleteFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
		if value, isSet := env.Lookup(name); isSet {
			environ = append(environ, name+"="+value)
		}
	}
	env.Environ = config.NewEnv(environ).Environ
	return env, nil
}
