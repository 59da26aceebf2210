//go:build e2e

package cli_test

import "os"

// The long run: 200 kills.
func init() { os.Setenv("RALPH_TEST_KILLS", "200") }
