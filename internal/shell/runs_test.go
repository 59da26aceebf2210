package shell

import "testing"

func TestRuns(t *testing.T) {
	const check, dir = "go test ./...", "/work/app"
	for line, want := range map[string]bool{
		"go test ./...":                                 true,
		"  go  test   ./...  ":                          true,
		"go test ./... 2>&1":                            true,
		"cd /work/app && go test ./...":                 true,
		"cd /work/app/ && go test ./... 2>&1":           true,
		"cd . && go test ./... && echo ok":              true,
		"go test ./... && go vet ./...":                 true,
		"bash -lc 'go test ./...'":                      true,
		"/bin/bash -lc 'cd /work/app && go test ./...'": true,
		`sh -c "go test ./..."`:                         true,

		"ls":                                  false,
		"":                                    false,
		"go test ./... -run Nothing":          false,
		"go test":                             false,
		"echo go test ./...":                  false,
		"go test ./... || true":               false,
		"go test ./...; true":                 false,
		"go test ./... | tail -5":             false,
		"go test ./... &":                     false,
		"! go test ./...":                     false,
		"true || go test ./...":               false,
		"cd /tmp/other && go test ./...":      false,
		"cd sub && go test ./...":             false,
		"cd $HOME && go test ./...":           false,
		"PATH=/tmp/fake go test ./...":        false,
		"go() { true; }; go test ./...":       false,
		"go() { true; } && go test ./...":     false,
		"export PATH=/tmp && go test ./...":   false,
		"(go test ./...; true)":               false,
		"if go test ./...; then true; fi":     false,
		"echo 'x\ngo test ./...'":             false,
		"true\ngo test ./...\ntrue":           false,
		"./bash -lc 'go test ./...'":          false,
		"bash -lc 'go test ./...; true'":      false,
		"bash -lc 'go test ./...' && true":    false,
		"env -i go test ./...":                false,
		"go test ./... > /dev/null 2>&1":      false,
		"go test ./... # and more":            true,
		"go test ./... && f() { true; }":      true,
		"exit 0 && go test ./...":             false,
		"exec true && go test ./...":          false,
		"go test './...'":                     false,
		"{ go test ./... && true; } && false": false,
	} {
		if got := Runs(line, check, dir); got != want {
			t.Errorf("Runs(%q) = %v, want %v", line, got, want)
		}
	}
	for _, test := range []struct {
		line, command string
		want          bool
	}{
		{"cd web && npm test", "cd web && npm test", true},
		{"cd /work/app && cd web && npm test", "cd web && npm test", true},
		{"npm test", "cd web && npm test", false},
		{"cat log | grep -q ok", "cat log | grep -q ok", true},
		{"cat log | grep -q", "cat log | grep -q ok", false},
		{"make && make test", "make test", false},
		{"make && make test", "make && make test", true},
		{"anything", "not ( a command", false},
		{"go vet; go test", "go vet; go test", true},
	} {
		if got := Runs(test.line, test.command, dir); got != test.want {
			t.Errorf("Runs(%q, %q) = %v, want %v", test.line, test.command, got, test.want)
		}
	}
}

func TestRunsOnly(t *testing.T) {
	for line, want := range map[string]bool{
		"go test ./...":                            true,
		"cd /work/app && go test ./... 2>&1":       true,
		"bash -lc 'go test ./...'":                 true,
		"go test ./... && echo ok":                 false,
		"bash -lc 'go test ./... && rm broken.go'": false,
		"ls": false,
	} {
		if got := RunsOnly(line, "go test ./...", "/work/app"); got != want {
			t.Errorf("RunsOnly(%q) = %v, want %v", line, got, want)
		}
	}
}
