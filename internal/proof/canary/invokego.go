package canary

import (
	"slices"
	"strings"
)

func (v *invoker) goTest(s segment, r runner) {
	words := r.args
	for i, word := range words {
		if word == "-args" || word == "--args" {
			words = words[:i]
			break
		}
	}
	has := func(names ...string) bool { return hasFlag(words, names...) }
	if has("c", "list", "n", "h") {
		return
	}
	if has("failfast") {
		v.found.Stops = true
	}
	named := has("json")
	v.ownJSON = v.ownJSON || named
	if !named && !has("bench") && v.add(s, r.last, " -json") {
		named, v.found.GoJSON = true, true
		v.found.GoVerbose = v.found.GoVerbose || goVerbose(words)
		v.found.GoLocal = v.found.GoLocal || has("fuzz") || !namesGoPackages(words)
	}
	filtered := has("run", "skip", "bench", "fuzz", "exec", "o")
	v.setKnown("go", named && s.plain && !filtered)
}

// hasFlag looks for flags in Go's style: with one dash or two, with or without a value.
func hasFlag(words []string, names ...string) bool {
	for _, word := range words {
		flag := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
		if flag == word {
			continue
		}
		flag, _, _ = strings.Cut(flag, "=")
		if slices.Contains(names, flag) || slices.Contains(names, strings.TrimPrefix(flag, "test.")) {
			return true
		}
	}
	return false
}

// goSwitches are the flags of go test that take no value from the next word.
var goSwitches = []string{
	"a", "artifacts", "asan", "benchmem", "buildvcs", "c", "cover", "failfast", "fullpath", "i", "json", "linkshared",
	"modcacherw", "msan", "n", "race", "short", "trimpath", "v", "work", "x",
}

// goValues are the flags of go test that take one.
var goValues = []string{
	"C", "asmflags", "bench", "benchtime", "blockprofile", "blockprofilerate", "buildmode", "compiler", "count",
	"covermode", "coverpkg", "coverprofile", "cpu", "cpuprofile", "exec", "fuzz", "fuzzminimizetime", "fuzztime",
	"gccgoflags", "gcflags", "installsuffix", "ldflags", "list", "memprofile", "memprofilerate", "mod", "modfile",
	"mutexprofile", "mutexprofilefraction", "o", "outputdir", "overlay", "p", "parallel", "pgo", "pkgdir", "run",
	"shuffle", "skip", "tags", "timeout", "toolexec", "trace", "vet",
}

// namesGoPackages reports whether the arguments of go test name packages. After a flag that only the test binary
// knows, the go command expects no more of them.
func namesGoPackages(words []string) bool {
	for i := 0; i < len(words); i++ {
		flag := strings.TrimPrefix(strings.TrimPrefix(words[i], "-"), "-")
		if flag == words[i] {
			return true
		}
		name, _, hasValue := strings.Cut(strings.TrimPrefix(flag, "test."), "=")
		switch {
		case slices.Contains(goSwitches, name):
		case slices.Contains(goValues, name):
			if !hasValue {
				i++
			}
		default:
			return false
		}
	}
	return false
}

func goVerbose(words []string) bool {
	off := []string{"-v=false", "--v=false", "-v=0", "--v=0", "-test.v=false"}
	return slices.ContainsFunc(words, func(word string) bool {
		return hasFlag([]string{word}, "v") && !slices.Contains(off, word)
	})
}
