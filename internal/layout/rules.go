package layout

import "math"

const module = "github.com/ralphloop/ralph"

// limits are hard limits on sizes.
type limits struct{ file, function, parameters int }

var (
	wall = limits{file: 600, function: 80, parameters: 5}
	// usual is the size that most of the code stays below. Parameters have no softer limit.
	usual = limits{file: 400, function: 40, parameters: math.MaxInt}
)

const (
	mainLimit = 15

	whyFile       = "a file this long has more than one subject; move one of them into its own file"
	whyFunction   = "a function should fit on one screen; split it into named steps"
	whyParameters = "the order of more than five parameters is hard to remember; use a struct"
	whyMain       = "a main hands its arguments and streams to internal/cli, where they can be tested"
	whyName       = "the name says nothing about the content; keep a helper beside its only user, " +
		"and give it a package when there is a second one"
	whyUnknown = "add a row for every room to internal/layout/rules.go and a sentence to docs/decisions"
	whyFold    = "a case-folding expression is slow on every byte an agent prints; fold once, then compare"
)

// emptyNames are package names that could hold anything, and so end up holding everything.
var emptyNames = []string{"util", "utils", "common", "helper", "helpers", "types", "manager", "misc"}

// The groups of packages, from left to right, as in docs/decisions/0002-packages.md.
var (
	root   = []string{"."} // the vocabulary
	core   = []string{".", "judge", "fold", "loop"}
	leaves = []string{
		"promise", "model", "internal/process", "internal/atomicfile", "internal/diskuse", "internal/text",
		"internal/textfile", "internal/shell", "sandbox", "internal/secrets",
	}
	pureLeaves = []string{"promise", "internal/text", "internal/secrets"} // no clock, no I/O
	proof      = []string{"internal/proof"}
	adapters   = []string{"agent", "verify", "gitrepo", "runlog", "plan", "worker"}
	views      = []string{"internal/term", "internal/notify", "internal/progress", "internal/report"}
	parts      = []string{"internal/hooks", "internal/worker"} // parts of the worker
)

// direction says which of our packages the packages of one row may import, in addition to their own
// subfolders.
type direction struct {
	rooms  []string
	may    []string
	reason string
}

var directions = []direction{
	{leaves, nil, "a leaf imports nothing of ours, so that it can be understood, tested and reused alone"},
	{root, leaves, "the vocabulary knows leaves; everything else knows the vocabulary"},
	{[]string{"judge"}, join(root, pureLeaves),
		"a verdict is a function of policy and history, and needs nothing but their words"},
	{[]string{"fold"}, join(root, pureLeaves, []string{"judge"}),
		"the state of a run is a fold of its events, with the verdicts of judge"},
	{[]string{"internal/prompt"}, join(root, leaves),
		"a prompt is a text about what is known of a run, and needs nothing but the vocabulary"},
	{[]string{"internal/signals"}, join(root, leaves, parts),
		"what carries an agent's calls knows the vocabulary; its tools have the form of the worker's"},
	{[]string{"internal/mcp"}, []string{"internal/signals"}, "a server passes calls on and decides nothing"},
	{[]string{"internal/ownfiles"}, join(root, leaves), "files in a workspace need nothing but their names"},
	{[]string{"loop"}, join(root, leaves, []string{"judge", "fold", "internal/prompt", "internal/ownfiles"}),
		"the loop knows its own small interfaces; adapters know the vocabulary, never the other way round"},
	{[]string{"goal"}, join(root, leaves, []string{"judge"}),
		"middleware for another program's loop knows the verdict and small interfaces; adapters implement them"},
	{proof, join(root, leaves), "a part of the proof knows the vocabulary and the leaves; verify puts the parts together"},
	{parts, join(root, leaves),
		"a part of the worker knows the vocabulary and the leaves; worker puts the parts together"},
	{[]string{"verify"}, join(root, leaves, proof),
		"an adapter knows the vocabulary, the leaves and its own parts, never another adapter"},
	{[]string{"worker"}, join(root, leaves, parts),
		"an adapter knows the vocabulary, the leaves and its own parts, never another adapter"},
	{[]string{"gitrepo/internal/gittest"}, join(root, leaves, []string{"gitrepo"}),
		"a helper of tests plays the agent on a repository"},
	{[]string{"gitrepo/internal"}, join(root, leaves), "what gitrepo, snapshot and plain share knows none of them"},
	{[]string{"gitrepo/plain"}, join(root, leaves, []string{"gitrepo/internal"}),
		"a folder without git needs nothing that knows repositories"},
	{[]string{"agent", "gitrepo", "runlog", "plan"}, join(root, leaves),
		"an adapter knows the vocabulary and the leaves, never another adapter: what two of them share belongs there"},
	{views, join(root, leaves, []string{"judge", "fold", "internal/ownfiles"}),
		"a view shows events; with an adapter or the configuration in reach it would begin to decide"},
	{[]string{"internal/config"}, join(root, leaves),
		"configuration is a plain value that others are built from; it builds nothing"},
	{[]string{"internal/trust"}, join(root, []string{"internal/config"}),
		"consent covers the commands that a configuration names, and needs nothing else"},
	{[]string{"internal/awake"}, leaves, "keeping the system awake is a matter of one program, whatever the run does"},
	{[]string{"internal/containment"}, leaves, "what a wall contains depends on the machine, whatever the run does"},
	{[]string{"internal/hostile"}, join(leaves, []string{"internal/containment"}),
		"an attacker needs a wall and nothing of the run behind it"},
	{[]string{"internal/dockertest"}, []string{"internal/containment"}, "a test's engine needs the name of the image"},
	{[]string{"internal/needs"}, nil, "whether a program is installed concerns tests alone"},
	{[]string{"internal/project"}, leaves, "what a project's files say about its checks holds with or without a run"},
	{[]string{"internal/scriptedmodel"}, nil,
		"a scripted model knows wire formats and nothing of ours, so that clients cannot notice a difference"},
	{[]string{"internal/probe"}, join(root, leaves, []string{"agent", "internal/scriptedmodel"}),
		"a probe is one agent run against a scripted model; what it means for a run is the doctor's matter"},
	{[]string{"internal/workspace"},
		join(root, leaves, proof, []string{"gitrepo", "internal/config", "internal/ownfiles", "internal/trust"}),
		"the folder that a run works on, with its snapshots and worktrees, is there before and after the run"},
	{[]string{"internal/models"}, join(leaves, []string{"internal/config"}),
		"which model plays which role is decided by settings alone"},
	{[]string{"internal/assembly"},
		join(core, leaves, proof, parts, adapters, []string{
			"internal/config", "internal/project", "internal/workspace", "internal/models", "internal/prompt",
			"internal/ownfiles", "internal/signals",
			"internal/containment",
		}),
		"assembly builds a loop for its callers; the command line is one of them"},
	{[]string{"internal/setup"},
		join(leaves, []string{
			"plan", "internal/config", "internal/project", "internal/workspace", "internal/ownfiles", "internal/prompt",
		}),
		"a set-up looks at files and writes files; it builds no loop"},
	{[]string{"internal/install"}, leaves,
		"Ralph's entries in the settings of an agent CLI are files, whatever a run does"},
	{[]string{"internal/doctor"},
		join(leaves, []string{
			"agent", "internal/config", "internal/workspace", "internal/models", "internal/probe", "internal/setup",
			"internal/assembly", "internal/awake", "internal/install",
			"internal/containment",
		}),
		"the doctor reports what a run would use, which assembly knows; it builds no loop"},
	{[]string{"internal/cleanup"},
		join(root, leaves, proof, []string{
			"fold", "runlog", "internal/config", "internal/workspace", "internal/containment",
		}),
		"what runs left on the disk is in their records and in the workspace; it is removed without a loop"},
	{[]string{"internal/planner"},
		join(root, leaves, parts, []string{
			"plan", "internal/config", "internal/project", "internal/models", "internal/assembly",
		}),
		"a planner writes the list that a run works through; it asks assembly what that run would use"},
	{[]string{"internal/reverify"}, join(core, []string{"verify", "internal/config", "internal/assembly"}),
		"checks are run again with what assembly builds for a run"},
	{[]string{"internal/takeover"}, join(leaves, []string{"agent", "internal/config"}),
		"a conversation is opened with the CLI's own command; the record says which one"},
	{[]string{"internal/login"}, join(leaves, []string{"agent", "internal/config", "internal/assembly"}),
		"the login is that of the agent that a run would start, which assembly knows"},
	{[]string{"internal/demo"}, join(root, leaves),
		"the demo is a sample project and a scripted agent; the loop that works on it is the real one, built by assembly"},
	{[]string{"internal/cli"},
		join(core, leaves, views,
			[]string{"runlog", "internal/config", "internal/trust", "internal/demo", "internal/project", "internal/workspace",
				"internal/assembly", "internal/awake", "internal/cleanup",
				"internal/setup", "internal/doctor", "internal/install",
				"internal/login", "internal/models", "internal/planner", "internal/reverify",
				"internal/scriptedmodel", "internal/takeover",
				"internal/signals", "internal/mcp", "internal/containment", "internal/hostile"}),
		"only assembly knows every adapter; of them the command line reads the log and nothing else"},
	{[]string{"cmd"}, []string{"internal/cli"}, whyMain},
	{[]string{"examples"}, join(core, []string{"promise", "model", "goal"}, adapters),
		"an example shows what a user can import"},
	{[]string{"internal/layout", "internal/contract"}, nil, "what checks the code must not depend on it; its tests may"},
}

// pureRooms decide and fold: the same input gives the same output, on every machine and at any
// time.
var pureRooms = []string{"judge", "fold"}

// impure are packages that a pure package must not import, and functions of others that it must not
// call.
var (
	impureImports = []string{
		"os", "os/exec", "net", "net/http", "io/fs", "context", "math/rand", "math/rand/v2", "crypto/rand", "syscall",
	}
	impureCalls = map[string][]string{
		"time": {"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"},
	}
	whyPure = "a verdict that depends on a clock, a file or chance cannot be replayed from a log"
)

// hotRooms process every byte that an agent prints.
var hotRooms = []string{"promise", "internal/process", "agent"}

func join(groups ...[]string) []string {
	var all []string
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}
