// Package protect says which files of a workspace matter to checks, and what a change to one of them means. It is pure:
// it gets names and, where a name is not enough, asks for the content of a file.
//
// # What is protected
//
// The harness's own files (Config.Literal) and what the user's patterns match (Config.Globs). Patterns are those of
// .gitignore: without a slash inside they match in every folder, with one they begin at the workspace, a folder means all
// that is below, ** is any number of folders, and the last pattern that matches decides. A pattern with a ! takes out again
// what patterns or the preset protect; of the harness's own files it takes out only one that it names without a wildcard.
// Config.Exempt stands above everything. Names are compared as they are written.
//
// A protected file that is changed or deleted is Tampered, and so is one of the harness's own that is added. Another one that is added is Unseen: checks do without it. So is
// what was put in the place of a protected file: a link where its folder was, a folder where the file was.
//
// # The preset tests
//
// It protects tests that exist at the base, and what steers them. The principle: what is both product and steering is
// protected only in the part that steers, and honest work (new tests with their fixtures and helpers, new dependencies, new
// scripts) is no change of it.
//
//	tests              Go *_test.go, testdata, packages of test helpers; Python test_*.py, *_test.py; JavaScript and TypeScript
//	                   *.test.*, *.spec.*, __tests__, snapshots; Rust tests.rs; Java and Kotlin src/test, *Test; Ruby *_spec.rb, code in
//	                   spec; C# *.Tests, *Tests; PHP *Test; Elixir *_test.exs; and everything in a folder test or tests.
//	                   Changed or deleted is tampered. Added is honest work and is seen.
//	                   A project that is a test's data (testdata, fixtures) is a part of the test and steers nothing.
//	without a name     data and helpers elsewhere that a test of the base mentions and nothing else does: a file of expected answers, a package
//	                   that gets a *testing.T, a module that raises AssertionError. What the product mentions too is the product's.
//	no tests           README files of test folders, lists of dependencies and lock files wherever they are, a folder spec
//	                   that describes the product, and CMakeLists.txt, meson.build or a list of `mod name;` that only grew by entries.
//	whole files        conftest.py, pytest.ini, tox.ini, noxfile.py, .coveragerc, sitecustomize.py, *.pth; configuration and set-up of
//	                   jest, vitest, mocha and their like, babel, .npmrc, .yarnrc, .pnpmfile.cjs; .cargo/config, rust-toolchain, nextest.toml;
//	                   go.work; .mvn, wrappers of Maven and Gradle; .rspec and spec_helper.rb; phpunit.xml; test_helper.exs; *.runsettings;
//	                   .env.test, .envrc. Changed, deleted: tampered. Added: unseen.
//	pyproject.toml     [tool.pytest], coverage, tox, nox, hatch.envs, and plugins for pytest
//	setup.cfg          [tool:…], coverage, aliases
//	package.json       keys of test tools, known private imports, a test tool that comes from elsewhere, and the scripts that a check
//	                   runs with their hooks and the scripts that these run, `test` among them unless no check can run a script. The
//	                   first `test`, or one in place of npm's empty one, is honest. `type` and `exports` cannot turn a red test green.
//	go.mod             exclude, toolchain, godebug, ignore, and replace of a module that the base knows. A new go.mod is unseen if it cuts
//	                   off a folder with tests from ./...
//	Cargo.toml         [[test]], [profile.test], [profile.dev], [patch], [replace], test, harness and doctest of [lib], autotests, excluded members
//	pom.xml, gradle    plugins and properties, or statements, that have to do with tests; never dependencies
//	*.csproj, mix.exs  what has to do with tests or takes files out; never references or dependencies
//	vite.config        only if it speaks of tests, or a check runs vitest: otherwise it is the product's build
//	Makefile, justfile only if a check uses the tool, directly or through a script, a Makefile or a package.json. A new one is unseen
//	and their like     if there was one beside it, under any of its names
//	TestMain           a new Go test file with it, or one that exits before tests run, is unseen where the folder had tests
//	shadows            a new module that Python would take for its test runner (pytest.py, unittest/__init__.py) is unseen, and so are
//	                   programs in node_modules/.bin that hide the user's, and compiled Python that is not compared with its source
//	test libraries     in vendor or node_modules, if these are kept in the tree: changed is tampered, new ones were installed
//	not protected      tsconfig.json, build.rs, settings.gradle, .gitattributes: the product's. What they can do to tests is for the canary
//	                   and the list of tests that ran
//
// A part that cannot be read any more counts as changed, and so does a file of more than Limit bytes.
//
// Where a language had no tests at the base (see Rules.Since) nothing that is added counts: a project begun from nothing
// needs its configuration.
//
// # What asks whether it is tested
//
// Sorted.Aware is code of the product with new lines such as testing.Testing(), PYTEST_CURRENT_TEST or NODE_TEST_CONTEXT. It may be honest, and it
// may be how a product gives the right answers to tests alone.
//
// # What is weighed
//
// Without the preset the same files, by the same rules, are in Sorted.Tests: tests that were changed or deleted, and what
// steers them, also if it was added. Whoever weighs them puts the base's version back, and leaves out what was added. With
// the preset only two kinds are left there: what the user took out, and Rust sources whose inner tests were changed. These are
// product code and cannot be protected as a whole; WithOldTests puts back the tests alone.
package protect
