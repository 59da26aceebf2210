package runlog

import "github.com/ralphloop/ralph/fold"

// stateOf folds the log of a run as the command line does.
func stateOf(s *Store, run string) (*fold.State, error) {
	state := &fold.State{}
	if err := s.Fold(run, state); err != nil {
		return nil, err
	}
	return state, nil
}

// reopen takes a run up again with the state that its log gives.
func reopen(s *Store, run string) (*Log, *fold.State, Tail, error) {
	state := &fold.State{}
	log, tail, err := s.Reopen(run, state)
	if err != nil {
		return nil, nil, Tail{}, err
	}
	return log, state, tail, nil
}
