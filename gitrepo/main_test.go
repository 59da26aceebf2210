package gitrepo_test

import (
	"os"
	"testing"

	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

func TestMain(m *testing.M) { os.Exit(gittest.Main(m)) }
