package snapshot_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// TestRestoreAfterDisasters lets an agent do its worst and wants everything back.
func TestRestoreAfterDisasters(t *testing.T) {
	origin := rich(t)
	for name, disaster := range map[string]struct {
		script string
		lost   []string // ignored files that the agent deleted, which no snapshot has
	}{
		"nothing":      {script: "true"},
		"reset --hard": {script: "git reset -q --hard HEAD~1"},
		"clean -fdx":   {script: "git clean -qffdx", lost: ignored},
		"rm -rf .git":  {script: "rm -rf .git"},
		"branch -D":    {script: "git branch -q -D side other; git tag -d v1"},
		"commit, amend, rebase": {script: "git add -A; git commit -qm a; git commit -q --amend -m b; git rebase -q " +
			"--onto HEAD~2 HEAD~1"},
		"checkout --orphan": {script: "git checkout -q --orphan new; git rm -rfq --cached .; git clean -qffd; echo " +
			"x >y; git add y; git commit -qm orphan"},
		"detached":                {script: "git checkout -qf HEAD~2"},
		"new repository":          {script: "rm -rf .git; git init -q -b trunk; git add -A; git commit -qm new"},
		".git a file":             {script: "rm -rf .git; echo 'gitdir: /elsewhere' >.git"},
		".git a link":             {script: "mv .git ../moved-$$; ln -s ../moved-$$ .git"},
		".git a dangling link":    {script: "rm -rf .git; ln -s /nowhere .git"},
		".git without HEAD":       {script: "rm .git/HEAD"},
		".git with a bad HEAD":    {script: "echo rubbish >.git/HEAD"},
		".git with an empty HEAD": {script: ": >.git/HEAD"},
		".git without refs":       {script: "rm -rf .git/refs .git/packed-refs"},
		".git without objects":    {script: "rm -rf .git/objects"},
		".git an empty folder":    {script: "rm -rf .git; mkdir .git"},
		".git a bare repository":  {script: "rm -rf .git; git init -q --bare .git"},
		".git with a bad config":  {script: "echo '[[[' >.git/config"},
		"gc after deletions": {script: "git branch -q -D side other; git tag -d v1; git reset -q --hard HEAD~3; git " +
			"reflog expire --expire=now --all; git gc -q --prune=now"},
		"objects deleted":      {script: "rm -rf .git/objects/??"},
		"bad index":            {script: "echo rubbish >.git/index"},
		"branch in the way":    {script: "git branch -q -D side; git branch side/below"},
		"all files deleted":    {script: "find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +", lost: ignored},
		"modes changed":        {script: "chmod -x run.sh; chmod +x lf.txt crlf.txt; chmod 600 empty"},
		"file to folder":       {script: "rm lf.txt empty; mkdir -p lf.txt/below empty; echo x >lf.txt/below/x"},
		"folder to file":       {script: "rm -rf src; echo x >src"},
		"folder to link":       {script: "mv src moved; ln -s moved src"},
		"folder to outer link": {script: "rm -rf src; mkdir ../outside-$$; ln -s ../outside-$$ src"},
		"link to folder":       {script: "rm link; mkdir link; echo x >link/other.go"},
		"file to link":         {script: "rm lf.txt; ln -s crlf.txt lf.txt"},
		"link to file":         {script: "rm link dangling; echo x >link; echo y >dangling"},
		"file to pipe":         {script: "rm lf.txt; mkfifo lf.txt; rm -rf src; mkfifo src"},
		"now ignored": {script: "echo '*' >.gitignore; rm lf.txt; git rm -q --cached crlf.txt; echo new " +
			">lf.txt; echo x >crlf.txt"},
		"ignored in the way": {script: "echo '/dangling/' >>.gitignore; echo '/src' >>.gitignore; rm dangling; " +
			"mkdir dangling; echo x >dangling/x; rm -rf src; git rm -rq --cached src; echo y >src"},
		"everything renamed":   {script: "mkdir up; mv src up/; mv run.sh run2.sh; mv link up/link"},
		"many new files":       {script: "mkdir -p new/a/b; for i in 1 2 3 4 5 6 7 8 9; do echo $i >new/a/b/$i; done"},
		"names like pathspecs": {script: "echo x >':!x'; echo y >':(top)y'; echo z >'[z]*'"},
		"merge under way": {script: "git checkout -qf side; echo a >lf.txt; git commit -qam a; git merge -q main " +
			"|| true"},
	} {
		t.Run(name, func(t *testing.T) {
			w := copied(origin, t)
			k, dir := newKeeper(w)
			id := snapshotOf(w, k)
			before, refs := treeOf(w), refsOf(w)

			w.Sh(disaster.script)
			after := treeOf(w)
			k = reopen(w, dir)
			done := restore(w, k, snapshot.RestoreInput{Snapshot: id, Git: true})
			same(w, "restored", without(before, disaster.lost...))
			if name == "branch in the way" { // which is then deleted by hand
				w.Git("branch", "-q", "-D", "side/below")
				restore(w, k, snapshot.RestoreInput{Snapshot: id, Git: true})
			}
			w.Git("fsck", "--connectivity-only")
			if diff := cmp.Diff(refs, recordedRefs(w, refs)); diff != "" {
				t.Errorf("refs (-want +got):\n%s", diff)
			}
			if got := w.Git("diff", "--cached", "--name-only"); got != "" {
				t.Errorf("the index differs from HEAD: %s", got)
			}

			if done.Undo == "" {
				t.Fatalf("no way back: %+v", done)
			}
			restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: done.Undo})
			if name == "file to pipe" { // there is nothing in a pipe to bring back
				after = without(after, "lf.txt", "src")
			}
			same(w, "undone", after)
		})
	}
}
