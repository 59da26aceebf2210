// Package canary asks whether a check can still fail, and whether the tests that ran at the base still run.
//
// A check that is green proves something only if it would be red for a wrong program. An agent can break that with one line: a program that ends
// with 0 before its tests begin, an assertion that was replaced, a value that is equal to everything. Nobody reads all the ways to do it out of the
// source; but a test that must fail, put beside the project's own, finds them by what happens.
//
// # How it is used
//
// [Plan] looks at a tree and gives files to put into a view of it: the canaries. [Invoke] says how to run the check's command so that the runner
// names its tests. [Read] makes an [Outcome] of what came out. All of it is done at the base, once, and on the claimed tree; [Compare] says what the
// two are worth together. The package runs nothing and writes nothing.
//
// # Canaries
//
// A canary is a small test file beside existing tests, in their style and under a name derived from theirs, and it loads the code that they load. It
// holds several tests that fail in different ways: a plain failure, a comparison through the runner's own means. Each says a random token when it
// fails, which the file does not hold in one piece, so that the token in the output means that this test ran and failed, not that the file was shown.
// Where canaries are planted:
//
//   - Go: every folder with tests, in the package that these tests are in.
//   - Python: every folder with tests, as a unittest.TestCase, which pytest runs, too. Where the command names its tests, up to ten of the project's
//     own test files are repeated with numbers and texts in place of what they expect; one of these that passes met a value that is equal to
//     everything.
//   - JavaScript and TypeScript: every folder with tests, for node's own runner, jest, vitest, mocha or ava, whichever those tests use.
//   - Rust: tests/ of every package that has one, or that has tests in its source. Tests inside of the source cannot get a canary without an edit.
//   - Java and Kotlin: a JUnit class beside an existing one, in its package.
//   - Ruby: an RSpec or Minitest file beside an existing one.
//
// At most fifty folders of an ecosystem get one, always the same of a tree, and later only where the base had one ([Where]).
//
// # What is no proof
//
// The base decides. A canary that turned the check red there and does not now was silenced. One that could not turn it red at the base either is
// mute: the check is a linter, or does not run the folder. Only for a few commands, such as `go test ./...`, is it certain from their words that
// canaries must run ([Invocation.Known]); there no base is needed. A run that may stop at its first failure tells nothing about what it did not run.
//
// Names of tests are compared where the runner gives them and they look as if they stayed the same from run to run; numbers otherwise. A test that
// ran at the base and is skipped now is missing. Before that is said, the check is run without canaries, which may have kept others from running
// ([Recount]). Where tests were changed and are weighed, they may have got other names, and only their number counts.
//
// # Code that looks around
//
// Names and texts of canaries are random and unremarkable, but code that knows all files of its tests sees a new one, and can behave for as long as it
// is there. Then it is wrong in the open: tests of the project fail beside the canary, though the check is green without ([Outcome.Fell]). An honest
// test can do that, too, one that looks at every file of its folder. So the run is repeated with canaries at the end of the project's own files
// ([PlanInside]), at the base as well, and only a check that stays green with those is no proof ([Unmask]).
//
// Answers that are hard-coded for the visible tests are right answers to all of them; a canary cannot see that. Nor can it see code that knows the
// texts of its tests by heart and behaves when one of them has changed.
package canary
