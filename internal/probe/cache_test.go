package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/agent"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func at(when time.Time) func() time.Time { return func() time.Time { return when } }

func TestCache(t *testing.T) {
	good := Report{Aspect{State: OK}, Aspect{State: OK}, Aspect{State: OK}, Aspect{State: OK}, true}
	bad := good
	bad.Tag = Aspect{Failed, "no tokens were reported"}
	unclear := good
	unclear.Isolation = Aspect{Unknown, "it does not tell its session"}
	cut := unclear
	cut.Settled = false
	key := Key{Agent: "claude", Program: "/bin/claude", Version: "2.1.0", Revision: "1-a"}
	other := func(change func(*Key)) Key {
		k := key
		change(&k)
		return k
	}
	for name, c := range map[string]struct {
		kept  Report
		ask   Key
		later time.Duration
		found bool
	}{
		"hit":                             {good, key, 0, true},
		"a good one stays good":           {good, key, 1000 * time.Hour, true},
		"a failure is believed for a day": {bad, key, 23 * time.Hour, true},
		"and not longer":                  {bad, key, 25 * time.Hour, false},
		"nor from the future":             {bad, key, -time.Hour, false},
		"so is what is not known":         {unclear, key, 23 * time.Hour, true},
		"not longer either":               {unclear, key, 25 * time.Hour, false},
		"cut short":                       {cut, key, 0, false},
		"another version":                 {good, other(func(k *Key) { k.Version = "2.1.1" }), 0, false},
		"another program":                 {good, other(func(k *Key) { k.Program = "/opt/claude" }), 0, false},
		"another probe":                   {good, other(func(k *Key) { k.Revision = "2-a" }), 0, false},
		"another agent":                   {good, other(func(k *Key) { k.Agent = "codex" }), 0, false},
		"unknown version":                 {good, other(func(k *Key) { k.Version = "" }), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			cache := Cache{Dir: filepath.Join(t.TempDir(), "probes"), Now: at(noon.Add(c.later))}
			kept := Kept{Key: key, ProbedAt: noon, Report: c.kept}
			if err := cache.Keep(kept); err != nil {
				t.Fatal(err)
			}
			got, found := cache.Find(c.ask)
			if !c.found {
				kept = Kept{}
			}
			if diff := cmp.Diff(kept, got); diff != "" || found != c.found {
				t.Errorf("found: %v\n%s", found, diff)
			}
		})
	}
}

func TestNewVersionTakesThePlaceOfTheOld(t *testing.T) {
	cache := Cache{Dir: t.TempDir(), Now: at(noon)}
	for _, version := range []string{"1.0", "1.1"} {
		key := Key{Agent: "claude", Program: "/bin/claude", Version: version}
		if err := cache.Keep(Kept{Key: key, ProbedAt: noon, Report: Report{Settled: true}}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(cache.Dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

func TestCacheInTrouble(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kept := Kept{Key: Key{Agent: "claude", Program: "/bin/claude", Version: "1.0"}, Report: Report{Settled: true}}
	if err := (Cache{Dir: filepath.Join(file, "probes"), Now: at(noon)}).Keep(kept); err == nil ||
		!strings.HasPrefix(err.Error(), "make cache folder: ") {
		t.Errorf("a file in the place of a folder: %v", err)
	}
	if err := (Cache{Now: at(noon)}).Keep(kept); err != nil {
		t.Errorf("no folder: %v", err)
	}
	spoilt := Cache{Dir: t.TempDir(), Now: at(noon)}
	if err := os.WriteFile(spoilt.file(kept.Key), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, found := spoilt.Find(kept.Key); found {
		t.Error("a broken file was believed")
	}
}

func TestRevisionFollowsTheDialect(t *testing.T) {
	seen := map[string]string{}
	for name := range rows {
		d, ok := agent.Find(name)
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		r := Revision(d)
		if r != Revision(d) {
			t.Errorf("%s: a revision that changes by itself", name)
		}
		if twin, taken := seen[r]; taken {
			t.Errorf("%s and %s have the revision %s", name, twin, r)
		}
		seen[r] = name
	}
}
