//go:build unix

package pristine

import (
	"errors"
	"path/filepath"
	"testing"
)

// Files that commands wrote are found, even if content, size and time were restored. Files that only
// got other permissions count as written, too. Files that were read, and files that edits added, do
// not.
func TestTouched(t *testing.T) {
	for _, mode := range []Mode{Overlay, Copy} {
		t.Run(string(mode), func(t *testing.T) {
			users(t, func(t *testing.T, u user) {
				top := u.folder(t)
				dir := filepath.Join(top, "ws")
				names := []string{
					"absent", "back", "deleted", "dir/a", "dir/b", "dir/sub/c", "linked", "put", "put-again", "put-back", "read",
					"restored", "rights", "same-size", "taken", "under/x", "written",
				}
				write(t, top, map[string]string{"base": "base"})
				files := map[string]string{}
				for _, name := range names {
					if name != "absent" {
						files[name] = "text of " + name
					}
				}
				write(t, dir, files)
				u.own(t, top)
				base := filepath.Join(top, "base")
				got := u.act(t, scene{
					Options: Options{
						Dir: dir, Folder: u.folder(t), Mode: mode, Files: names,
						Edits: pairs("put", base, "put-again", base, "put-back", base, "taken", "", "under/x/now-a-folder", base),
					},
					Scripts: []string{
						`cat read >/dev/null; chmod 600 rights; echo new >absent; echo new >taken; ` +
							`cp -p back kept; echo x >back; cat kept >back; rm deleted linked; ln -s read linked; ` +
							`echo x >put-again; cp -p same-size kept; tr t T <kept >same-size; touch -r kept same-size; ` +
							`cp -p restored kept; echo x >restored; cat kept >restored; touch -r kept restored; ` +
							`cp -p put-back kept; echo x >put-back; cat kept >put-back; touch -r kept put-back; ` +
							`echo x >>written; rm -r dir; mkdir dir; echo b >dir/b`,
						"echo x >>written",
						"true",
					},
					Watch: names,
				})
				same(t, "scene", seen{Mode: got.Mode, Outputs: []string{"", "", ""}, Exits: []int{0, 0, 0}, Touched: [][]string{
					{
						"back", "deleted gone", "dir/a gone", "dir/b", "dir/sub/c gone", "linked gone", "put-again", "put-back",
						"restored", "rights", "same-size", "written",
					},
					{"written"}, nil,
				}}, got)
			})
		})
	}
}

func TestTouchedInPlaceIsNotKnown(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a": "a"})
	v, err := Open(t.Context(), Options{Dir: dir, Folder: t.TempDir(), Mode: InPlace})
	if err != nil {
		t.Fatal(err)
	}
	if changes, err := v.Touched(t.Context(), []string{"a"}); changes != nil || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v, %v", changes, err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}
