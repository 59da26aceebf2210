package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ralphloop/ralph/internal/atomicfile"
)

// receipt records what an install did, so that it can be undone exactly.
type receipt struct {
	Agent   string   `json:"agent"`
	Project string   `json:"project,omitempty"`
	File    string   `json:"file"`    // with the hooks
	Existed bool     `json:"existed"` // the file was there before
	Before  []byte   `json:"before"`  // its bytes before the install
	After   string   `json:"after"`   // the hash of its bytes after the install
	Folders []string `json:"folders"` // that the install created, parents first
}

// before returns the bytes from before the install, nil if there is no receipt.
func (r *receipt) before() []byte {
	if r == nil {
		return nil
	}
	return r.Before
}

func hashOf(text []byte) string {
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:])
}

// receiptPath names the receipt after the file with the hooks: the same CLI may have several places.
func (p Place) receiptPath() string {
	return filepath.Join(p.State, "installs", p.Agent+"-"+hashOf([]byte(p.hooksFile()))[:16]+".json")
}

// readReceipt returns nil if there is none that can be used. An uninstall then removes Ralph's entries only.
func (p Place) readReceipt() *receipt {
	text, err := os.ReadFile(p.receiptPath())
	var r receipt
	if err != nil || json.Unmarshal(text, &r) != nil || r.File != p.hooksFile() {
		return nil
	}
	return &r
}

func (p Place) saveReceipt(r receipt) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(p.receiptPath()), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(p.receiptPath(), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("record the install: %w", err)
	}
	return nil
}

func (p Place) removeReceipt() error {
	if err := os.Remove(p.receiptPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the record of the install: %w", err)
	}
	_ = os.Remove(filepath.Dir(p.receiptPath())) // fails if there are other installs
	return nil
}
