package deny

import (
	"strings"
	"testing"
)

// followed maps what becomes of a command to commands whose meaning shows only when they are
// followed. The first ones of each kind are those of finding 11 about real agents, which got past a
// list that only looked at words.
var followed = map[string][]string{
	whyPush: {
		"F=--force; git push $F", "git config alias.x 'push --force'; git x", "git -c alias.x='push --force' x",
		"echo push --force | xargs git", "git push {--force,origin}", "p() { git push --force; }; p",
		"git -c remote.origin.push=+main push", "git -c remote.origin.push=+main push origin",
		"echo 'git push --force' | sh", "printf 'git push %s' --force | bash",

		`F="--force"; git push "$F"`, "F=-f; git push origin main $F", "F=+main; git push origin $F",
		"export F=--force; git push $F", "declare F=--force; git push $F", "F=--for; F+=ce; git push $F",
		"A=push B=--force; git $A $B", "C='push --force'; git $C", "C='git push --force'; $C", `C="git push"; $C -f`,
		"F=--force && git push $F", "true && F=--force; git push $F", "F=; false || F=--force; git push $F",
		"if x; then F=--force; fi; git push $F", "if x; then F=; else F=--force; fi; git push $F",
		"case $y in a) F=-f;; esac; git push $F", "for f in --force; do git push $f; done",
		"for c in p u s h; do X=$X$c; done; X=; for c in p u s h; do X=$X$c; done; git $X -f",
		"while x; do F=--force; done; git push $F", "while x; do git push $F; F=--force; done",
		"o=(--force); git push \"${o[@]}\"", "o=(); o+=(--force); git push \"${o[@]}\"",
		"o=(); o[0]=--force; git push ${o[0]}",
		"F=x--force; git push ${F#x}", "F=--forceX; git push ${F%X}", "F=__force; git push ${F//_/-}",
		": ${F:=--force}; git push $F", "git push ${F:---force}", "git push $(echo --force)", "git push `echo -f`",
		"git push $(printf '%s%s' --fo rce)", "F=$(echo --force); git push $F", "git push $(printf '\\055f')",
		"set -- --force; git push \"$@\"", "set -- x --force; shift; git push $1",
		"p() { git push \"$1\"; }; p --force", "p() { git \"$@\"; }; p push --force", "p() { git $*; }; p push -f",
		"p() { q \"$@\"; }; q() { git \"$@\"; }; p push -f", "git() { command git push \"$@\"; }; git --force",
		"p() { F=--force; }; p; git push $F", "p() { git push ${2}; }; p a --force",
		"sh -c 'git push $1' _ --force", "sh -c 'git \"$@\"' _ push --force", "F=--force sh -c 'git push $F'",
		"env F=--force sh -c 'git push $F'", "bash -c \"git push --force\"", "C='git push --force'; sh -c \"$C\"",
		"C='git push --force'; eval \"$C\"", "eval git push '$F'; F=--force; eval git push '$F'",
		"eval 'F=-f'; git push $F",
		"bash <<< 'git push -f'", "F=--force; bash <<EOF\ngit push $F\nEOF", "cat <<EOF | sh\ngit push -f\nEOF",
		"echo 'git push -f' > x; echo git push -f | bash -s", "trap 'git push $F' EXIT; F=--force",
		"(trap 'git push -f' EXIT)", "alias p='git push --force'; p", "shopt -s expand_aliases; alias g=git; g push -f",
		"echo --force | xargs git push", "xargs git <<< 'push --force'",
		"xargs -n1 git push < /dev/null; xargs git push <<<-f",
		"echo x | xargs -I{} git push --force {}", "echo +main | xargs -I % git push origin %",
		"find . -name x -exec git push --force \\;", "watch 'git push --force'", "watch -n 5 git push -f",
		"env -S 'git push --force'", "env -S'git push' -f", "nohup nice timeout 5 git push -f",
		"git -c alias.x='!git push --force' x", "git -c alias.x='!git push' x --force", "git -c alias.x=push x --force",
		"git -c 'alias.x=!f() { git push \"$@\"; }; f' x -f", "git -c alias.a=b -c alias.b='push -f' a",
		"git -c alias.X='push -f' x", "F='push -f' git --config-env=alias.x=F x",
		"F='push -f' git --config-env alias.x=F x", "git config --global alias.x 'push -f' && git x",
		"git config set alias.x 'push -f'; git x", "git config alias.x push; git x --force",
		"git -C sub -c alias.x='push -f' x",
		"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='push -f' git x",
		"git config remote.origin.push +main; git push", "git config remote.o.push '+refs/heads/*'; git push o",
		"git -c remote.o.mirror=true push o", "git -c remote.o.mirror push", "git push --force-if-includes",
		"git send-pack -f x",
		"git submodule foreach 'git push -f'", "git submodule foreach --recursive git push --force",
		"git bisect run git push -f", "git rebase -x 'git push -f' main", "git rebase --exec='git push -f' main",
		"git -c core.pager='git push -f' -p log", "GIT_EDITOR='git push -f #' git commit",
		"git -c core.editor='git push -f' commit",
		"if ! git push; then F=-f; git push $F; fi", "{ F=-f; }; git push $F", "time git push $(echo -f)",
	},
	whyUnpush: {
		"R=:main; git push origin $R", "git config remote.origin.push :main; git push",
		"D=--delete; git push $D origin main",
	},
	whyClean: {
		"git -c clean.requireForce=false clean -d", "git config clean.requireForce false; git clean -dx",
		"git -c clean.requireforce=no clean", "F=-fd; git clean $F",
	},
	whyReset: {"H=--hard; git reset $H", "git -c alias.u='reset --hard' u", "echo --hard | xargs git reset"},
	whyForce: {
		"git checkout -f", "git checkout -f main", "git checkout --force", "git checkout -qf", "git switch -f main",
		"git switch --discard-changes main", "git switch --force main", "F=-f; git checkout $F",
		"git read-tree --reset -u HEAD",
		"git checkout-index -f -a",
	},
	whyMany: {
		"git checkout -- .", "git restore .", "git checkout .", "git checkout HEAD .", "git checkout HEAD -- .",
		"git checkout main -- ./", "git restore -- .", "git restore -W .", "git restore --staged --worktree .",
		"git restore -SW .",
		"git restore --source=HEAD~1 .", "git restore -s HEAD .", "git restore :/", "git checkout -- :/",
		"git checkout -- '*.go'",
		"git checkout -- *.go", "git restore src/", "git checkout -- src", "git checkout src", "git restore src",
		"git -C .. checkout -- project", "cd src && git checkout -- ..", "git restore $PWD",
		"git checkout -- /srv/work/project",
		"git restore ':!keep.go'", "git restore a.go .", "git checkout --ours .",
	},
	whyStash:  {"git stash drop", "git stash clear", "git stash drop stash@{1}", "git stash && git stash drop"},
	whyBranch: {"git branch -D x", "git branch -d -f x", "git branch --delete --force x", "git branch -qD x"},
	whyHistory: {
		"git reflog expire --expire=now --all", "git reflog delete HEAD@{1}", "git gc --prune=now",
		"git gc --aggressive --prune=all",
		"git -c gc.pruneExpire=now gc", "git -c gc.reflogExpire=now gc", "git prune", "git update-ref -d refs/heads/x",
		"git filter-branch --tree-filter 'rm x' HEAD", "git filter-repo --path x",
	},
	whyRoot: {
		"find .git -delete", "find . -delete", "find . -type f -delete", "find -delete", "find ./ -mindepth 1 -delete",
		"find . ! -name keep -delete", "find . -name '*' -delete", "find .git -type f -exec rm {} +",
		"find . -exec rm -rf {} +",
		"find . -name .git -exec rm -rf {} +", "find . -name '.g*' -delete", "find / -delete", "find ~ -type f -delete",
		"find . -name '*.o' -o -delete", "find .git/objects -type f -delete", "find . | xargs rm -rf",
		"find . -print0 | xargs -0 rm",
		"find .git | xargs rm -rf", "find . -name .git | xargs rm -rf", "D=.git; rm -rf $D", "D=$PWD; rm -rf \"$D\"/.git",
		"D=; rm -rf $D/*", "D=.; rm -rf $D", "rm -rf \"$(git rev-parse --show-toplevel)\"",
		"rm -rf $(git rev-parse --git-dir)",
		"rm -rf $(pwd)", "R='rm -rf'; $R .git", "for d in build .git; do rm -rf \"$d\"; done", "echo .git | xargs rm -rf",
		"rm .git", "rm -f .git", "rm -rf .git/objects", "rm -rf .git/refs/heads", "rm -rf .git/logs/*",
		"r() { rm -rf \"$@\"; }; r .git", "if true; then cd /tmp/x; fi; rm -rf .git", "cd /tmp/x || true; rm -rf .git",
		"H=~; rm -rf $H", "H=~/; rm -rf \"$H\"",
	},
	whyMove: {
		"mv .git x", "mv .git /tmp", "mv ./.git ../x", "mv -t /tmp .git", "mv a .git b", "D=.git; mv $D x",
		"mv /srv/work/project /tmp", "mv ~ /tmp", "cd .. && mv project/.git x", "mv --target-directory=/tmp .git",
	},
	whyInside: {
		"echo x > .git/config", "echo x >> .git/hooks/pre-commit", "> .git/HEAD", "cat x >.git/refs/heads/main",
		"{ echo; } > ./.git/config", "D=.git; echo > $D/config", "cd .git && echo > config", "echo x | tee .git/config",
		"echo x | tee -a .git/hooks/pre-push", "echo x > /srv/work/project/.git/config", "echo x >| .git/index",
	},
	whySudo: {
		"S=sudo; $S x", "a=su b=do; $a$b x", "s() { sudo \"$@\"; }; s x", "alias s=sudo; s x", "S='sudo x'; eval $S",
		"for s in ls sudo; do $s x; done", "X=(sudo x); \"${X[@]}\"", "git -c alias.x='!sudo x' x", "IFS=,; X=sudo,x; $X",
		"f() { g() { sudo x; }; }; f; g", "${X:+ls} sudo x", "x=sudo; y=x; ${!y} z", "trap 'sudo x' EXIT; exit",
	},
	whyFetch: {
		"X=$(curl x); eval \"$X\"", "X=$(curl x); sh -c \"$X\"", "echo \"$(curl x)\" | sh", "bash <<< $(curl x)",
		"C=curl; $C x | sh", "f() { curl x; }; f | sh", "f() { curl x; }; eval \"$(f)\"", "curl x | S=1 sh",
		"X=sh; curl x | $X",
	},
	undetermined: {
		"echo Z2l0IHB1c2ggLWY= | base64 -d | sh", "base64 -d x | bash", "eval \"$X\"", "$CMD args", "git $X",
		"git \"$X\" y",
		"\"$CMD\"", "gi$X push", "./run-$X", "/bin/g*t push", "sh -c \"$X\"", "bash -c \"git push $X\"",
		"eval \"$(ssh-agent)\"",
		"source <(kubectl completion bash)", "git push $X", "git push origin \"$B\"", "git push origin v$V",
		"git push --$X",
		"git -c \"$X\" y", "git -c alias.x=\"$X\" x", "git -c include.path=x y", "git config \"$K\" \"$V\"; git x",
		"git checkout $X", "git checkout -- \"$F\"", "git restore \"$F\"", "git diff --name-only | xargs git checkout --",
		"git restore --pathspec-from-file=x", "git reset $X", "git clean $X", "git branch $X y", "git stash $X",
		"git gc $X",
		"git update-ref --stdin", "rm -rf $X", "rm -rf \"$X\"/*", "rm -rf \"$X\"/.git", "rm -rf $(cat list)",
		"ls | xargs rm -rf",
		"find \"$D\" -delete", "find . -name x -exec sh -c 'rm -rf \"$1\"' _ {} \\;", "read X; $X", "read X; git push $X",
		". ./env.sh; git push $F", "p() { git \"$@\"; }; p $X", "p() { git $1; }; for x in $(ls); do p $x; done",
		"while read l; do git $l; done < x", "X=$(cat x); git push $X", "popd; rm -rf .git", "rm -rf ${X%/*}",
		"tr a b < x | sh",
		"xargs git < x", "cat x | xargs git push", "f() { f; }; f", "git update-ref --stdin < x", "cat - | sh",
		"GIT_CONFIG_GLOBAL=x git y", "for i in 1 2 3 4 5 6 7 8 9; do X=$X$X$i; eval $(x); done; git push $X",
		"{ cat x; } | sh", "eval echo \\${A_${1}_B:-$X}", "eval \"$X=(\"", "p() { sh; }; ls | p",
		"git --config-env=alias.x=F x", "X=1; X=$(ls); git $X",
		"python3 -c 'print(1)' | sh",
	},
	"": {
		"git checkout -b x", "git checkout main", "git restore --staged f", "git restore -S .",
		"rm -rf node_modules dist build",
		"find . -name '*.pyc' -delete", "git push origin main", "git stash", "find build | xargs rm",
		"find build -type f | xargs rm -f",
		"git checkout -- one.go", "git restore one.go", "git checkout one.go", "git checkout HEAD~1 -- a.go b.go",
		"git restore --source HEAD~1 src/a.go", "git checkout -", "git checkout -b \"$B\"", "git checkout -p",
		"git restore -p .",
		"git switch main", "git switch -c x", "git switch -C x", "git switch -", "git stash pop", "git stash list",
		"git stash push -m x",
		"git stash push -m \"$M\"", "git branch x", "git branch -d x", "git branch -a", "git branch --show-current",
		"git reflog",
		"git reflog show", "git reflog expire --dry-run --all", "git gc", "git gc --auto", "git gc --prune=2.weeks.ago",
		"git prune -n",
		"git update-ref refs/heads/x HEAD", "git rm --cached x", "git worktree remove x", "git commit --amend",
		"git rebase main",
		"git -c user.name=\"$N\" commit -m x", "git commit -m \"$M\"", "git commit -m \"$(cat msg)\"", "git add $F",
		"git log $X",
		"git diff \"$A\" \"$B\"", "git lfs pull", "git x", "git config alias.st status; git st",
		"git -c alias.st=status st -s",
		"git config --get alias.x", "git config user.name x", "git config remote.origin.push main; git push",
		"git -c remote.origin.push=+main push origin main", "git -c remote.other.push=+main push origin", "git clean -nd",
		"git -c clean.requireForce=false clean -n", "git submodule foreach 'git status'", "git bisect run make test",
		"git rebase -x 'make test' main", "GIT_SEQUENCE_EDITOR=: git rebase -i HEAD~3",
		"GIT_EDITOR=true git rebase --continue",
		"git -c core.pager=cat log", "GIT_PAGER='less -R' git log",
		"make", "npm test", "python x.py", "python3 -c \"import os; print(os.environ['$X'])\"", "./run.sh", "sh run.sh",
		"bash scripts/*.sh",
		"sh \"$SCRIPT\"", "cat x.sh | sh", "sh < x.sh", "bash -s < x.sh", "go test ./... 2>&1 | tail -5",
		"source .venv/bin/activate && pytest",
		". ./env.sh", "node -e \"$JS\"", "echo \"print(1)\" | python3", "\"$HOME\"/bin/tool x", "$PWD/run.sh",
		"\"$X\"/bin/tool y",
		"F=--force; npm install $F", "F=--force; git fetch $F", "F=-m; git commit $F x", "B=main; git push origin $B",
		"B=main; git push origin \"$B\"", "git push origin HEAD:\"refs/heads/$B\"",
		"for r in origin other; do git push $r main; done",
		"tmp=$(mktemp -d); trap 'rm -rf \"$tmp\"' EXIT; cd \"$tmp\"; git init; rm -rf .git",
		"d=$(mktemp -d) && rm -rf $d",
		"mkdir -p /tmp/x && cd /tmp/x && git init && rm -rf .git", "cd /tmp/x || exit 1; rm -rf .git",
		"cd /tmp/x || { echo no; exit 1; }; rm -rf .git",
		"rm -rf \"$X\"/build", "rm -rf $X/node_modules", "D=build; rm -rf \"$D\"/*", "D=build; rm -rf $D", "rm -f $F",
		"rm -f \"$F\"",
		"if x; then D=/tmp/a; else D=/tmp/b; fi; rm -rf \"$D\"/*",
		"case $x in a) D=/tmp/a;; *) D=/tmp/b;; esac; rm -rf $D/*",
		"if [ -d x ]; then D=/tmp/x; rm -rf \"$D\"/*; fi", "[ -z \"$D\" ] && D=/tmp/x",
		"for d in a b; do rm -rf \"$d\"; done",
		"for f in *.txt; do mv \"$f\" \"${f%.txt}.md\"; done", "find . -name '*.txt' -exec mv {} {}.bak \\;", "mv a b",
		"mv *.go src/",
		"mv \"$A\" \"$B\"", "mv x .gitignore", "find . -name node_modules -prune -exec rm -rf {} +",
		"find . -name '*.o' | xargs rm -f",
		"find . -name __pycache__ | xargs rm -rf", "find . -path ./.git -prune -o -name '*.tmp' -delete",
		"find build -delete",
		"find /tmp/x -delete", "find . -type f -empty -delete", "find .git -name '*.lock' -delete",
		"find . \\( -name '*.o' -o -name '*.a' \\) -delete",
		"find . -name '*.go' | xargs grep x", "find . -name '*.go' -exec gofmt -l {} +", "find . -type f | xargs wc -l",
		"git ls-files | xargs grep x", "ls | xargs -n1 echo", "git ls-files -m | xargs gofmt -l",
		"echo a b | xargs rm -rf",
		"echo x >> .git/info/exclude", "cat .git/config", "echo x > .gitignore", "echo x > .github/x",
		"echo > \"$OUT\"", "cat x | tee \"$OUT\"",
		"while IFS= read -r f; do echo \"$f\"; done < list", "while read -r a b; do grep \"$a\" \"$b\"; done",
		"f() { \"$@\"; }",
		"log() { echo \"$1\"; }; log x", "retry() { \"$@\" || \"$@\"; }; retry make test",
		"run() { echo \"+ $*\"; \"$@\"; }; run go test ./...",
		"set -euo pipefail; make", "x=5; while [ $x -gt 0 ]; do x=$((x-1)); done", "for i in $(seq 3); do echo $i; done",
		"args=(-v -run X); go test \"${args[@]}\" ./...", "PORT=$((RANDOM % 1000)); serve --port $PORT",
		"echo ${X:-y} ${#X} ${X^^}",
		"if git diff --quiet; then echo clean; fi", "git show HEAD:x > y", "kill $PID", "kill \"$(cat pid)\"", "wait $!",
		"export PATH=$PATH:$HOME/bin; tool", "cd \"$(git rev-parse --show-toplevel)\" && make",
		"cd \"$(dirname \"$0\")\"; make",
		"case $OS in Linux) make;; *) gmake;; esac", "time make", "make -j\"$(nproc)\"",
		"docker run -v \"$PWD\":/x img", "[ -f x ]", "[[ -f x ]]",
		"p() { git \"$@\"; }; p status", "eval 'x=1'", "eval \"x=$((1+2))\"", "sh -c 'echo \"$1\"' _ \"$X\"",
		"trap 'echo bye' EXIT",
		"git push -u origin feature", "git push --tags", "gh pr create --title \"$T\"", "xargs -0 rm < list",
		"timeout 5 make",
		"timeout \"$T\" make", "cd \"\" && git status", "F=--force; F=; git push $F", "F=--force; unset F; git push",
		"(F=--force); git push",
		"F=--force | cat; git push",
	},
}

// followedPlace is a workspace with a folder src in it.
var followedPlace = Place{
	Dir: testDir, Home: testHome, IsFolder: func(path string) bool { return path == testDir+"/src" },
}

func TestCommandsAreFollowed(t *testing.T) { compareDecisions(t, followed) }

// compareDecisions checks what becomes of commands, in the folder of followedPlace.
func compareDecisions(t *testing.T, decisions map[string][]string) {
	t.Helper()
	for want, commands := range decisions {
		for _, command := range commands {
			if got := decideAt(command, followedPlace); got != want {
				t.Errorf("%q:\n got %q %s\nwant %q", command, got, Check(command, followedPlace).Text, want)
			}
		}
	}
}

// TestEnvironment has commands that depend on variables of the environment.
func TestEnvironment(t *testing.T) {
	at := followedPlace
	at.Variable = func(name string) (string, bool) {
		value, ok := map[string]string{"F": "--force", "CC": "gcc", "EMPTY": "", "T": "/tmp/x"}[name]
		return value, ok
	}
	for command, want := range map[string]string{
		"git push $F": whyPush, "git push $NOT_SET": "", "git push $EMPTY": "", "$CC x.c": "", "${CC:-cc} x.c": "",
		"$NOT_SET ls":     "",
		"${SUDO:-sudo} x": whySudo, "${SUDO:+sudo} x": "", "rm -rf $NOT_SET/*": whyRoot, "rm -rf \"$T\"": "",
		"rm -rf ${T:?}/*": "",
		"$RANDOM":         undetermined, "F=; git push $F": "", ". ./x; git push $F": undetermined,
		"bash -c 'git push $F'": whyPush,
		"eval \"$NOT_SET\"":     "", "read F; git push $F": undetermined,
	} {
		if got := decideAt(command, at); got != want {
			t.Errorf("%q:\n got %q\nwant %q", command, got, want)
		}
	}
	at.Variable = func(name string) (string, bool) { return "setup.sh", name == "BASH_ENV" }
	if got := decideAt("git push $F", at); got != undetermined {
		t.Errorf("with BASH_ENV: %q", got)
	}
}

// TestGitSettings has commands that depend on the configuration of git, which is only asked for them.
func TestGitSettings(t *testing.T) {
	asked := ""
	at := followedPlace
	at.GitSettings = func(dir string) []Setting {
		asked += dir + " "
		return []Setting{
			{"alias.pf", "push --force"}, {"alias.p", "push"}, {"alias.sh", "!sudo x"}, {"alias.a", "b"}, {"alias.b", "a"},
			{"alias.st", "status -s"}, {"alias.undo", "!f() { git reset --hard \"$1\"; }; f"},
			{"clean.requireForce", "false"},
			{"remote.mirror.mirror", "true"}, {"remote.forced.push", "+refs/heads/main"}, {"alias.commit", "push --force"},
			{"alias.long.command", "push -f"},
		}
	}
	const here, sub = testDir + " ", testDir + "/sub "
	for command, want := range map[string]struct{ decision, asked string }{
		"git pf":                      {whyPush, here},
		"git PF":                      {whyPush, here},
		"git p -f":                    {whyPush, here},
		"git sh":                      {whySudo, here},
		"git undo x":                  {whyReset, here},
		"git long":                    {whyPush, here},
		"git a":                       {undetermined, here},
		"git st":                      {"", here},
		"git st; git st; git unknown": {"", here},
		"git status":                  {"", ""},
		"git commit -m x":             {"", ""},
		"git push origin main":        {"", ""},
		"git push origin":             {"", here},
		"git -c remote.forced.push=main push forced": {whyPush, here},
		"git push mirror":           {whyPush, here},
		"git push":                  {whyPush, here},
		"git push forced":           {whyPush, here},
		"git clean -n":              {"", ""},
		"git clean -d":              {whyClean, here},
		"git -C sub pf":             {whyPush, sub},
		"cd sub && git pf":          {whyPush, sub},
		"git -C \"$X\" pf":          {whyPush, here},
		"git -c alias.pf=status pf": {"", ""},
		"git -c clean.requireForce=true clean -d": {"", ""},
	} {
		asked = ""
		if got := decideAt(command, at); got != want.decision || asked != want.asked {
			t.Errorf("%q:\n got %q, asked about %q\nwant %+v", command, got, asked, want)
		}
	}
}

// TestTexts has the reasons that a person reads.
func TestTexts(t *testing.T) {
	for command, want := range map[string]string{
		"$CMD x":                "the name of a command is only known when it runs: ${CMD}",
		"git $(x) y":            "the command of git is only known when it runs: $(…)",
		"git push \"$B\"":       "an argument of git push is only known when it runs: ${B}",
		"sh -c \"make && $X\"":  "a shell runs a text that is only known then: make && ${X}",
		"base64 -d x | sh":      "a shell runs the output of another command",
		"rm -rf a \"$X\"":       "what rm -r deletes is only known when it runs: ${X}",
		"git restore -- \"$X\"": "which files git restore overwrites is only known when it runs: ${X}",
		"find $D -delete":       "where find deletes files is only known when it runs: ${D}",
		"f() { f; }; f":         "functions call each other too often to follow them",
		strings.Repeat("for i in a b c d; do ", 9) + ":" + strings.Repeat("; done", 9): whyTired,
	} {
		if got := Check(command, followedPlace); got != (Answer{Undetermined, want}) {
			t.Errorf("%q:\n got %+v\nwant %q", command, got, want)
		}
	}
}

// TestLimits has commands that would take long to follow. What comes after them still counts.
func TestLimits(t *testing.T) {
	for _, heavy := range []string{
		strings.Repeat("for i in {1..60}; do ", 8) + "X=$X$i" + strings.Repeat("; done", 8),
		strings.Repeat("while x; do ", 50) + "X=$X$X" + strings.Repeat("; done", 50),
		"X=aaaaaaaaaaaaaaaa; for i in {1..60}; do X=$X$X; done",
		"a() { :; }; b() { a; a; a; a; a; a; a; a; }; c() { b; b; b; b; b; b; b; b; }; d() { c; c; c; c; c; c; c; c; }; " +
			"e() { d; d; d; d; d; d; d; d; }; f() { e; e; e; e; e; e; e; e; }; f; f; f",
		"if x; then A=1; fi; if x; then B=1; fi; if x; then C=1; fi; if x; then D=1; fi; if x; then E=1; fi; " +
			"if x; then F=1; fi; if x; then G=1; fi; $A$B$C$D$E$F$G" + strings.Repeat("; $A$B$C$D$E$F$G", 200),
		"f() { f; f; }; f", "f() { g; g; }; g() { f; f; }; f",
		strings.Repeat("eval ", 7) + "ls", "git -c alias.a='!git a; git a' a",
	} {
		if got := decide(heavy + "; sudo x"); got != whySudo {
			t.Errorf("%.60s: %q", heavy, got)
		}
		if got := decide(heavy); got == whySudo {
			t.Errorf("%.60s: %q", heavy, got)
		}
	}
}
