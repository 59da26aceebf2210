package prompt

import "strings"

// CaseRefused answers a case that does not stand: what failed, what is refused, and what a reviewer wants mended. It has the caps of a prompt's parts.
func CaseRefused(in Input) string {
	var a account
	if in.CaseOver {
		a.say("The case is refused, and this was the last one: end here.")
	} else {
		a.say("The case is refused. Mend what is named here and submit again; everything you did is still there.")
	}
	var refused []string
	for _, r := range in.Refusals {
		refused = append(refused, r.Code+": "+r.Detail)
	}
	for _, r := range in.TaskRefusals {
		refused = append(refused, r.Code+": "+r.Detail)
	}
	a.list("Why:", refused)
	a.list("The task list was put back as it was, because it may only be ticked off or added to:", in.ListProblems)
	a.list("Protected files were changed. Checks see them as they were when the run began, and no claim stands until you put them back and remove what was added:", in.Tampered)
	a.list("Checks do not see these files, which were added where files are protected:", in.Unseen)
	if in.HiddenFailed {
		a.say("A check that you cannot see failed. It asks for nothing but what %s says, so look there for what is missing.", whatSays(in))
	}
	a.list("The reviewer, who sees the work but not you, rejects it:", rejections(in.Rejections))
	if failed := failures(in).Text; failed != "" {
		a.say("%s", strings.Replace(failed, "# Checks that failed last time", "# Checks that failed", 1))
	}
	return strings.Join(a.paragraphs, "\n\n")
}
