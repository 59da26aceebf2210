package cli

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/runlog"
)

// caller returns the agent of the live session that calls ralph goal, or "" for a person.
func (c *goalCommand) caller(store *runlog.Store) (string, error) {
	goal, _, err := liveGoal(store)
	return sessionAgent(c.streams.Env, c.streams.ancestors(), goal.Session), err
}

// refuseChosen refuses to let the agent of a session choose what proves its own work.
func (c *goalCommand) refuseChosen(agent string, loaded config.Loaded) error {
	given := chosenByCaller(loaded.Origins)
	if c.globals.config != "" {
		given = append(given, "-c")
	}
	if len(given) == 0 {
		return nil
	}
	return usage("%s: ralph goal was called inside a session of %s, where a goal has the checks and gates of %s; "+
		"leave that out, or let a person set the goal, in a terminal outside of the session",
		strings.Join(given, ", "), agent, config.ProjectFile)
}

// chosenByCaller names the flags and variables of this call that say what proves the work.
func chosenByCaller(origins map[string]config.Origin) (given []string) {
	for _, key := range config.Keys() {
		group, _, isGrouped := strings.Cut(key.Name, ".")
		switch key.Name {
		case "agent.env", "allow_unverified", "completion_tag", "profile", "protect", "trust":
			isGrouped = true
			group = "gate"
		}
		if !isGrouped || !slices.Contains([]string{"checks", "evaluator", "gate", "hooks", "tests"}, group) {
			continue
		}
		switch from := origins[key.Name]; from.Layer {
		case config.LayerFlag:
			given = append(given, from.Name)
		case config.LayerSet:
			given = append(given, "--set "+key.Name)
		case config.LayerEnvironment:
			if key.Name != "trust" && key.Name != "agent.env" { // they may be the user's; trust does not count
				given = append(given, from.Name)
			}
		}
	}
	return given
}

// likeEnded refuses a goal that an agent sets after one that ended before it worked, such as for a check that it made
// fail to run, unless the same checks and gates must prove it.
func (s *session) likeEnded(line []process.Ancestor) error {
	goal, ok, err := liveGoal(s.store)
	if err != nil || !ok || s.plan.Session == "" || goal.Ended == "" || goal.Ended == ralph.StatusCompleted {
		return err
	}
	agent := sessionAgent(s.streams.Env, line, goal.Session)
	if agent == "" {
		return nil
	}
	state, err := stateOf(s.store, goal.Run)
	if err != nil {
		return fmt.Errorf("the goal of this workspace cannot be read: %w", err)
	}
	var then config.Settings
	if err := json.Unmarshal(state.Started.Settings, &then); err != nil {
		return fmt.Errorf("the settings of run %s cannot be read: %w", goal.Run, err)
	}
	now := s.plan.Settings
	then.MaxIterations, then.Trust = now.MaxIterations, now.Trust
	if slices.Equal(state.Started.Checks, s.plan.Checks) && equalSettings(then, now) {
		return nil
	}
	return usage("ralph goal was called inside a session of %s, and the last goal here (run %s) was not reached and had "+
		"other checks or settings; only a person can set this one, in a terminal outside of the session", agent, goal.Run)
}

// equalSettings compares settings as a log has them.
func equalSettings(a, b config.Settings) bool {
	one, err := json.Marshal(a)
	other, alsoErr := json.Marshal(b)
	var first, second any
	if err != nil || alsoErr != nil || json.Unmarshal(one, &first) != nil || json.Unmarshal(other, &second) != nil {
		return false
	}
	return reflect.DeepEqual(first, second)
}
