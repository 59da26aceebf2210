// Package canary compares runs of a check, and finds out whether the check can still fail.
//
// A passing check proves something only if it would fail for a wrong program. An agent can break
// that with one line: a program that exits with 0 before its tests begin, an assertion that was
// replaced, a value that is equal to everything. The ways to do this cannot all be found by reading
// source code. Tests that must fail, placed beside and inside the project's own, find them by their
// effect.
//
// # Use
//
// [Plan] looks at a tree and returns files to put into a view of it: the canaries. [Mutate] returns
// existing tests in which one compared literal was changed. [Invoke] returns how to run the check's
// command so that the runner names its tests. A [Listener] reads the output while the check runs, and
// makes an [Outcome] of it. [Row] judges the outcomes of the columns of a table; [Differences] compares
// two runs of one tree. The package runs nothing and writes nothing.
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
//   - JavaScript and TypeScript: every folder with tests, for node's own runner, jest, vitest,
//     mocha or ava, whichever those tests use.
//   - Rust: tests/ of every package that has one, or that has tests in its source. Tests inside
//     the source cannot get a canary without an edit.
//   - Java and Kotlin: a JUnit class beside an existing one, in its package.
//   - Ruby: an RSpec or Minitest file beside an existing one.
//
// At most 400 folders of an ecosystem get one, always the same ones for a tree, and later only
// where the base had one ([SameFolders]).
//
// Code that lets the tests it knows pass is caught by changed literals: a few tests that pass on the
// claimed tree, chosen at random, compare with a value that no honest program returns. Only literals
// that are certainly compared are changed, in Go, Python, JavaScript, TypeScript and Rust.
//
// # What holds
//
// The base decides. A canary that made the check fail there and does not now was silenced. A canary
// that did not make it fail at the base either is mute: the check is a linter, or does not run the
// folder. Only for a few commands, such as `go test ./...`, is it certain from their words that
// canaries must run ([Invocation.Known]); these need no base. A command that may stop at its first
// failure says nothing about the tests that it did not run.
//
// Beside canaries every test of the project ends as it does without them. Code that looks around
// and behaves while it is watched fails the project's own tests then ([Row.OwnFailures]), and code that
// ends the process takes the names of other tests with it. A test that a canary disturbs at the base,
// too, because it looks at every file of its folder, does not count.
//
// Test names are compared if the runner gives them and they look stable from run to run; otherwise
// only their number is, or the exit code. A test that ran at the base and is skipped now is missing.
// Changed tests whose old versions are run separately may have new names, so only their number counts.
//
// Answers that are hard-coded for the visible tests are right answers to all of them. Neither a canary
// nor a changed literal can detect that.
package canary
