package fold

import (
	"fmt"
	"testing"

	"github.com/ralphloop/ralph"
)

func TestLearningsAreBounded(t *testing.T) {
	var s State
	for i := range 2 * maxLearnings {
		s.remember(ralph.LearningProposed{ID: fmt.Sprint(i), Text: "x"})
	}
	same(t, "learnings of an agent that never stops", maxLearnings, len(s.Learnings))
}
