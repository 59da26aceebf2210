package install

import "errors"

// State says whether Ralph is installed in a place.
type State string

// The states of an install.
const (
	Current  State = "current"
	Outdated State = "outdated" // another version's, or a part of it is missing
	Absent   State = "absent"
	Plugin   State = "plugin" // installed as a plugin of the CLI
	Unclear  State = "unclear"
)

// Status compares what is installed with what this program would install. The error says why the state is unclear.
func (p Place) Status() (State, error) {
	plan, err := p.Install()
	if p.Program != "" && err == nil && len(plan.Changes) > 0 {
		fromPath := p
		fromPath.Program = ""
		plan, err = fromPath.Install()
	}
	switch {
	case errors.Is(err, ErrPlugin):
		return Plugin, nil
	case err != nil:
		return Unclear, err
	case len(plan.Changes) == 0:
		return Current, nil
	}
	installed, err := p.Uninstall()
	switch {
	case err != nil:
		return Unclear, err
	case len(installed.Changes) == 0:
		return Absent, nil
	}
	return Outdated, nil
}
