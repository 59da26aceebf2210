package cli_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var (
	recordWith = flag.String("record", "",
		"run the scripts of testdata/recorded/scripts with this ralph `program` and keep what they leave")
	recordAt = flag.String("record-at", "/srv/net",
		"the `folder` in which -record works; its name ends up in the logs, so it must be neutral")
)

// TestRecord makes the recordings that TestRecorded reads. See testdata/recorded/README.md before
// running it.
func TestRecord(t *testing.T) {
	if *recordWith == "" {
		t.Skip("pass -record PROGRAM to make new recordings")
	}
	bin := filepath.Join(*recordAt, "bin")
	tools := filepath.Join(*recordAt, "tools")
	for _, dir := range []string{bin, filepath.Join(*recordAt, "tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.ReadFile(*recordWith)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "ralph"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(tools, os.DirFS(linkTools(t))); err != nil {
		t.Fatal(err)
	}
	catchIgnoredSignals(t)
	scripts := recordedScripts(t)
	t.Run("script", func(t *testing.T) { runToRecord(t, scripts, bin, tools) })
	var names []string
	for _, script := range scripts {
		names = append(names, strings.TrimSuffix(filepath.Base(script), ".txtar"))
	}
	keepRecordings(t, *recordAt, names)
}

// runToRecord runs the scripts with the given program and keeps their folders. When it returns, all
// of them have ended.
func runToRecord(t *testing.T, scripts []string, bin, tools string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Files:               scripts,
		WorkdirRoot:         *recordAt,
		TestWork:            true,
		RequireExplicitExec: true,
		Cmds:                scriptCommands("testdata/golden"),
		Setup: func(env *testscript.Env) error {
			if err := prepare(env, tools); err != nil {
				return err
			}
			path := []string{filepath.Join(env.WorkDir, "bin"), bin, tools}
			env.Setenv("PATH", strings.Join(path, string(os.PathListSeparator)))
			env.Setenv("TMPDIR", filepath.Join(*recordAt, "tmp"))
			return nil
		},
		Condition: condition,
	})
}

// recordedScripts are the scripts that -record runs: some of testdata/script, chosen to include
// every kind of event and every way to end, and those of testdata/recorded/scripts, which were
// written for this purpose.
func recordedScripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/recorded/scripts/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(`
		answer_queued answer_while_it_waits commit_each_iteration_or_task evaluator_beyond_the_budget
		evaluator_no_stays_a_no evaluator_second_opinion exit_00_complete exit_01_max_iterations
		exit_02_blocked exit_03_decide exit_05_auth exit_10_time exit_11_cost exit_11_tokens exit_12_stalled
		exit_13_limited exit_143_terminate exit_15_agent_failed exit_15_provider_failed exit_16_check_broken
		exit_17_tampered fallback_takes_over flaky_checks gates_and_rules hidden_checks hooks_of_iterations
		hooks_of_the_worker init_go init_node killed_run_is_cut_off learnings_are_accepted
		pause_and_resume_live profiles protected_files report_of_a_log_that_was_changed resume_goes_on
		resume_with_another_agent seed_003_examples steering_by_command steering_files
		tasks_failed_work_is_set_aside tasks_format_checklist tasks_format_sections tasks_given_up
		tasks_lies_never_complete tasks_next_one tasks_own_checks tasks_set_aside_and_changed_since
		tasks_set_aside_and_killed tasks_tests_of_tasks worker_failed_work_is_set_aside
		worker_how_a_task_ends worker_refused_cases_are_told worker_three_tasks worker_usage_told_in_part
		worktree_resume checks_that_write_in_place commit_that_a_hook_refuses
		tasks_deleted_tests_prove_nothing killed_in_the_middle_of_a_check_in_place tasks_killed_half_way
		tasks_between_run_and_resume tasks_cheats_in_the_list http_limits steering_is_not_lost
		words_are_no_errors tag_in_a_tool_result_claims_nothing exit_130_while_waiting`) {
		files = append(files, filepath.Join("testdata/script", name+".txtar"))
	}
	return files
}
