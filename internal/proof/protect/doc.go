// Package protect decides which files of a workspace matter to checks, and what a change to one of
// them means. It is pure: it gets names and, where a name is not enough, asks for the content of a
// file.
//
// # What is protected
//
// The harness's own files (Config.Literal) and what the user's patterns match (Config.Globs).
// Patterns work as in .gitignore: without a slash inside they match in every folder, with one they
// start at the workspace, a folder means everything below it, ** is any number of folders, and the
// last pattern that matches decides. A pattern with a ! removes protection by other patterns or the
// preset; of the harness's own files it exempts only one that it names without a wildcard.
// Config.Exempt overrides everything. Names are compared exactly.
//
// A protected file that is changed or deleted is Tampered. So is a file of the harness's own that
// is added. Any other added file that matches is Unseen: checks do not see it. The same is true for
// what replaced a protected file: a link in place of its folder, or a folder in place of the file.
//
// # The preset tests
//
// It protects tests that exist at the base. The files that configure them may change for good reasons, so
// they are not protected: the caller compares their effect with that of the base's versions. The principle: a
// file that is both product and configuration counts only in the part that affects tests.
// Honest work (new tests with their fixtures and helpers, new dependencies, new scripts) is not a
// violation.
//
//	tests              Go *_test.go, testdata, packages of test helpers; Python test_*.py, *_test.py; JavaScript and
//	                   TypeScript *.test.*, *.spec.*, __tests__, snapshots; Rust tests.rs; Java and Kotlin src/test,
//	                   *Test; Ruby *_spec.rb, code in spec; C# *.Tests, *Tests; PHP *Test; Elixir *_test.exs; and
//	                   everything in a folder test or tests.
//	                   Changed or deleted is tampered. Added is honest work and is seen.
//	                   A project that is a test's data (testdata, fixtures) is part of the test and configures nothing.
//	without a name     data and helpers elsewhere that a test of the base mentions and nothing else does: a file of
//	                   expected answers, a package that gets a *testing.T, a module that raises AssertionError. What
//	                   the product also mentions belongs to the product.
//	not tests          README files of test folders, lists of dependencies and lock files anywhere, a folder spec that
//	                   describes the product, and CMakeLists.txt, meson.build or a list of `mod name;` that only
//	                   gained entries.
//	whole files        conftest.py, pytest.ini, tox.ini, noxfile.py, .coveragerc, sitecustomize.py, *.pth;
//	                   configuration and setup of jest, vitest, mocha and similar tools, babel, .npmrc, .yarnrc,
//	                   .pnpmfile.cjs; .cargo/config, rust-toolchain, nextest.toml; go.work; .mvn, wrappers of Maven
//	                   and Gradle; .rspec and spec_helper.rb; phpunit.xml; test_helper.exs; *.runsettings;
//	                   .env.test, .envrc. Compared, as everything below.
//	pyproject.toml     [tool.pytest], coverage, tox, nox, hatch.envs, and plugins for pytest
//	setup.cfg          [tool:…], coverage, aliases
//	package.json       keys of test tools, known private imports, a test tool from another source, and the scripts that
//	                   a check runs with their hooks and the scripts that these run, including `test` unless no check
//	                   can run a script. The first `test`, or one that replaces npm's empty one, is honest. `type` and
//	                   `exports` cannot make a failing test pass.
//	go.mod             exclude, toolchain, godebug, ignore, and replace of a module that the base knows. A new go.mod
//	                   counts if it cuts off a folder with tests from ./...
//	Cargo.toml         [[test]], [profile.test], [profile.dev], [patch], [replace], test, harness and doctest of [lib],
//	                   autotests, excluded members
//	pom.xml, gradle    plugins and properties, or statements, that affect tests; never dependencies
//	*.csproj, mix.exs  what affects tests or excludes files; never references or dependencies
//	vite.config        only if it mentions tests, or a check runs vitest: otherwise it is the product's build
//	Makefile, justfile only if a check uses the tool, directly or through a script, a Makefile or a package.json. A new
//	and similar        one counts if there was one beside it, under any of its names
//	TestMain           a new Go test file with it, or one that exits before tests run, is unseen if the folder had
//	                   tests
//	shadows            a new module that Python would take for its test runner (pytest.py, unittest/__init__.py),
//	                   programs in node_modules/.bin that hide the user's, and compiled Python that is not compared
//	                   with its source
//	test libraries     in vendor or node_modules, if these are kept in the tree and changed; new ones were installed
//	not protected      tsconfig.json, build.rs, settings.gradle, .gitattributes: these belong to the product. Their
//	                   effects on tests are left to the canary and the list of tests that ran
//
// A part that can no longer be parsed counts as changed, and so does a file of more than Limit
// bytes.
//
// If a language had no tests at the base (see Rules.Since), nothing that is added counts: a project
// started from scratch needs its configuration.
//
// # Test-aware code
//
// Sorted.Aware is product code with new lines such as testing.Testing(), PYTEST_CURRENT_TEST or
// NODE_TEST_CONTEXT. It may be honest, or it may be how a product gives the right answers only to
// tests.
//
// # Without the preset
//
// Without the preset, changed and deleted tests are in Sorted.Tests, too, beside the files that configure
// them. The caller runs the checks with the base's versions, and without what was added. Rust sources
// whose inner tests were changed are always there: they are product code and cannot be protected as a
// whole; WithOldTests restores only the tests.
package protect
