package gitrepo

// GitDirs are the folders that hold the repository's own files: that of the working tree and, where it is linked to another one, the shared one.
func (r *Repo) GitDirs() []string {
	if common := r.commonDir(); common != r.gitDir {
		return []string{r.gitDir, common}
	}
	return []string{r.gitDir}
}
