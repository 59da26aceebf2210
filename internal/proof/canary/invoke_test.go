package canary_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/proof/canary"
)

func TestInvoke(t *testing.T) {
	python := project{"tests/test_a.py": "", "tests/__init__.py": ""}
	addopts := []string{"PYTEST_ADDOPTS=--maxfail=0 --junitxml=/out/pytest.xml"}
	report := []string{"/out/pytest.xml"}
	script := func(text string) project {
		return project{"package.json": `{"scripts": {"test": "` + text + `"}}`, "a.test.js": "test('a', () => {})"}
	}
	type invocation = canary.Invocation
	for command, c := range map[string]struct {
		tree project
		want invocation
	}{
		"go test ./...": {want: invocation{
			Command: "go test -json ./...", GoJSON: true, Known: true, Runs: "go",
		}},
		"CGO_ENABLED=0 go test -race ./...": {want: invocation{
			Command: "CGO_ENABLED=0 go test -json -race ./...", GoJSON: true, Known: true, Runs: "go",
		}},
		"go vet ./... && go test ./...": {want: invocation{
			Command: "go vet ./... && go test -json ./...", GoJSON: true, Known: true, Runs: "go",
		}},
		"cd sub && go test ./...": {want: invocation{Command: "cd sub && go test -json ./...", GoJSON: true}},
		"go test -run 'TestA|TestB' ./...": {want: invocation{
			Command: "go test -json -run 'TestA|TestB' ./...", GoJSON: true,
		}},
		"go test -failfast ./...": {want: invocation{
			Command: "go test -json -failfast ./...", GoJSON: true, Known: true, Runs: "go", Stops: true,
		}},
		"go test ./... | tee log":  {want: invocation{Command: "go test ./... | tee log"}},
		"go test ./... > log 2>&1": {want: invocation{Command: "go test ./... > log 2>&1"}},
		"go test ./... || true":    {want: invocation{Command: "go test -json ./... || true", GoJSON: true}},
		"go test ./...; echo done": {want: invocation{Command: "go test -json ./...; echo done", GoJSON: true}},
		"(go test ./...)":          {want: invocation{Command: "(go test ./...)"}},
		"sh -c 'go test ./...'":    {want: invocation{Command: "sh -c 'go test ./...'"}},
		"go test -c .":             {want: invocation{Command: "go test -c ."}},
		"go test -bench . ./...":   {want: invocation{Command: "go test -bench . ./..."}},
		"go test ./... -args -run x": {want: invocation{
			Command: "go test -json ./... -args -run x", GoJSON: true, Known: true, Runs: "go",
		}},
		"make test": {want: invocation{Command: "make test"}},
		"":          {want: invocation{}},
		"pytest": {python, invocation{
			Command: "pytest", Env: addopts, Reports: report, Known: true, Runs: "python",
		}},
		"poetry run pytest -q tests/unit": {python, invocation{
			Command: "poetry run pytest -q tests/unit", Env: addopts, Reports: report,
		}},
		"pytest -x": {python, invocation{
			Command: "pytest -x", Env: addopts, Reports: report, Stops: true,
		}},
		"tox": {python, invocation{Command: "tox", Env: addopts, Reports: report}},
		"python3 -m pytest -k fast": {python, invocation{
			Command: "python3 -m pytest -k fast", Env: addopts, Reports: report,
		}},
		"python -W error -m unittest": {python, invocation{
			Command: "python -W error -m unittest -v", UnittestVerbose: true, Known: true, Runs: "python",
		}},
		"python -m unittest": {python, invocation{
			Command: "python -m unittest -v", UnittestVerbose: true, Known: true, Runs: "python",
		}},
		"python -m unittest discover -s tests": {python, invocation{
			Command: "python -m unittest discover -v -s tests", UnittestVerbose: true,
		}},
		"python -m unittest -f": {python, invocation{
			Command: "python -m unittest -v -f", UnittestVerbose: true, Stops: true,
		}},
		"npm test": {script("node --test"), invocation{
			Command: "npm test", Known: true, Runs: "javascript",
		}},
		"npm run -s test": {script("jest"), invocation{
			Command: "npm run -s test -- --json --outputFile='/out/jest.json'", Reports: []string{"/out/jest.json"},
		}},
		"yarn test": {script("jest"), invocation{
			Command: "yarn test --json --outputFile='/out/jest.json'", Reports: []string{"/out/jest.json"},
		}},
		"npm t": {script("jest --bail"), invocation{
			Command: "npm t -- --json --outputFile='/out/jest.json'", Reports: []string{"/out/jest.json"}, Stops: true,
		}},
		"npm run test": {script("npm run test"), invocation{Command: "npm run test"}},
		"npx vitest run": {want: invocation{
			Command: "npx vitest run --reporter=default --reporter=json --outputFile.json='/out/vitest.json'",
			Reports: []string{"/out/vitest.json"},
		}},
		"node --test test/a.js": {want: invocation{Command: "node --test test/a.js"}},
		"cargo test --workspace": {project{"Cargo.toml": "[package]"}, invocation{
			Command: "cargo test --no-fail-fast --workspace", Known: true, Runs: "rust",
		}},
		"cargo test --lib | cat": {want: invocation{Command: "cargo test --lib | cat", Stops: true}},
		"bundle exec rspec": {want: invocation{
			Command: "bundle exec rspec --format progress --format json --out '/out/rspec.json'",
			Reports: []string{"/out/rspec.json"},
		}},
		"./mvnw -q test": {project{"src/test/java/ATest.java": ""}, invocation{
			Command: "./mvnw -q test",
			Reports: []string{"**/target/surefire-reports/TEST-*.xml", "**/build/test-results/*/TEST-*.xml"},
		}},
		"! go test ./...":                     {want: invocation{Command: "! go test ./..."}},
		"{ go test ./...; }":                  {want: invocation{Command: "{ go test ./...; }"}},
		"if go test ./...; then echo; fi":     {want: invocation{Command: "if go test ./...; then echo; fi"}},
		"for d in a b; do go test ./$d; done": {want: invocation{Command: "for d in a b; do go test ./$d; done"}},
		"go test ./... & wait":                {want: invocation{Command: "go test ./... & wait"}},
		"A=1; go test ./...": {want: invocation{
			Command: "A=1; go test -json ./...", GoJSON: true, Known: true, Runs: "go",
		}},
		"A=1 || go test ./...":                 {want: invocation{Command: "A=1 || go test -json ./...", GoJSON: true}},
		"go test -ldflags \"-X a=$(b)\" ./...": {want: invocation{Command: "go test -ldflags \"-X a=$(b)\" ./..."}},
		"go test ./... &> log":                 {want: invocation{Command: "go test ./... &> log"}},
		"go test ./... |& tee log":             {want: invocation{Command: "go test ./... |& tee log"}},
		"go test './...' # all": {want: invocation{
			Command: "go test -json './...' # all", GoJSON: true, Known: true, Runs: "go",
		}},
		"go test \\\n ./...": {want: invocation{
			Command: "go test -json \\\n ./...", GoJSON: true, Known: true, Runs: "go",
		}},
		"time go test ./...": {want: invocation{
			Command: "time go test -json ./...", GoJSON: true, Known: true, Runs: "go",
		}},
		"go test 'open":  {want: invocation{Command: "go test 'open"}},
		"turbo run test": {want: invocation{Command: "turbo run test", Stops: true}},
		"go test ./... && go test -tags slow ./it/.": {want: invocation{
			Command: "go test -json ./... && go test -json -tags slow ./it/.", GoJSON: true, Known: true, Runs: "go",
		}},
	} {
		t.Run(command, func(t *testing.T) {
			if diff := cmp.Diff(c.want, canary.Invoke(c.tree.tree(), command, "/out")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestInvokeRemembersWhatItAdded has commands whose own options decide what the user would have seen.
func TestInvokeRemembersWhatItAdded(t *testing.T) {
	type added struct{ JSON, Verbose, Local, Unittest bool }
	for command, want := range map[string]added{
		"go test ./...":                                  {JSON: true},
		"go test -v ./...":                               {JSON: true, Verbose: true},
		"go test -v=false ./...":                         {JSON: true},
		"go test -test.v ./...":                          {JSON: true, Verbose: true},
		"go test ./... -args -v":                         {JSON: true},
		"go test":                                        {JSON: true, Local: true},
		"go test .":                                      {JSON: true},
		"go test -race -count 1":                         {JSON: true, Local: true},
		"go test -race -count=1 x":                       {JSON: true},
		"go test -run TestA":                             {JSON: true, Local: true},
		"go test -run TestA . -own flag":                 {JSON: true},
		"go test -own ./...":                             {JSON: true, Local: true},
		"go test -fuzz FuzzA ./a":                        {JSON: true, Local: true},
		"go test ./a && go test -v":                      {JSON: true, Verbose: true, Local: true},
		"go test -json ./...":                            {},
		"go test -json ./a && go test ./b":               {},
		"go test ./... | cat":                            {},
		"python -m unittest -v":                          {},
		"python -m unittest -q":                          {},
		"python -m unittest a -v; python -m unittest b":  {},
		"python -m unittest a; python -m unittest -q b":  {Unittest: true},
		"go test ./... && python -m unittest discover a": {JSON: true, Unittest: true},
	} {
		inv := canary.Invoke(project{}.tree(), command, "/out")
		if got := (added{inv.GoJSON, inv.GoVerbose, inv.GoLocal, inv.UnittestVerbose}); got != want {
			t.Errorf("%s: got %+v, want %+v", command, got, want)
		}
	}
}
