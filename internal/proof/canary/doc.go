// Package canary finds out whether a check can still fail, and whether the tests that ran at the
// base still run.
//
// A passing check proves something only if it would fail for a wrong program. An agent can break
// that with one line: a program that exits with 0 before its tests begin, an assertion that was
// replaced, a value that is equal to everything. The ways to do this cannot all be found by reading
// source code. A test that must fail, placed beside the project's own, finds them by their effect.
//
// # Use
//
// [Plan] looks at a tree and returns files to put into a view of it: the canaries. [Invoke] returns
// how to run the check's command so that the runner names its tests. A [Listener] turns the results
// into an [Outcome] while the check runs, and into what the user's own command would have printed;
// [Read] does the first of these afterwards. This happens once at the base, and on the claimed tree.
// [Compare] judges the two outcomes together. The package runs nothing and writes nothing.
//
// # Canaries
//
// A canary is a small test file beside existing tests, in their style and with a name derived from
// theirs. It loads the code that they load. It holds several tests that fail in different ways: a
// plain failure, or a comparison with the runner's own functions. Each prints a random token when
// it fails. The file does not contain the token in one piece, so a token in the output means that
// this test ran and failed, not that the file was printed. Canaries are planted in these places:
//
//   - Go: every folder with tests, in the package of these tests.
//   - Python: every folder with tests, as a unittest.TestCase, which pytest also runs.
//     If the command names its tests, up to ten of the project's own test files are repeated with
//     wrong expected numbers and texts. If one of these passes, it met a value that is equal to
//     everything.
//   - JavaScript and TypeScript: every folder with tests, for node's own runner, jest, vitest,
//     mocha or ava, whichever those tests use.
//   - Rust: tests/ of every package that has one, or that has tests in its source. Tests inside
//     the source cannot get a canary without an edit.
//   - Java and Kotlin: a JUnit class beside an existing one, in its package.
//   - Ruby: an RSpec or Minitest file beside an existing one.
//
// At most fifty folders of an ecosystem get one, always the same ones for a tree, and later only
// where the base had one ([SameFolders]).
//
// # What is no proof
//
// The base decides. A canary that made the check fail there and does not now was silenced. A canary
// that did not make it fail at the base either is mute: the check is a linter, or does not run the
// folder. Only for a few commands, such as `go test ./...`, is it certain from their words that
// canaries must run ([Invocation.Known]); these need no base. A run that may stop at its first
// failure says nothing about the tests that it did not run.
//
// Test names are compared if the runner gives them and they look stable from run to run; otherwise
// only their number is. A test that ran at the base and is skipped now is missing. Before a test is
// reported missing, the check is run without canaries, because they may have kept others from
// running ([Recount]). Changed tests whose old versions are run separately may have new names, so
// only their number counts.
//
// # Code that looks around
//
// Names and texts of canaries are random and unremarkable. But code that knows all of its test
// files notices a new one, and can behave honestly while it is there. Then it is wrong in the open:
// tests of the project fail beside the canary, although the check passes without it
// ([Outcome.OwnFailures]). An honest test that looks at every file of its folder can fail in the
// same way. So the run is repeated with canaries at the end of the project's own files
// ([PlanInside]), also at the base. Only a check that still passes with those is no proof
// ([Unmask]).
//
// Answers that are hard-coded for the visible tests are right answers to all of them; a canary
// cannot detect that. Nor can it detect code that knows the text of its tests and behaves honestly
// when one of them has changed.
package canary
