# Needs Go, git and make; `make race` also needs a C compiler.
VERSION := $(or $(shell git describe --tags --always --dirty 2>/dev/null),dev)
# `make race` skips packages without goroutines and those that only start programs.
NORACE := /(ralph|agent/internal/stream|examples/.*|fold|goal|gitrepo(/(plain|snapshot|internal/(git|gittest|scan)))?|internal/(assembly|atomicfile|bench|cheats|cli|config|contract|demo|faults|hooks|layout|login|models|planner|process/inside|progress|project|prompt|proof/.*|real|report|reverify|setup|shell|text|textfile|worker/(chat|interview)|workspace)|judge|model/internal/gen|plan|promise|verify|worker)$$
# `make race` also skips long sequential tests in packages that have goroutines elsewhere: they are
# five times as slow with the race detector.
SERIAL := ^Test(.*LongLines|.*MemoryDoesNotGrow|AiderOwnWords|AThousandIterations|ChainShowsEveryFlippedByte|CutAtEveryByte|FlipEveryByte|OutputMayBeSplitAnywhere|PartialLastLine|Resume.*AtEveryCut|ResumeInTheMiddle)
# Flags for every command except the race detector, so that nothing is compiled twice. Debug
# information takes a fifth of the compile time. The standard library keeps its usual flags, because
# `go test` in the sample projects of our tests uses them as well.
export GOFLAGS := $(shell go env GOFLAGS) -buildvcs=false -trimpath -gcflags=all=-dwarf=false -gcflags=std=
GOFAST := GOGC=off GOMEMLIMIT=2GiB # see .ci/go-test
export CGO_ENABLED := 0
.PHONY: build test examples race race-scripts lint vet-cross bench cheats faults real stops e2e e2e-all clean

build:
	$(GOFAST) go build -ldflags '-s -w -X github.com/ralphloop/ralph/internal/cli.Version=$(VERSION)' -o bin/ralph ./cmd/ralph

test:
	.ci/go-test plain -short -shuffle=on ./...
examples: # a goal in a loop, and loops written with SDKs, which are modules of their own
	go run ./examples/goal
	for name in anthropic openai; do (cd examples/$$name && $(GOFAST) go vet ./... && ../../.ci/go-test plain ./...) || exit; done
race: # a separate step, because the race detector compiles everything again
	.ci/go-test race -short -shuffle=on -skip '$(SERIAL)' $$(go list ./... | grep -Ev '$(NORACE)')
race-scripts: # the scripts of the command line with the race detector, twice as slow
	.ci/go-test race -short -count=1 ./internal/cli
lint:
	.ci/lint
vet-cross: UNUSED = -gcflags=all='-dwarf=false -l' # these programs never run, and inlining takes a quarter of the compile time
vet-cross:
	for os in darwin windows; do GOOS=$$os $(GOFAST) go vet $(UNUSED) ./... && GOOS=$$os $(GOFAST) go build $(UNUSED) -o bin/$$os/ ./cmd/ralph || exit; done
bench: build
	TMPDIR=/var/tmp go test -v -count=1 -timeout 60m -run '^TestTable$$' ./internal/bench -args -full -ralph $(CURDIR)/bin/ralph -json $(CURDIR)/bin/bench.json
# Runs attacks and honest work, with and without protection, and writes the results to
# docs/proof.md.
cheats: build
	vitest="$$(.ci/vitest)" && go test -v -count=1 -timeout 120m -run '^Test(Cheats|Hardships|Walled)$$' ./internal/cheats -args -full -vitest "$$vitest" -ralph $(CURDIR)/bin/ralph -page $(CURDIR)/docs/proof.md
# Breaks the storage at every write-class system call of a run, in every way. Takes hours;
# `make faults TRIES='-sample 100'` takes minutes.
TRIES := -full
faults: build
	.ci/go-test plain -v -count=1 -timeout 24h -run '^TestFaults$$' ./internal/faults -args $(TRIES) -ralph $(CURDIR)/bin/ralph
# Runs Ralph on published versions of packages, and compares its answers with those of plain runs.
# Takes hours; REAL='-only "npm " -resume' chooses cases, and goes on where it was stopped.
real: build
	TMPDIR=/var/tmp go test -v -count=1 -timeout 24h -run '^TestReal$$' ./internal/real -args -full -ralph $(CURDIR)/bin/ralph -json $(CURDIR)/bin/real.json $(REAL)
# Ends 1,000 runs whose agents try to escape, also by kill -9, and looks for survivors.
stops:
	RALPH_TEST_STOPS=1000 .ci/go-test plain -v -count=1 -timeout 60m -run '^TestStops$$' ./internal/cli

# e2e runs the built program, the tests that make test shortens, and the real claude and codex.
# e2e-all runs all CLIs. npm installs them, once per set.
e2e: build
	bin/ralph demo --speed 0
	go run ./examples/embed
	.ci/go-test plain -count=1 -shuffle=on ./agent ./fold ./loop ./runlog ./verify ./internal/proof/...
	.ci/go-test plain -v -count=1 -run '^TestFaults$$' ./internal/faults -args -sample 100 -seed 1 -ralph $(CURDIR)/bin/ralph
	TMPDIR=/var/tmp go test -v -count=1 -run '^TestReal$$' ./internal/real -args -sample 5 -ralph $(CURDIR)/bin/ralph
	clis="$$(.ci/e2e-clis)" && RALPH_E2E_CLIS="$$clis" go test -count=1 -timeout 30m -tags e2e ./internal/e2e
	.ci/go-test plain -count=1 -tags e2e -run 'TestKillNine|TestLongScripts|TestB8|TestSandboxMatrix' ./internal/cli
e2e-all: build
	clis="$$(.ci/e2e-clis all)" && RALPH_E2E_CLIS="$$clis" go test -count=1 -timeout 30m -tags e2e ./internal/e2e
clean:
	rm -rf bin
