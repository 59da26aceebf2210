// Package goal is middleware for any agent loop written in Go: it keeps the agent going until its goal is
// proven. The agent's marker, <promise>DONE</promise>, is only a claim. A goal is completed when the agent
// claims it and a trusted verifier passed after the last change.
//
//	middleware, err := goal.New(goal.Config{
//		Verifiers: []string{"go test ./..."},
//		Dir:       dir,
//		Tree:      &plain.Tree{Dir: dir}, // package gitrepo/plain
//	})
//
// # The three hooks
//
// A loop calls BeforeAgent when a person's message arrives, WrapModelCall before every call of the model,
// and AfterModel with every answer:
//
//	err := middleware.BeforeAgent(&state, messages)
//	for {
//		request, err := middleware.WrapModelCall(ctx, &state, goal.Request{System: system, Messages: messages})
//		answer := callModel(request)
//		decision, err := middleware.AfterModel(ctx, &state, answer)
//		switch decision.Next {
//		case goal.RunTools:
//			messages = append(messages, answer, runTools(answer.Calls))
//		case goal.CallModel:
//			messages = decision.Messages
//		case goal.Finish:
//			return decision.Answer
//		}
//	}
//
// An adapter translates between the messages of an API and [Message]. It sets Message.Raw, and so gets back
// unchanged what the middleware does not write itself. The repository's examples have adapters for the SDKs
// of Anthropic and OpenAI.
//
// # What is evidence
//
// A result counts if its tool is one of Config.VerifierToolNames and the call ran one of Config.Verifiers.
// The command may be preceded by a change to Config.Dir and followed by && and more. Anything that could
// hide its exit status, such as a pipe or ||, does not count, nor does a command in the background or in
// another folder, or a call with two arguments that name a command. Nor does a call with an argument that
// could change what runs: only names that are known not to, such as description and timeout, may be there;
// args, env and every unknown name may not, and shell only with sh, bash or zsh. A tool without a command,
// such as a browser, counts if the list has its name. So ls proves nothing.
//
// A result belongs to the call with its ID or, without one, to the call of its tool. If two calls of an
// answer, two results, or a call before it that has no result yet have the same ID, it is no evidence.
//
// A call passed if its exit code is 0 and the tool's own flag reports no error. If an adapter sets neither, a
// command did not pass, whatever its output says: a program can print "exit code: 0". An adapter that cannot
// set them, and whose tool reports the code in every output, sets Config.ExitCodeInOutput.
//
// With Config.Tree, evidence is stale once a file changed after it. If an answer calls a verifier and
// something else, that is stale too: which came first is unknown. So is a verifier if a file, or the content
// of a folder, changed while it ran, even if it changed back: a process that the agent left in the background
// could show the work to the verifier and to nothing else. What a verifier builds or caches once is there
// when it runs again; list what it writes in every run in Config.VerifierOutput.
//
// A tool that keeps its folder or its environment between calls can run a verifier on other files. With
// Config.Checker the middleware runs the verifiers itself, and the agent's calls of them are no evidence. If
// files changed meanwhile, it runs them once more.
//
// # What is not noticed
//
// The middleware does not end the agent's processes and has no sandbox. While a verifier runs, it does not
// notice a write to a file that a process has mapped into its memory, a change of what Config.Tree leaves
// out (dependencies and caches such as node_modules, with gitrepo.Repo ignored files, and everything after
// the first 200,000 files), of Config.VerifierOutput, of files outside of Dir such as programs and
// databases, or that a folder above Dir, or a link in its path, was exchanged. Between two verifiers,
// plain.Tree compares files over 1 MiB by size and modification time only. Where the system has no change
// times (Windows), modification times count, which a program can set back. What the agent's processes do
// after the last look is not noticed either. Without Config.Tree, no change is noticed, and without
// Config.Checker the middleware believes what the tools report. For proof against an agent that attacks, let
// ralph run the agent.
//
// # How it ends
//
// The statuses and reasons are those of package judge: [judge.GoalCompleted] with verifier_passed (or
// completion_promise_received, with Config.AllowUnverified), [judge.GoalBlocked] after <promise>BLOCKED:
// …</promise>, a question in <promise>DECIDE: …</promise>, or three answers in a row with the same failure,
// and [judge.GoalExhausted] after Config.MaxIterations continuations. Until then an answer is refused with
// no_claim, missing_evidence, failed_evidence, stale_evidence or contradiction, and a prompt replaces the
// history: the objective with its images and files, a summary, the last evidence, and what to do next.
//
// An error of a hook means that the workspace or a check could not be read. The call may
// be repeated.
package goal
