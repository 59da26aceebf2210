package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// source formats the table as a JSON file, one row per line.
func (l list) source() ([]byte, error) {
	var rows [][]byte
	for _, r := range l.rows {
		row, err := json.Marshal(struct {
			Provider   string  `json:"provider"`
			Model      string  `json:"model"`
			Input      float64 `json:"input"`
			Output     float64 `json:"output"`
			CacheRead  float64 `json:"cache_read,omitempty"`
			CacheWrite float64 `json:"cache_write,omitempty"`
			Context    int64   `json:"context"`
		}{r.provider, r.model, r.cost.Input, r.cost.Output, r.cost.CacheRead, r.cost.CacheWrite, r.context})
		if err != nil {
			return nil, fmt.Errorf("write row: %w", err)
		}
		rows = append(rows, row)
	}
	newest, err := json.Marshal(l.newest)
	if err != nil {
		return nil, fmt.Errorf("write short names: %w", err)
	}
	return fmt.Appendf(nil, `{
  "as_of": %q,
  "prices": [
    %s
  ],
  "newest": %s
}
`, l.asOf, bytes.Join(rows, []byte(",\n    ")), newest), nil
}
