//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/scriptedmodel"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/anthropic"
	"github.com/ralphloop/ralph/runlog"
	"github.com/ralphloop/ralph/worker"
)

// taskTurns is the length of the worker's conversations: the maximum for a task.
const taskTurns = 32

// workerTurn measures what the worker uses in a turn in addition to the model: its client and its
// loop, the event, the transcript, a tool call. A turn reads a small file.
func (b *bench) workerTurn() {
	server, err := scriptedmodel.Listen("127.0.0.1:0", scriptedmodel.New(readingModel()))
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	work := task{Dir: b.TempDir(), State: b.TempDir(), Agent: server.URL() + "/worker"}
	bare := work
	bare.Agent = server.URL() + "/bare"
	writeFile(b.T, work.Dir+"/file.txt", transcript, 0o600)
	turns := taskTurns * max(1, b.iterations/10)
	m := compete(b.T, start(b.T, "worker", work), start(b.T, "bare client", bare), b.rounds, turns)
	b.add(row{
		What: "CPU of a turn of the worker, 2 KB of tool output, durable log", Unit: "ms", Value: m.value, Floor: m.floor,
		Ratio: m.ratio,
		Of:    "the same client in a bare loop",
	})
	own := max(m.value-m.floor, 0.001) // on a loaded machine the floor may be higher
	b.add(row{
		What: "the harness's share of it", Unit: "ms", Value: own, Floor: m.floor, Of: "the same client in a bare loop",
		Aim: aim{valueAtMost, 2},
	})
}

// readingModel reads the same file in every turn of a task.
func readingModel() scriptedmodel.Script {
	turns := make([]scriptedmodel.Turn, taskTurns)
	for i := range turns {
		turns[i] = scriptedmodel.Turn{
			Text:  "I look at it again.",
			Tools: []scriptedmodel.ToolCall{{Name: "read_file", Input: map[string]any{"path": "file.txt", "limit": 20 + i}}},
		}
	}
	reads := scriptedmodel.Scenario{Conversations: [][]scriptedmodel.Turn{turns}}
	return scriptedmodel.Script{"worker": reads, "bare": reads}
}

func readingClient(task task) model.Client {
	return anthropic.New(anthropic.Options{BaseURL: task.Agent, Key: "no-key"})
}

// playWorker works on tasks, one after the other, each until its turns are used up.
func playWorker(task task) error {
	store, err := runlog.Open(task.State, task.Dir)
	if err != nil {
		return err
	}
	agent := worker.New(worker.Options{
		Client: readingClient(task), Model: "claude-sonnet-4-5", MaxTurns: taskTurns, Env: plainEnv(),
	})
	for clock := newClock(); ; {
		turns, ok := clock.begin()
		if !ok {
			return nil
		}
		for range turns / taskTurns {
			if err := workOnTask(store, task.Dir, agent); err != nil {
				return err
			}
		}
		if err := clock.finish(); err != nil {
			return err
		}
	}
}

func workOnTask(store *runlog.Store, dir string, agent ralph.Agent) error {
	run := ralph.NewRunID(time.Now())
	log, err := store.Create(run)
	if err != nil {
		return err
	}
	loop, err := loop.New(loop.Config{
		Task: "measure", Agent: agent, AgentName: "worker", Dir: dir, AllowUnverified: true, MaxIterations: 1,
	},
		loop.WithRecorder(log), loop.WithRun(run, ralph.RunStarted{}))
	if err != nil {
		return errors.Join(err, log.Close())
	}
	result, err := loop.Run(context.Background())
	if err == nil && (result.StopReason != ralph.IterCap || *result.Iterations[0].StepsTaken != taskTurns) {
		err = fmt.Errorf("the task ended with %s: %+v", result.StopReason, result.Iterations)
	}
	return errors.Join(err, log.Close())
}

// playBareClient asks the same model as often and reads the same file, and nothing else.
func playBareClient(task task) error {
	client := readingClient(task)
	root, err := os.OpenRoot(task.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var specs []model.Tool // the same tools, so that the requests are as long
	for _, tool := range tools.Set(tools.Options{Root: root}) {
		specs = append(specs, tool.Spec())
	}
	for clock := newClock(); ; {
		turns, ok := clock.begin()
		if !ok {
			return nil
		}
		for range turns / taskTurns {
			if err := talkDirectly(client, specs, task.Dir+"/file.txt"); err != nil {
				return err
			}
		}
		if err := clock.finish(); err != nil {
			return err
		}
	}
}

func talkDirectly(client model.Client, specs []model.Tool, file string) error {
	messages := []model.Message{{Role: model.User, Text: "measure"}}
	for i := range taskTurns {
		reply, err := client.Send(context.Background(),
			model.Request{Model: "claude-sonnet-4-5", Messages: messages, Tools: specs}, nil)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil || len(reply.Message.Calls) != 1 {
			return errors.Join(err, fmt.Errorf("turn %d: %+v", i+1, reply.Message))
		}
		reply.Message.Role = model.Assistant
		result := model.Result{ID: reply.Message.Calls[0].ID, Text: string(text)}
		messages = append(messages, reply.Message, model.Message{Role: model.ToolRole, Results: []model.Result{result}})
	}
	return nil
}
