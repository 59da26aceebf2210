package gitrepo

import (
	"fmt"
	"slices"
	"testing"
)

func TestLooksUnfinished(t *testing.T) {
	cases := []struct {
		line string
		want bool
	}{
		{"// TODO: write this", true},
		{"//TODO write this", true},
		{"# TODO", true},
		{"TODO", true},
		{"TODO\r\n", true},
		{"(TODO)", true},
		{"fun x() = TODO()", true},
		{"TODO.", true},
		{"TODO - later", true},
		{"see TODO.md", false},
		{"docs/TODO-list", false},
		{"TODOS", false},
		{"TODO_LIST = 1", false},
		{"myTODO", false},
		{"todo list", false},
		{"Todo: buy milk", false},
		{"/* FIXME */", true},
		{"FIXMEs", false},
		{"XXX broken", true},
		{"mktemp x.XXXXXX", false},
		{"panic(\"not implemented\")", true},
		{"panic(\"Not Implemented\")", true},
		{"NOT IMPLEMENTED", true},
		{"not yet implemented", true},
		{"this is implemented", false},
		{"why not implement it", false},
		{"cannot implemented", false},
		{"unimplemented!()", true},
		{"panic(\"unimplemented\")", true},
		{"return status.Error(codes.Unimplemented, msg)", false},
		{"UnimplementedGreeterServer", false},
		{"raise NotImplementedError", true},
		{"throw new NotImplementedException();", true},
		{"return NotImplemented", false},
		{"http.StatusNotImplemented", false},
		{"todo!()", true},
		{"    todo!(\"x\")", true},
		{"todo!", false},
		{"# Placeholder implementation", true},
		{"placeholder=\"Name\"", false},
		{"", false},
	}
	for _, c := range cases {
		t.Run(c.line, func(t *testing.T) {
			if got := looksUnfinished([]byte(c.line)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// The reader gets the diff in whatever pieces the pipe holds.
func TestDiffReaderDoesNotCareWhereWritesEnd(t *testing.T) {
	diff := "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@ func\n-old\n+one\n++++ b/two\n" +
		"\\ No newline at end of file\n" +
		"diff --git a/bin b/bin\nBinary files a/bin and b/bin differ\n" +
		"diff --git a/y z b/y z\n--- /dev/null\n+++ b/y z\t\n@@ -0,0 +1,2 @@\n+\n+three\n" +
		"diff --git \"a/\\303\\251\\\"\\t\" \"b/\\303\\251\\\"\\t\"\n--- \"a/\\303\\251\\\"\\t\"\n" +
		"+++ \"b/\\303\\251\\\"\\t\"\n@@ -3,0 +4 @@\n+four\n" +
		"--- a/gone\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-+five\n--- six\n"
	want := []string{"x: one", "x: +++ b/two", "y z: ", "y z: three", "é\"\t: four"}
	for size := 1; size <= len(diff); size++ {
		var got []string
		reader := diffReader{line: func(name string, text []byte) { got = append(got, fmt.Sprintf("%s: %s", name, text)) }}
		for piece := range slices.Chunk([]byte(diff), size) {
			if n, err := reader.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("wrote %d, %v", n, err)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("in pieces of %d: got %q, want %q", size, got, want)
		}
	}
}

func TestParseStatusRefusesWhatItCannotRead(t *testing.T) {
	if _, err := parseStatus("1 .M N...\x00"); err == nil {
		t.Error("no error")
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add("# branch.oid 12\x001 .M N... 100644 100644 100644 1 2 a b\x00? new/\x00u UU N... 1 2 3 4 5 6 7 c\x00")
	f.Fuzz(func(t *testing.T, out string) {
		st, err := parseStatus(out)
		if err != nil {
			return
		}
		for i := 1; i < len(st.paths); i++ {
			if st.paths[i-1].name >= st.paths[i].name {
				t.Fatalf("not sorted or not unique: %+v", st.paths)
			}
		}
	})
}

func FuzzDiffReader(f *testing.F) {
	f.Add([]byte("+++ \"b/\\303x\"\n@@ -1 +1 @@\n-a\n+b\n"), 3)
	f.Fuzz(func(t *testing.T, diff []byte, size int) {
		read := func(size int) []string {
			var got []string
			reader := diffReader{
				line: func(name string, text []byte) { got = append(got, name+"\x00"+string(text[:min(len(text), 100)])) },
			}
			for piece := range slices.Chunk(diff, max(size, 1)) {
				if _, err := reader.Write(piece); err != nil {
					t.Fatal(err)
				}
			}
			return got
		}
		if len(diff) > lineLimit {
			return
		}
		if whole, pieces := read(len(diff)), read(size); !slices.Equal(whole, pieces) {
			t.Errorf("whole %q, in pieces of %d %q", whole, size, pieces)
		}
	})
}
