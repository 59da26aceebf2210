//go:build unix

package pristine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// pairs builds edits from pairs of name and source.
func pairs(list ...string) []Edit {
	var edits []Edit
	for i := 0; i < len(list); i += 2 {
		edits = append(edits, Edit{Name: list[i], Source: list[i+1]})
	}
	return edits
}

// The workspace belongs to the user: a view in place neither edits nor restores anything.
func TestInPlaceChangesNothing(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		dir := filepath.Join(u.folder(t), "ws")
		write(t, dir, map[string]string{"a": "a", "b": "b"})
		u.own(t, dir)
		got := u.act(t, scene{
			Options: Options{Dir: dir, Folder: u.folder(t), Mode: InPlace},
			Scripts: []string{show, "printf mine >a; rm b; printf new >c"},
		})
		same(t, "scene", seen{Exits: []int{0, 0}, Outputs: []string{"./a a\n./b b\n", ""}}, got)
		after := look(t, dir)
		same(t, "a", "mine", after["a"].Text)
		same(t, "c", "new", after["c"].Text)
		if _, there := after["b"]; there {
			t.Error("b is back")
		}
	})
	dir := t.TempDir()
	write(t, dir, map[string]string{"a": "a"})
	if _, err := Open(t.Context(), Options{
		Dir: dir, Folder: t.TempDir(), Mode: InPlace, Edits: pairs("a", ""),
	}); !errors.Is(err, ErrInPlace) {
		t.Errorf("opened with an edit: %v", err)
	}
	v, err := Open(t.Context(), Options{Dir: dir, Folder: t.TempDir(), Mode: InPlace})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.ApplyEdits(pairs("a", "")); !errors.Is(err, ErrInPlace) {
		t.Errorf("edited: %v", err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	same(t, "a", "a", look(t, dir)["a"].Text)
}

// A home can be a workspace, and then the harness's own folders are inside it.
func TestFolderInTheWorkspaceLeavesOnlyInPlace(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "state", "views")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	mode, why, err := StrongestMode(t.Context(), dir, folder)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "mode", InPlace, mode)
	same(t, "why", "the folder for views would be inside the workspace: "+folder, why)
	v, err := Open(t.Context(), Options{Dir: dir, Folder: folder, Mode: mode})
	if err == nil {
		err = v.Close()
	}
	if err != nil {
		t.Error(err)
	}
	for _, mode := range []Mode{Overlay, Copy} {
		if _, err := Open(t.Context(), Options{Dir: dir, Folder: folder, Mode: mode}); err == nil {
			t.Errorf("%s: a view holds what it is made of", mode)
		}
	}
}

// A folder that cannot be written is no reason to run checks in the user's files.
func TestUnwritableFolderIsAnError(t *testing.T) {
	if mode, why, err := StrongestMode(t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Errorf("%s: %s", mode, why)
	}
}
