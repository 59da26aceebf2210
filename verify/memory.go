package verify

import (
	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/canary"
)

// memory holds runs of checks that need not be repeated. It is lost with the process, because an agent could forge what
// is kept in a file.
type memory struct {
	runs      map[runKey]namedRun // of one iteration
	iteration int
	before    map[runKey]canary.Outcome // before any agent worked
	today     map[runKey]canary.Outcome // with planted tests at the base, for quick proofs
	caches    map[string]keptCache      // what the baseline compiled, by name
}

// runKey identifies a run: the same command on the same files in the same iteration.
type runKey struct {
	kind      ralph.ViewKind
	base, now string
	access    ralph.Access
	command   string
	iteration int
	answer    string
}

func keyOf(in ralph.ViewInput, check ralph.CheckInput) runKey {
	return runKey{in.Kind, in.Base.Snapshot, in.Now.Snapshot, in.Access, command(check), in.Iteration, answerIn(in)}
}

// keep keeps a run for the rest of its iteration, and one from before any agent worked for good.
func (m *memory) keep(key runKey, run namedRun) {
	if m.runs == nil || m.iteration != key.iteration {
		m.runs, m.iteration = map[runKey]namedRun{}, key.iteration
	}
	m.runs[key] = run
	if key.iteration == 0 {
		if m.before == nil {
			m.before = map[runKey]canary.Outcome{}
		}
		m.before[key] = run.outcome
	}
}

// beforeAgent returns how a check ended before any agent worked. The log does not name the tests of hidden checks.
func (m *memory) beforeAgent(in ralph.ViewInput, check ralph.CheckInput) canary.Outcome {
	result := *in.Then
	in.Iteration, in.Base, in.Now, in.Answer = 0, in.First, in.First, nil
	if in.Kind != ralph.ViewHidden {
		in.Kind = ralph.ViewClaimed
	}
	if known, ok := m.before[keyOf(in, check)]; ok && known.Red == (canary.ExitOf(result) != 0) {
		return known
	}
	return canary.OutcomeOf(result)
}

// keepToday keeps how a check reacts to planted tests at the base.
func (m *memory) keepToday(key runKey, outcome canary.Outcome) {
	if m.today == nil {
		m.today = map[runKey]canary.Outcome{}
	}
	m.today[key] = outcome
}
