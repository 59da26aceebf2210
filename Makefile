# Needs Go, git and make. A C compiler is optional: with one, `make test` looks for data races too.
VERSION  := $(or $(shell git describe --tags --always --dirty 2>/dev/null),dev)
LINT_PKG := github.com/golangci/golangci-lint/v2
LINT_VER := $(shell awk '$$1 == "$(LINT_PKG)" {print $$2}' tools/go.mod)-$(shell go env GOVERSION)
LINT     := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ralph-lint/golangci-lint-$(LINT_VER)
# The race detector links against libc, so the question is whether a C program links, not whether a compiler is there.
RACE      = $(shell printf 'int main(void){return 0;}' | $$(go env CC) -x c -o /dev/null - -lpthread 2>/dev/null && echo -race)
GO_PLAIN := CGO_ENABLED=0 go

.PHONY: build test race lint vet-cross bench cheats e2e e2e-all clean

build:
	$(GO_PLAIN) build -trimpath -buildvcs=false -ldflags '-s -w -X github.com/ralphloop/ralph/internal/cli.Version=$(VERSION)' -o bin/ralph ./cmd/ralph

# Thousands of short git commands are what the tests are made of, so a file system in memory makes them faster, where it has the room and runs programs.
MEMORY    = $(shell d=/dev/shm; test -w $$d && test "$$(df -Pk $$d | awk 'NR == 2 {print $$4}')" -gt 4000000 && f="$$(mktemp $$d/ralph.XXXXXX)" && \
	{ echo true >"$$f" && chmod +x "$$f" && "$$f" && echo $$d; rm -f "$$f"; })
IN_MEMORY = $(if $(MEMORY),TMPDIR=$(MEMORY))
CGO       = CGO_ENABLED=$(if $(RACE),1,0)

test race: export GORACE := atexit_sleep_ms=0
# The race detector has nothing to see in packages without goroutines or that only start programs, and makes the scripts of internal/cli twice as slow:
# make race runs the scripts with it.
PLAINLY   = /(internal/(cli|cheats|bench|layout|contract)|promise|prompt|plan)$$
test:
	$(IN_MEMORY) $(CGO) go test $(RACE) -short -timeout 20m -shuffle=on $$(go list ./... | grep -Ev '$(PLAINLY)')
	$(IN_MEMORY) $(GO_PLAIN) test -short -timeout 20m -shuffle=on $$(go list ./... | grep -E '$(PLAINLY)')

# gofmt is part of it: the formatters of .golangci.yml are checked by `run`. The program is built once for each version of it and of Go.
lint: $(LINT)
	$(LINT) run ./...
$(LINT):
	mkdir -p $(@D) && cd tools && $(GO_PLAIN) build -trimpath -buildvcs=false -o $@.new $(LINT_PKG)/cmd/golangci-lint && mv $@.new $@

vet-cross:
	GOOS=darwin $(GO_PLAIN) vet ./... && GOOS=darwin $(GO_PLAIN) build -buildvcs=false -o bin/darwin/ralph ./cmd/ralph
	GOOS=windows $(GO_PLAIN) vet ./... && GOOS=windows $(GO_PLAIN) build -buildvcs=false -o bin/windows/ralph.exe ./cmd/ralph

bench: build
	TMPDIR=/var/tmp $(GO_PLAIN) test -v -count=1 -timeout 60m -run '^TestTable$$' ./internal/bench -args -full -ralph $(CURDIR)/bin/ralph -json $(CURDIR)/bin/bench.json

# Attacks and honest work, with and without protection, and docs/proof.md, which shows what became of them.
cheats: build
	go test -v -count=1 -timeout 60m -run '^TestCheats$$' ./internal/cheats -args -full -ralph $(CURDIR)/bin/ralph -page $(CURDIR)/docs/proof.md

# The built program at work, with the real claude and codex; e2e-all adds the other CLIs. They are installed with npm, once for each set of versions.
e2e: build
	bin/ralph demo --speed 0
	go run ./examples/embed
	go test -count=1 -timeout 20m -shuffle=on . ./verify/... ./runlog
	clis="$$(.ci/e2e-clis)" && RALPH_E2E_CLIS="$$clis" go test -count=1 -timeout 30m -tags e2e ./internal/e2e
	$(IN_MEMORY) $(GO_PLAIN) test -count=1 -timeout 30m -tags e2e ./internal/cli

# The scripts of the command line with the race detector.
race:
	$(IN_MEMORY) $(CGO) go test $(RACE) -short -count=1 -timeout 30m ./internal/cli

e2e-all: build
	clis="$$(.ci/e2e-clis all)" && RALPH_E2E_CLIS="$$clis" go test -count=1 -timeout 30m -tags e2e ./internal/e2e

clean:
	rm -rf bin
