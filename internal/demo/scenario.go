package demo

import "strings"

// Scenario is one way a run can go.
type Scenario struct {
	Name     string
	About    string // one line for the help text
	ExitCode int
	MaxCost  float64 // cost limit of the run; 0 for none
	turns    func(files project) turn
}

// turn is what the agent does in one iteration.
type turn struct {
	thinks string
	edits  string // new text of slugify.sh; "" for no edit
	says   string
	cost   float64 // simulated
}

// project is what the agent finds when an iteration starts.
type project struct {
	script string // slugify.sh
	prompt string
}

// Scenarios lists all scenarios, the default first.
func Scenarios() []Scenario {
	return []Scenario{
		{
			Name:     "complete",
			About:    "a false claim is refused, then the work is done and proven",
			ExitCode: 0,
			turns:    completeTurns,
		},
		{Name: "blocked", About: "the agent is blocked and needs a person", ExitCode: 2, turns: blockedTurns},
		{Name: "decide", About: "the agent asks for a decision", ExitCode: 3, turns: decideTurns},
		{Name: "stalled", About: "no progress, and the breaker trips", ExitCode: 12, turns: stalledTurns},
		{Name: "budget", About: "the cost limit is reached first", ExitCode: 11, MaxCost: 1, turns: budgetTurns},
	}
}

// Find returns the scenario with that name.
func Find(name string) (Scenario, bool) {
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{}, false
}

const (
	lowerCase = `#!/bin/sh
# slugify.sh TITLE: prints the title as it appears in a URL.
printf '%s\n' "$1" | tr '[:upper:]' '[:lower:]'
`
	dashes = `#!/bin/sh
# slugify.sh TITLE: prints the title as it appears in a URL.
printf '%s\n' "$1" | tr '[:upper:]' '[:lower:]' | tr -s ' ' '-'
`
	whole = `#!/bin/sh
# slugify.sh TITLE: prints the title as it appears in a URL.
printf '%s\n' "$1" | tr '[:upper:]' '[:lower:]' | tr -cd 'a-z0-9 \n' | tr -s ' ' '-'
`
)

const claim = "\n\n<promise>COMPLETE</promise>"

// completeTurns begins with the claim that most agents make: the agent says done, but the check
// fails.
func completeTurns(p project) turn {
	switch {
	case !strings.Contains(p.script, "tr "):
		return turn{
			thinks: "Slugs are lower case.",
			edits:  lowerCase,
			says:   "slugify.sh now prints lower case. Everything works." + claim,
			cost:   0.02,
		}
	case !strings.Contains(p.script, "tr -s"):
		thinks := "Words must be joined by dashes."
		if strings.Contains(p.prompt, "check_failed") {
			thinks = "The last claim was refused: words must be joined by dashes."
		}
		return turn{
			thinks: thinks,
			edits:  dashes,
			says:   "Words are joined by dashes now. Punctuation is still to be done.",
			cost:   0.02,
		}
	}
	return turn{
		thinks: "What is left is punctuation.",
		edits:  whole,
		says:   "Punctuation is dropped; check.sh passes here." + claim,
		cost:   0.02,
	}
}

func blockedTurns(p project) turn {
	return p.afterLowerCase(turn{
		thinks: "The list of reserved slugs is on a server.",
		says: "I cannot reach it.\n\n" +
			"<promise>BLOCKED:Missing credentials for the server that lists reserved slugs</promise>",
		cost: 0.02,
	})
}

func decideTurns(p project) turn {
	return p.afterLowerCase(turn{
		thinks: "README.md does not say what happens to accents.",
		says:   "Both ways are fine.\n\n<promise>DECIDE:Should \"Café\" become cafe or café?</promise>",
		cost:   0.02,
	})
}

// afterLowerCase returns a turn that does the first part of the work, and once that is done, then.
func (p project) afterLowerCase(then turn) turn {
	if !strings.Contains(p.script, "tr ") {
		return turn{thinks: "Slugs are lower case.", edits: lowerCase, says: "Lower case is done.", cost: 0.02}
	}
	return then
}

func stalledTurns(project) turn {
	return turn{
		thinks: "Let me look at everything once more.",
		says:   "I looked at everything again and have an idea for the next iteration.",
		cost:   0.02,
	}
}

func budgetTurns(p project) turn {
	notes := strings.Count(p.script, "# note") + 1
	return turn{
		thinks: "A comment would help.",
		edits:  p.script + "# note " + strings.Repeat("I", notes) + ": slugs are lower case\n",
		says:   "I added a comment.",
		cost:   0.40,
	}
}
