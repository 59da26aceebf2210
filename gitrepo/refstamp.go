package gitrepo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// refStamp tells whether a branch, a tag or HEAD has moved, by the files that git keeps
// them in: asking git takes a process. It is not known where refs are kept otherwise, or
// are too many to look at each.
func (k *Keeper) refStamp() (stamp string, known bool) {
	const most = 2_000
	common, own := k.snaps.home.Common, k.snaps.home.GitDir
	if _, err := os.Lstat(filepath.Join(common, "reftable")); err == nil {
		return "", false
	}
	hash := sha256.New()
	head, ok := readConfiguration(filepath.Join(own, "HEAD"))
	if !ok {
		return "", false
	}
	fmt.Fprintf(hash, "%s\n%v\n", head, stampOf(filepath.Join(common, "packed-refs")))
	files := 0
	for _, folder := range []string{filepath.Join(common, "refs"), filepath.Join(own, "refs")} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir():
				return nil
			case files == most:
				return fs.ErrInvalid
			}
			files++
			content, _ := readConfiguration(path)
			fmt.Fprintf(hash, "%q %q\n", path, content)
			return nil
		})
		if err != nil && (folder == filepath.Join(common, "refs") || !os.IsNotExist(err)) {
			return "", false
		}
		if own == common {
			break
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), true
}
