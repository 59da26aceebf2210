package assembly

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/sandbox"
	"github.com/ralphloop/ralph/verify"
)

// openRows returns the results of checks that the run shares with others in the workspace; nil if an agent could reach
// them, or the user wants none. Then it also removes those of the last run.
func openRows(p *Plan, places Places, w watchingExaminer) (*verify.Rows, error) {
	if places.Rows == "" {
		return nil, nil
	}
	if !hidesState(p) || p.Settings.Checks.Reuse == "off" {
		return nil, verify.RemoveRows(places.LastRows)
	}
	setting, err := checkSetting(p, w)
	if err != nil {
		return nil, err
	}
	last := places.LastRows
	if p.Resumed { // its baseline is in its log
		last = ""
	}
	return verify.OpenRows(verify.RowsConfig{
		Run: p.run, File: places.Rows, Version: p.Version, Setting: setting,
	}, last, places.RowsSum), nil
}

// hidesState reports whether no agent of the run, and no check, can reach the state folder.
func hidesState(p *Plan) bool {
	if !p.Walls.hidesFromChecks {
		return false
	}
	switch p.Walls.tier {
	case sandbox.Bwrap, sandbox.Docker, sandbox.Sbx:
		return true
	case sandbox.Landlock: // it hides nothing inside of a folder that an agent can change
		return !slices.ContainsFunc(everyAgent(p), func(c *chosenAgent) bool {
			return p.Walls.tier.Check(placeOf(p, *c).Wall()) != nil
		})
	}
	return false
}

// shellVariables are those in which a shell notes what it did last. They differ from run to run.
var shellVariables = []string{"_", "OLDPWD", "PWD", "SHLVL"}

// checkSetting identifies everything beside the tree that decides how checks end, as far as Ralph knows it.
func checkSetting(p *Plan, w watchingExaminer) (string, error) {
	around, err := w.Surroundings.Identity()
	if err != nil {
		return "", fmt.Errorf("identify configuration files outside the workspace: %w", err)
	}
	env := slices.DeleteFunc(p.checkEnv(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(shellVariables, name)
	})
	slices.Sort(env)
	var walls []any
	if p.Settings.Sandbox.Checks != "off" {
		walls = []any{p.Walls.tier, p.Settings.Sandbox}
	}
	text, err := json.Marshal([]any{
		p.Workspace.Dir, env, p.Settings.Checks, walls, w.hidden, w.programs.Identity(), around,
	})
	if err != nil {
		return "", fmt.Errorf("identify settings of checks: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text)), nil
}
