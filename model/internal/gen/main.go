// Command gen trims a snapshot of models.dev to the price table of package model.
//
//	go run ./internal/gen -api api.json -out prices.json
//
// The snapshot is the file api.json of that project. The table keeps the models of a few makers, at
// the makers' own prices, that can write text and call tools. select.go says what is left out, and
// why. The file supplement.json adds what the snapshot lacks: models that makers no longer list
// while others still sell them, models newer than the snapshot, and prices of caches. Each of its
// rows names its source. Remove a row once the snapshot includes it.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	api := flag.String("api", "", "the snapshot: api.json of models.dev")
	out := flag.String("out", "prices.json", "the table to be written")
	flag.Parse()
	if err := run(*api, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1) //nolint:forbidigo // this is a main
	}
}

func run(api, out string) error {
	text, err := os.ReadFile(api)
	if err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	list, err := selectModels(text)
	if err != nil {
		return err
	}
	source, err := list.source()
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, source, 0o644); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}
