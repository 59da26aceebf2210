//go:build e2e

package cli_test

import "testing"

// The long run: 200 kills, and the scripts in testdata/long.
func init() { defaultKills = 200 }

func TestLongScripts(t *testing.T) { runScripts(t, "testdata/long") }
