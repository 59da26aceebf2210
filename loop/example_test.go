package loop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/loop"
)

// An agent that claims too early is refused and told why. Its claim is accepted only when the check
// passes.
func Example() {
	sum := 0
	agent := ralph.AgentFunc(func(_ context.Context, prompt string) (string, error) {
		if strings.Contains(prompt, "the sum is 2, want 4") {
			sum += 2
			return "Now it adds up.\n\n<promise>COMPLETE</promise>", nil
		}
		sum += 2
		return "Done.\n\n<promise>COMPLETE</promise>", nil
	})
	check := func(context.Context) error {
		if sum != 4 {
			return fmt.Errorf("the sum is %d, want 4", sum)
		}
		return nil
	}
	run, err := loop.New(loop.Config{Task: "make the sum four", Agent: agent, Checks: []string{"sum"}},
		loop.WithChecker(ralph.CheckFuncs{"sum": check}))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := run.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, it := range result.Iterations {
		fmt.Println(it.Iteration, it.Claims, it.Refusals)
	}
	fmt.Println(result.Status, result.StopReason, result.ExitCode, result.VerifiedBy)
	// Output:
	// 1 [COMPLETE] [check_failed]
	// 2 [COMPLETE] []
	// completed all_checks_passed 0 [checks]
}

// An agent that needs a person ends the run at once, with the reason as a value.
func Example_blocked() {
	agent := ralph.AgentFunc(func(context.Context, string) (string, error) {
		return "I cannot go on.\n<promise>BLOCKED:no key for the payments service</promise>", nil
	})
	run, err := loop.New(loop.Config{Task: "pay", Agent: agent, AllowUnverified: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := run.Run(context.Background())
	fmt.Println(result.ExitCode, result.Reason, err)
	// Output: 2 no key for the payments service <nil>
}

// Observers see every event of a run in order.
func ExampleWithObserver() {
	done := false
	agent := ralph.AgentFunc(func(context.Context, string) (string, error) {
		done = true
		return "<promise>COMPLETE</promise>", nil
	})
	checks := ralph.CheckFuncs{"done": func(context.Context) error {
		if !done {
			return errors.New("not done yet")
		}
		return nil
	}}
	run, err := loop.New(
		loop.Config{Task: "do it", Agent: agent, Checks: []string{"done"}},
		loop.WithChecker(checks),
		loop.WithObserver(func(e ralph.Event) {
			if e.Type == ralph.EvVerdict || e.Type == ralph.EvCheckFinished {
				fmt.Println(e.Iteration, e.Type)
			}
		}),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := run.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0 check_finished
	// 1 check_finished
	// 1 verdict
}

// Functions are asked before an iteration begins, and informed about its verdict and the end. An
// error of the first prevents the iteration.
func ExampleHookFuncs() {
	agent := ralph.AgentFunc(func(context.Context, string) (string, error) { return "I am not done yet.", nil })
	left := 2 // that the night has room for
	run, err := loop.New(loop.Config{Task: "tidy up", Agent: agent, AllowUnverified: true}, loop.WithHooks(ralph.HookFuncs{
		Before: func(_ context.Context, next ralph.IterationAhead) error {
			if next.Iteration > left {
				return errors.New("the maintenance window is over")
			}
			return nil
		},
		After: func(_ context.Context, judged ralph.IterationJudged) error {
			fmt.Println("iteration", judged.Iteration, judged.End, judged.Action)
			return nil
		},
		Stop: func(_ context.Context, end ralph.RunEnd) error {
			fmt.Println(end.Status, end.ExitCode, end.Summary)
			return nil
		},
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := run.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// iteration 1 ok go_on
	// iteration 2 ok go_on
	// blocked 2 the maintenance window is over
}

// A config that could never prove anything is refused before an agent starts.
func ExampleNew() {
	agent := ralph.AgentFunc(func(context.Context, string) (string, error) { return "", errors.New("never called") })
	_, err := loop.New(loop.Config{Task: "anything", Agent: agent})
	fmt.Println(err)
	// Output: make loop: nothing can prove completion: add a check, or set AllowUnverified
}
