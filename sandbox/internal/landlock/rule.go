package landlock

// rule is the access to a path and everything below it.
type rule struct{ access, path string }

// parseRule reads "write:/work".
func parseRule(text string) rule {
	for i := range len(text) {
		if text[i] == ':' {
			return rule{access: text[:i], path: text[i+1:]}
		}
	}
	return rule{path: text}
}

// isBelow reports whether the rule's path is below a folder.
func (r rule) isBelow(folder string) bool {
	if folder == "/" {
		return r.path != "/"
	}
	return len(r.path) > len(folder) && r.path[:len(folder)] == folder && r.path[len(folder)] == '/'
}

func join(folder, name string) string {
	if folder == "/" {
		return folder + name
	}
	return folder + "/" + name
}
