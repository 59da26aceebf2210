//go:build linux

package cheats

import "encoding/json"
import "os"

func saveRows(rows []row) error {
	text, err := json.MarshalIndent(rows, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile("testdata/results.json", append(text, '\n'), 0o644)
}

func render(all []scenario, rows []row) (string, error) { return "", nil }
