package contract

// fault is something that goes wrong around a run, and what Ralph does about it.
type fault struct {
	id      string
	happens string
	answer  string
	exit    string   // exit codes of runs that it ends, or "" if they go on
	tests   []string // names of scripts and Go tests that try it
}

// faultSection is a group of faults that concern the same part of a run.
type faultSection struct {
	title  string
	faults []fault
}

// faultSections are the rows of docs/faults.md. C, what an agent does to be believed, is docs/proof.md.
var faultSections = []faultSection{
	{"A. Ralph dies, or its storage fails", []fault{
		{
			"A1", "Ralph is killed at any system call that writes",
			"`ralph resume` continues. No event is missing or doubled, and what was spent stays spent.", "",
			[]string{"TestFaults", "TestKillNine", "TestResumeAtEveryCut"},
		},
		{
			"A2", "The log ends at any byte",
			"An incomplete last line is dropped, and `run_resumed` records how long it was. Nothing crashes.", "",
			[]string{"TestCutAtEveryByte", "logs_of_other_days", "b11_log_that_was_cut"},
		},
		{
			"A3", "A bit in the middle of the log is flipped",
			"Ralph names the byte and the line, and refuses to continue. It skips and repairs nothing.", "74",
			[]string{"TestFlipEveryByte", "logs_of_other_days"},
		},
		{
			"A4", "`result.json` says more than the log", "The log wins. The result is a copy.", "",
			[]string{"fault_a04_result_that_lies"},
		},
		{
			"A5", "`result.json` is empty, half, garbage or gone",
			"Every command reads the log. The next end of the run writes the result again.", "",
			[]string{"fault_a05_result_that_is_garbage"},
		},
		{
			"A6", "The disk with the state becomes full",
			"The agent is killed, nothing is proven, and the message names the path. With free space `ralph resume` continues.",
			"74", []string{"exit_74_disk_full", "full_state_disk_launders_nothing", "TestFullDiskLeavesAWholeLog"},
		},
		{
			"A7", "The disk reports an error when data is synced",
			"The run ends at once. Ralph does not sync again, because a second try can succeed without the data.", "74",
			[]string{"TestFailedSyncIsNotTriedAgain", "TestStorageThatFailsWhileTheAgentWorksKillsIt", "TestFaults"},
		},
		{
			"A8", "The state is on a read-only file system", "Ralph refuses before the agent starts.", "74",
			[]string{"fault_a08_read_only_state", "TestReadOnlyStateIsRefused"},
		},
		{
			"A9", "The agent deletes the state folder",
			"The state is outside the workspace. If it is lost, the run ends; the work stays in the workspace.", "74",
			[]string{"fault_a09_state_deleted", "exit_74_state_lost_under_way"},
		},
		{
			"A10", "The power fails",
			"As A1. Each phase of an iteration is on the disk before the next one begins, and a log that ends after any " +
				"event can be resumed.", "",
			[]string{"TestThePhasesAreDurable", "TestResumeAtEveryCut", "TestKilledWritersLoseNothingThatWasSynced"},
		},
		{
			"A11", "The clock is set back or ahead",
			"Limits use the monotonic clock and what the log has added up. The newest run is still the newest.", "",
			[]string{"TestA11AClockThatJumpsChangesNoLimit", "TestNewRunIDIsTheGreatest"},
		},
		{
			"A12", "Many runs start in one workspace at once", "One runs. The others name its id and its process.", "75",
			[]string{"fault_a12_many_starts", "TestManyStartsOneRun", "b13_another_state_folder"},
		},
		{
			"A13", "A dead run left its lock",
			"The kernel's lock ends with its process. What the file says, such as a pid that another process has now, " +
				"decides nothing.", "",
			[]string{"fault_a13_stale_lock", "killed_run_is_cut_off", "TestLockOfADeadOwnerIsWaitedFor"},
		},
		{
			"A14", "HUP, TERM, one INT, two, three",
			"HUP and TERM kill the agent and save the state. One INT finishes the iteration, two kill, three do not wait " +
				"for hooks.", "129, 130, 143",
			[]string{"exit_129_hangup", "exit_143_terminate", "exit_130_interrupt", "exit_130_third_interrupt"},
		},
		{
			"A15", "The reader of Ralph's output goes away", "The run continues and ends with its own exit code.", "",
			[]string{"a_reader_that_goes_away"},
		},
		{
			"A16", "The kernel kills a process because memory runs out",
			"It prefers the agent to Ralph. The agent's iteration failed, and its claim is refused. If Ralph is killed: A1.",
			"15", []string{"fault_a16_killed_for_memory", "killed_run_is_cut_off"},
		},
		{
			"A17", "Ralph is replaced by another version between a run and its `resume`",
			"Older logs are read. A log of a newer format is refused, and the message says so.", "64",
			[]string{"old_runs_stay_readable", "logs_of_other_days"},
		},
	}},
	{"B. The agent's process and words", []fault{
		{
			"B1", "The agent hangs in silence",
			"`--iteration-timeout`, `--idle-timeout` and `--max-time` end it. Failures in a row end the run.", "10, 15",
			[]string{"exit_15_agent_failed", "exit_10_time"},
		},
		{
			"B2", "The agent ignores TERM", "It is killed after 3 seconds, with everything that it started.", "",
			[]string{"fault_b02_ignores_term", "TestRunKillsTheStubborn"},
		},
		{
			"B3", "The agent leaves daemons: forked twice, in another session, without environment",
			"All are killed before the checks run. Only Linux finds those that left the session.", "",
			[]string{"background_process_is_gone_before_checks", "TestHuntFindsWhatIsLeft"},
		},
		{
			"B4", "The agent's processes fork without end", "All are killed.", "", []string{"TestHuntEndsForkStorm"},
		},
		{
			"B5", "The agent exits, and a child holds its output open", "Ralph does not wait for the child, and kills it.", "",
			[]string{"background_process_is_gone_before_checks", "TestHuntFindsWhatIsLeft", "TestDrainGivesUp"},
		},
		{
			"B6", "A process of the agent writes files while checks would run",
			"It is dead before they run, and they run in a view of the files.", "",
			[]string{"background_process_is_gone_before_checks", "TestChecksRunInViews"},
		},
		{
			"B7", "The agent prints gigabytes, or one endless line",
			"The beginning and the end are kept, `truncated` is recorded, and a tag at the end is found.", "",
			[]string{"fault_b07_floods", "output_of_1_gb"},
		},
		{
			"B8", "The agent prints bytes that are not text, and terminal sequences",
			"Tags are found. Nothing that Ralph prints or writes for people has raw control characters.", "",
			[]string{"output_of_any_kind", "b17_escapes_are_never_raw"},
		},
		{
			"B9", "The agent exits with 1, 2, 126, 127, 137, 139 or 255",
			"A claim beside it is refused. 126 and 127 mean that the agent cannot run, and end the run at once.", "6",
			[]string{"fault_b09_exit_codes", "exit_06_missing", "claim_of_an_agent_that_failed_is_refused"},
		},
		{
			"B10", "A tag arrives in pieces", "It is found, wherever it is split.", "",
			[]string{"TestSplitAnywhere", "TestSplitOfManyMessages", "TestOutputMayBeSplitAnywhere"},
		},
		{
			"B11", "A tag in a fence, a quotation, a tool result, a diff or an echo of the prompt",
			"It is no claim. Only what the agent itself says counts.", "",
			[]string{"TestContractCases", "tag_in_a_tool_result_claims_nothing", "echo_of_the_prompt_claims_nothing"},
		},
		{
			"B12", "\"I will print COMPLETE when all is done\", with the tag in the sentence",
			"It is a mention. The next prompt says how to claim.", "", []string{"gates_and_rules", "TestContractCases"},
		},
		{
			"B13", "Bare words, wrong tags, COMPLETE and BLOCKED together",
			"Wrong tags claim nothing. The checks decide between COMPLETE and BLOCKED; without any check it is BLOCKED.", "2",
			[]string{"fault_b13_wrong_tags", "TestOwnCases"},
		},
		{
			"B14", "The completion tag in the settings is empty", "Ralph refuses before anything starts.", "64",
			[]string{"exit_64_numbers"},
		},
		{
			"B15", "A tag with CR or colors inside, full-width or escaped as HTML",
			"CR and terminal sequences are removed first. Look-alikes do not count.", "",
			[]string{"output_of_any_kind", "TestContractCases", "TestTerminalSequences"},
		},
		{
			"B16", "BLOCKED with a reason of 1 MB, line breaks and control characters",
			"The reason is cut to 2,000 characters on one line.", "2", []string{"fault_b16_long_reasons"},
		},
		{
			"B17", "A status block that is half, doubled, misspelled or contradicts itself",
			"The last complete valid block counts. An invalid one counts as missing, and each mistake is named.", "",
			[]string{"TestOwnCases", "TestEveryProblemOfABlockIsNamed", "status_field_in_the_way", "TestGates"},
		},
		{
			"B18", "A status block says PASSING, and a check fails",
			"The check wins. The difference is recorded and is in the next prompt.", "",
			[]string{"fault_b18_block_against_checks"},
		},
		{
			"B19", "\"All done\" fifty times, in files and in words", "It completes nothing without a claim.", "",
			[]string{"fault_b19_words_in_the_diff", "status_denied_phrases_do_not_count"},
		},
		{
			"B20", "The agent asks a question on the terminal", "It has none, so that it fails at once.", "",
			[]string{"fault_b20_asks_on_a_terminal", "TestRunHasNoTerminal"},
		},
		{
			"B21", "The agent writes about rate limits and logins", "Only exit statuses and structured errors count.", "",
			[]string{"words_are_no_errors", "TestTrapWordsAreNotErrors"},
		},
		{
			"B22", "The same output, no change or the same error again and again",
			"The breaker trips. Its state belongs to the run: another run starts with it closed.", "12",
			[]string{"exit_12_stalled", "exit_12_same_error_while_editing"},
		},
	}},
	{"D. Git and files", []fault{
		{
			"D1", "The repository has no commit",
			"In place everything works. `--worktree` is refused, with the command that makes the first commit.", "64",
			[]string{"git_in_any_state"},
		},
		{
			"D2", "Detached HEAD, bare repository, no repository, submodule, sparse checkout, shallow clone",
			"The run works, or is refused with a reason before the agent starts.", "64",
			[]string{"fault_d02_kinds_of_repositories", "git_in_any_state", "TestRepositoriesOfAllKinds"},
		},
		{
			"D3", "Files are not committed",
			"The run says which a worktree lacks. If it needs them, or would commit them, it is refused.", "64",
			[]string{"worktree_needs_what_is_committed", "commit_of_a_dirty_tree"},
		},
		{
			"D4", "Another git left a lock file",
			"A run that commits is refused and names the file; later a commit waits for it. Ralph never removes it.", "64",
			[]string{"git_in_any_state", "TestALockThatGoesIsWaitedFor", "TestLocksOfAKilledGitStopAResume"},
		},
		{
			"D5", "The branch is checked out elsewhere, or the worktree's folder is gone",
			"Names are unique. A folder that is gone is made again; a branch in use or with unmerged work is refused.", "64",
			[]string{"worktree_names"},
		},
		{
			"D6", "A worktree of a repository with submodules",
			"The run says that their folders are empty, and names the command that fills them.", "",
			[]string{"fault_d06_submodules", "TestAddWorktreeSaysWhatIsNotInIt"},
		},
		{
			"D7", "The agent removes or replaces `.git`",
			"Snapshots are elsewhere, so that files can be compared and restored. Ralph commits nothing, and refuses the claim.",
			"", []string{"fault_d07_repository_replaced", "restore_after_any_disaster"},
		},
		{
			"D8", "The agent configures hooks, filters, monitors or signing programs",
			"Ralph does not run them. A signature that fails touches nothing.", "",
			[]string{
				"git_runs_nothing_that_an_agent_planted", "TestNothingOfTheRepositoryIsRun",
				"TestMergeWithASignatureThatFailsTouchesNothing",
			},
		},
		{
			"D9", "A merge has conflicts", "`ralph merge` names the files, and both sides stay as they are.", "64",
			[]string{"merge_brings_work_home"},
		},
		{
			"D10", "The repository belongs to another user",
			"Ralph refuses and names git's own setting. It never sets it.", "64", []string{"git_in_any_state"},
		},
		{
			"D11", "Links out of the workspace and in circles, pipes, strange and long names",
			"Nothing is followed out and nothing hangs. `ralph restore` restores every file.", "",
			[]string{"fault_d11_hostile_files", "b3_pipes_in_place_of_files", "TestCopiesOfOddNames"},
		},
		{
			"D12", "A file of more than 100 MiB",
			"Snapshots leave it out, with a warning. It is compared by its hash, so that tampering is seen.", "",
			[]string{"b1_files_too_large_to_copy", "TestFilesThatAreTooLarge"},
		},
		{
			"D13", "Line ends, executable bits, LFS", "Snapshots keep every byte, whatever git converts.", "",
			[]string{"fault_d13_bytes_stay", "TestASnapshotHoldsTheTreeByteForByte"},
		},
	}},
	{"E. Checks and the evaluator", []fault{
		{
			"E1", "A check hangs",
			"Its time limit ends it, with everything that it started. That is a failure; at the baseline it ends the run.", "16",
			[]string{"fault_e01_check_that_hangs", "exit_16_check_broken"},
		},
		{
			"E2", "A check prints without end, or bytes that are not text, or asks on the terminal",
			"As for agents: a limited part is kept, nothing raw is shown, and there is no terminal.", "",
			[]string{
				"fault_e02_check_that_floods", "fault_b20_asks_on_a_terminal", "TestFloodIsBoundedOnDiskAndInTheResult",
			},
		},
		{
			"E3", "A check passes and leaves a daemon", "The daemon is killed before the next check, and the run says so.", "",
			[]string{"fault_e03_check_leaves_a_daemon", "TestNothingOfACheckOutlivesIt"},
		},
		{
			"E4", "A check cannot be found or executed",
			"It says nothing about the work. The run ends before an agent starts, or after two iterations.", "16",
			[]string{"exit_16_check_broken", "check_cannot_run_is_not_failed"},
		},
		{
			"E5", "A check fails now and then",
			"On the same files it runs again, is listed as flaky, and must pass once more before exit 0.", "",
			[]string{"flaky_checks"},
		},
		{
			"E6", "A check writes files", "They stay in its view. In place they stay in the workspace and are reported.", "",
			[]string{"isolation_of_checks", "checks_that_write_in_place"},
		},
		{
			"E7", "There is no check",
			"Ralph refuses before the agent starts. With `--allow-unverified` the result says `unverified`.", "64",
			[]string{"exit_64_nothing_to_do", "gates_and_rules"},
		},
		{
			"E8", "The checks pass before any work",
			"The run says that they do not show the work. A claim that nothing shows is left to a person.", "7",
			[]string{"newcomer_1_nothing_done"},
		},
		{
			"E9", "The evaluator answers nonsense, accepts after a rejection, never accepts, or costs too much",
			"Two invalid answers are a rejection. Rejections and costs have limits.", "11, 14",
			[]string{"evaluator_second_opinion", "evaluator_no_stays_a_no", "evaluator_beyond_the_budget"},
		},
		{
			"E10", "A number is `0` twice, or has commas, blanks or exponents",
			"It is an error, never a guess. A check that trips over one fails.", "64",
			[]string{"fault_e10_numbers_are_strict"},
		},
	}},
	{"F. Settings and input", []fault{
		{
			"F1", "Unknown, misspelled or doubled keys, wrong types, tabs, a bomb of aliases",
			"The message has the line and the nearest right key. Nothing starts.", "64",
			[]string{"fault_f01_broken_configuration", "exit_64_names", "TestErrorsInFiles"},
		},
		{
			"F2", "Limits that are negative, too large, not numbers or infinite",
			"The message says what is valid. 0 means no limit.", "64",
			[]string{"fault_f02_impossible_numbers", "exit_64_numbers"},
		},
		{
			"F3", "A task list that is corrupt, empty, huge or circular, or has an id twice",
			"At the start it is refused with its line. If the agent ruins it, Ralph restores its last good version.", "64",
			[]string{"fault_f03_broken_task_lists", "TestLintNamesFileLineAndReason", "TestBookPutsARuinedFileBack"},
		},
		{
			"F4", "A prompt file that is missing, empty, a folder, not text or too large", "Ralph refuses it. Nothing starts.",
			"64", []string{"fault_f04_prompt_files", "goal_from_everywhere"},
		},
		{
			"F5", "Secrets in settings", "`ralph config show` prints `***` instead.", "",
			[]string{"fault_f05_secrets_in_settings", "TestRedact"},
		},
	}},
}
