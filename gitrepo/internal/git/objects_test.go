package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// objectsFolder is one with a loose object, a pack, an object that is only linked to, and
// rubbish; it borrows from another one.
func objectsFolder(t *testing.T) (folder string, objects map[string]string) {
	t.Helper()
	folder, other := t.TempDir(), t.TempDir()
	loose := func(c string) string { return filepath.Join(strings.Repeat(c, 2), strings.Repeat(c, 38)) }
	objects = map[string]string{
		loose("a"):                            "loose",
		loose("b"):                            "linked to",
		filepath.Join("pack", "pack-01.pack"): "pack",
		filepath.Join("pack", "pack-01.idx"):  "index",
		loose("c"):                            "borrowed",
	}
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o444)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range objects {
		switch text {
		case "borrowed":
			write(filepath.Join(other, name), text)
		case "linked to":
			write(filepath.Join(other, "elsewhere"), text)
			if err := errors.Join(os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o755),
				os.Symlink(filepath.Join(other, "elsewhere"), filepath.Join(folder, name))); err != nil {
				t.Fatal(err)
			}
		default:
			write(filepath.Join(folder, name), text)
		}
	}
	write(filepath.Join(folder, "info", "alternates"), "# a comment\n\n"+other+"\n")
	write(filepath.Join(other, "info", "alternates"), folder+"\n") // in a circle
	write(filepath.Join(folder, "pack", "tmp_pack_xyz"), "rubbish")
	write(filepath.Join(folder, "aa", "tmp_obj_xyz"), "rubbish")
	write(filepath.Join(folder, "pack", "multi-pack-index"), "would name packs that are not there")
	return folder, objects
}

func readAll(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range scan.Walk(folder, ".") {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.FromSlash(name)] = string(text)
	}
	return files
}

func TestCopyObjects(t *testing.T) {
	from, want := objectsFolder(t)
	to := t.TempDir()
	for range 2 {
		if err := CopyObjects(from, to, 1<<10); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, readAll(t, to)); diff != "" {
			t.Error(diff)
		}
	}
	for name, text := range want { // in place, as a shell does it
		path := filepath.Join(from, name)
		if text == "borrowed" {
			continue
		}
		junk := []byte("junk, longer than before")
		if err := errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, junk, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := CopyObjects(from, to, 1<<10); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, readAll(t, to)); diff != "" {
		t.Errorf("after the originals were overwritten: %s", diff)
	}
	restored := t.TempDir()
	if err := os.CopyFS(restored, os.DirFS(to)); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(restored, "pack", "pack-01.pack")
	if err := errors.Join(os.Chmod(broken, 0o644), os.WriteFile(broken, []byte("junk"+"junk"), 0o644),
		RestoreObjects(to, restored, 1<<10)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, readAll(t, restored)); diff != "" {
		t.Errorf("after a restore: %s", diff)
	}
	if err := os.RemoveAll(from); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, readAll(t, to)); diff != "" {
		t.Errorf("after the first folder went: %s", diff)
	}
}

func TestObjectsAreCopiedAllOrNone(t *testing.T) {
	from, want := objectsFolder(t)
	to, size := t.TempDir(), int64(0)
	for _, text := range want {
		size += int64(len(text))
	}
	if err := CopyObjects(from, to, size-1); !errors.Is(err, errCopyLimit) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(map[string]string{}, readAll(t, to)); diff != "" {
		t.Error(diff)
	}
}
