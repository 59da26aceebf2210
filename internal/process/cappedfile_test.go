package process

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCappedFile(t *testing.T) {
	tests := []struct {
		name   string
		limit  int64
		writes []string
		want   string
	}{
		{"nothing", 10, nil, ""},
		{"less than the head", 10, []string{"abc"}, "abc"},
		{"the head", 10, []string{"abcde"}, "abcde"},
		{"one under the cap", 10, []string{"abcdefghi"}, "abcdefghi"},
		{"the cap", 10, []string{"abcdefghij"}, "abcdefghij"},
		{"the cap in pieces", 10, []string{"abcd", "efgh", "ij"}, "abcdefghij"},
		{"one over the cap", 10, []string{"abcdefghijk"}, "abcde\n[ralph: 1 bytes cut here]\nghijk"},
		{"one over the cap, by one", 10, []string{"abcdefghij", "k"}, "abcde\n[ralph: 1 bytes cut here]\nghijk"},
		{"one whole turn", 10, []string{"abcdefghij", "klmno"}, "abcde\n[ralph: 5 bytes cut here]\nklmno"},
		{
			"several turns in one write",
			10,
			[]string{"abcdefghijklmnopqrstuvwxyz"},
			"abcde\n[ralph: 16 bytes cut here]\nvwxyz",
		},
		{
			"several turns in pieces",
			10,
			strings.Split("abcdefghijklmnopqrstuvwxyz", ""),
			"abcde\n[ralph: 16 bytes cut here]\nvwxyz",
		},
		{"odd cap", 5, []string{"abcdefgh"}, "ab\n[ralph: 3 bytes cut here]\nfgh"},
		{"cap of one", 1, []string{"abc"}, "\n[ralph: 2 bytes cut here]\nc"},
		{"empty writes", 4, []string{"", "abc", "", "def", ""}, "ab\n[ralph: 2 bytes cut here]\nef"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var writes [][]byte
			for _, w := range test.writes {
				writes = append(writes, []byte(w))
			}
			if got := writeCapped(t, test.limit, writes); got != test.want {
				t.Errorf("file = %q, want %q", got, test.want)
			}
		})
	}
}

// TestCappedFileOracle compares random writes around the boundaries, also of the
// buffer that puts the end in order, with the rule written down plainly.
func TestCappedFileOracle(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	noise := rand.NewChaCha8([32]byte{})
	for _, limit := range []int64{2, 3, 7, 100, 1 << 10, 64<<10 - 1, 64 << 10, 64<<10 + 1, 200_001} {
		for range 20 {
			var writes [][]byte
			for size := random.Int64N(4 * limit); size > 0; {
				w := make([]byte, 1+random.Int64N(size))
				_, _ = noise.Read(w)
				writes = append(writes, w)
				size -= int64(len(w))
			}
			all := bytes.Join(writes, nil)
			if got, want := writeCapped(t, limit, writes), plainlyCapped(all, limit); got != want {
				t.Fatalf("seed %d, cap %d, %d bytes in %d writes: file differs", seed, limit, len(all), len(writes))
			}
		}
	}
}

func plainlyCapped(all []byte, limit int64) string {
	cut := int64(len(all)) - limit
	if cut <= 0 {
		return string(all)
	}
	return fmt.Sprintf("%s\n[ralph: %d bytes cut here]\n%s", all[:limit/2], cut, all[limit/2+cut:])
}

func writeCapped(t *testing.T, limit int64, writes [][]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	f, err := CreateCapped(path, limit)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, w := range writes {
		if n, err := f.Write(w); n != len(w) || err != nil {
			t.Fatalf("Write of %d bytes = %d, %v", len(w), n, err)
		}
		total += len(w)
	}
	if f.total != int64(total) || f.Truncated() != (int64(total) > limit) {
		t.Errorf("Bytes = %d, Truncated = %v after %d bytes", f.total, f.Truncated(), total)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCreateCappedReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(path, []byte("of an earlier run"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := CreateCapped(path, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || len(text) > 0 {
		t.Errorf("file = %q, %v, want it empty", text, err)
	}
}

func TestCreateCappedRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		path  string
		limit int64
	}{{filepath.Join(dir, "out"), 0}, {filepath.Join(dir, "out"), -1}, {filepath.Join(dir, "missing", "out"), 10}} {
		if f, err := CreateCapped(test.path, test.limit); err == nil {
			f.Close()
			t.Errorf("CreateCapped(%q, %d) made a file", test.path, test.limit)
		}
	}
}

func TestTurnRound(t *testing.T) {
	for size := range 50 {
		p := make([]byte, size)
		for i := range p {
			p[i] = byte(i)
		}
		want := slices.Clone(p)
		slices.Reverse(want)
		if reverseBytes(p); !bytes.Equal(p, want) {
			t.Errorf("%d bytes: got %v, want %v", size, p, want)
		}
	}
}
