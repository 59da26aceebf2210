package loop

import "github.com/ralphloop/ralph"

// keepRows keeps results of checks for the next run in the workspace, and returns a digest of them. A run in which a
// check passed and failed on one tree keeps none.
func (r *checkRunner) keepRows(end ralph.Status) (digest string) {
	keeper, ok := r.tree.examiner.(ralph.RowKeeper)
	if !ok || r.storage != nil || len(r.state.History.Flaked) > 0 {
		return ""
	}
	digest, err := keeper.KeepRows(end)
	if err != nil {
		r.warn("rows_lost", "the next run cannot use this one's results of checks: %v", err)
	}
	return digest
}
