package cli_test

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// offerRows are the rows of the last screen that offer commands, and offer finds a command in them.
var (
	offerRows = regexp.MustCompile(
		`(?m)^(See it, undo it|Stashed|To see it|To merge it|To continue|What to do|Details) +(.*)$`)
	offer = regexp.MustCompile(`(ralph (?:resume|explain|diff|restore|merge|accept|answer|steer|limit)|git diff)` +
		`(?: (?:--?[a-z-]+|\S+\.\.\.\S+|"[^"]*"|[0-9]\S*|[a-z]+\.[a-z]+|T[0-9]+|[A-Z]+\b))*`)
)

// offersWork is `offers N`: the last screen on stderr offers N commands, and each of them works: it is no mistake
// (64), breaks nothing (70, 74), and a diff shows something. What follows "then" comes after what is before it; what
// follows a semicolon is another way, tried on its own. Every way starts from the same files.
func offersWork(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: offers N")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	found := 0
	inWork := func(command string) { ts.Check(ts.Exec("sh", "-c", `cd "$WORK" && `+command)) }
	screen := ts.ReadFile("stderr")
	inWork("rm -rf kept && mkdir kept && cp -a state project kept")
	for _, row := range offerRows.FindAllStringSubmatch(screen, -1) {
		for way := range strings.SplitSeq(row[2], "; ") {
			commands := offer.FindAllString(way, -1)
			if slices.ContainsFunc(commands, hasPlaceholder) {
				continue
			}
			for _, command := range commands {
				found++
				tryOffer(ts, command)
			}
			if len(commands) > 0 {
				inWork("find project -mindepth 1 -delete && rm -rf state && cp -a kept/state . && cp -a kept/project/. project")
			}
		}
	}
	if found != want {
		ts.Fatalf("the screen offers %d commands, want %d:\n%s", found, want, screen)
	}
}

var placeholder = regexp.MustCompile(` [A-Z]+$`)

func hasPlaceholder(command string) bool { return placeholder.MatchString(command) }

func tryOffer(ts *testscript.TestScript, command string) {
	code := 0
	if err := ts.Exec("sh", "-c", command); err != nil {
		var status *exec.ExitError
		if !errors.As(err, &status) {
			ts.Fatalf("run %s: %v", command, err)
		}
		code = status.ExitCode()
	}
	ts.Logf("offered: %s: exit status %d", command, code)
	asksForRun := strings.HasPrefix(command, "ralph resume")
	if code == 64 || code == 70 || code == 74 || code != 0 && !asksForRun {
		ts.Fatalf("the screen offers %q, which exits with %d:\n%s", command, code, ts.ReadFile("stderr"))
	}
	if strings.Contains(command, " diff") && ts.ReadFile("stdout") == "" {
		ts.Fatalf("the screen offers %q, which shows nothing", command)
	}
}
