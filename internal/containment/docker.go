package containment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// maxProcesses is a limit that no honest agent reaches, for runs that set none.
const maxProcesses = 4096

// docker is Docker's engine, and what is special about it.
type docker struct {
	engine
	rootless bool // root in a container is the user outside
}

// reachDocker finds an engine that runs Linux containers and answers.
func reachDocker(ctx context.Context, env []string, workspace string) (docker, error) {
	e, err := newEngine(sandbox.Docker, env, workspace)
	if err != nil {
		return docker{}, err
	}
	said, err := e.call(ctx, answerTimeout, "version", "--format", "{{.Server.Os}}")
	if err != nil {
		return docker{}, e.unavailable(ctx, err.Error(), dockerFix(err.Error()))
	}
	if system := strings.TrimSpace(said); system != "linux" {
		return docker{}, e.unavailable(ctx, "the engine runs containers of "+system, "switch it to Linux containers")
	}
	said, err = e.call(ctx, answerTimeout, "info", "--format", "{{json .SecurityOptions}}")
	if err != nil {
		return docker{}, e.unavailable(ctx, err.Error(), dockerFix(err.Error()))
	}
	return docker{engine: e, rootless: strings.Contains(said, "name=rootless")}, nil
}

// dockerFix says what helps against a complaint of the docker program.
func dockerFix(complaint string) string {
	lower := strings.ToLower(complaint)
	switch {
	case strings.Contains(lower, "permission denied"):
		return "add yourself to the docker group (sudo usermod -aG docker $USER) and log in again"
	case strings.Contains(lower, "cannot connect"), strings.Contains(lower, "failed to connect"),
		strings.Contains(lower, "daemon running"):
		return "start Docker (sudo systemctl start docker, or Docker Desktop), correct DOCKER_HOST, or use --sandbox auto"
	}
	return "see what docker version says"
}

// open makes a room whose containers are removed when this process ends, however it ends.
func (d docker) open(run string) (*Room, error) {
	r, err := newRoom(sandbox.Docker, run)
	if err != nil {
		return nil, err
	}
	r.docker = d
	if r.stop, err = d.accompany(run); err != nil {
		return nil, errors.Join(err, r.removeFolders())
	}
	return r, nil
}

// user returns the user and group IDs of a container that works in a folder: files that it writes there
// belong to the user. Root leaves them to whom the folder belongs.
func (d docker) user(workspace string) (id string, uid, gid int) {
	uid, gid = os.Geteuid(), os.Getegid()
	switch owner, group, known := ownerOf(workspace); {
	case d.rootless:
		return "0:0", uid, gid
	case uid < 0: // this system has no such IDs
		return "", uid, gid
	case uid == 0 && known:
		uid, gid = owner, group
	}
	return fmt.Sprintf("%d:%d", uid, gid), uid, gid
}

// Trial is what Ralph needs of an image.
type Trial struct {
	Image    string
	Agent    string   // whose image it is, for the advice
	Programs []string // that must be there
	Self     string   // this program, which serves the run's tools; "" if it does not
	Place    Place
}

// TryImage starts a container as a run does and looks around in it. The error says what is wrong with the
// image or the engine. noTools says why this program does not work inside; "" if it does.
func TryImage(ctx context.Context, t Trial, env []string) (noTools string, err error) {
	d, err := reachDocker(ctx, env, t.Place.Workspace)
	if err != nil {
		return "", err
	}
	if _, err := d.call(ctx, answerTimeout, "image", "inspect", "--format", "{{.Id}}", t.Image); err != nil {
		why := err.Error()
		if strings.Contains(strings.ToLower(why), "no such image") {
			why = "there is no image " + t.Image
		}
		return "", d.unavailable(ctx, why, t.fixImage())
	}
	room, err := d.open(fmt.Sprintf("try-%d", os.Getpid())) // not those of another process
	if err != nil {
		return "", err
	}
	defer room.Close()
	seen, err := room.try(ctx, t)
	if err != nil {
		return "", err
	}
	for _, program := range t.Programs {
		if slices.Contains(seen, "lacks "+program) {
			return "", d.unavailable(ctx, "the image "+t.Image+" has no program "+program, t.fixImage())
		}
	}
	if t.Self != "" && slices.Contains(seen, "lacks tools") {
		noTools = "this program cannot run in the image " + t.Image
	}
	return noTools, nil
}

func (t Trial) fixImage() string {
	if t.Image == ImageOf(t.Agent) {
		return "build it with: ralph sandbox build " + t.Agent
	}
	return "build or pull it: docker pull " + t.Image + "; or leave sandbox.image out"
}

// lookAround writes a file where the run works, and names the programs that are missing.
const lookAround = `echo seen > "$0" || exit 1
for program in "$@"; do command -v "$program" >/dev/null 2>&1 || echo "lacks $program"; done
[ -z "$RALPH_TRIAL" ] || "$RALPH_TRIAL" version >/dev/null 2>&1 || echo "lacks tools"`

// try looks around in a container whose workspace is an empty folder.
func (r *Room) try(ctx context.Context, t Trial) (seen []string, err error) {
	place := t.Place
	_, uid, gid := r.docker.user(place.Workspace)
	place.Workspace = filepath.Join(r.temp, "trial")
	if err := makeFolder(place.Workspace, uid, gid); err != nil {
		return nil, err
	}
	file := filepath.Join(place.Workspace, "seen")
	said, complaint := &bounded{}, &bounded{}
	spec := process.Spec{
		Argv: append(process.Shell(lookAround), append([]string{file}, t.Programs...)...), Dir: place.Workspace,
		Env: []string{"HOME=" + place.Home}, Timeout: trialTimeout,
		Stdout: process.Sink{Tap: said}, Stderr: process.Sink{Tap: complaint},
	}
	if t.Self != "" && runtime.GOOS == "linux" {
		spec.Env = append(spec.Env, "RALPH_TRIAL="+t.Self)
	} else {
		said.WriteString("lacks tools\n")
	}
	r.Enter(place)(&spec)
	ended, err := process.Run(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("try image: %w", err)
	}
	owner, _, known := ownerOf(file)
	first, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
	switch {
	case ended.ExitCode == 127 || ended.ExitCode == 126:
		return nil, r.docker.unavailable(ctx, "the image "+t.Image+" has no shell (sh): "+first, t.fixImage())
	case ended.State == process.TimedOut:
		return nil, r.docker.unavailable(ctx, fmt.Sprintf("no container started within %v", trialTimeout), dockerFix(""))
	case sandbox.Docker.Failed(ended.ExitCode, first):
		return nil, r.docker.unavailable(ctx, first, dockerFix(first))
	case ended.ExitCode != 0:
		return nil, r.docker.unavailable(ctx, "a container cannot write where the run works: "+first,
			"use an engine that shares "+os.TempDir())
	case !known:
		return nil, r.docker.unavailable(ctx, "a container's files are not on this machine", "use an engine on this machine")
	case owner != uid:
		return nil, r.docker.unavailable(ctx, fmt.Sprintf("files of a container belong to user %d instead of %d", owner, uid),
			"switch off the engine's mapping of users (userns-remap)")
	}
	return strings.Split(said.String(), "\n"), nil
}

// RemoveContainers removes what a run that is not running left in Docker's engine, and returns how many
// containers there were. An engine that cannot be reached runs nothing.
func RemoveContainers(ctx context.Context, run, workspace string, env []string) (int, error) {
	e, err := newEngine(sandbox.Docker, env, workspace)
	if err != nil {
		return 0, nil
	}
	said, err := e.call(ctx, answerTimeout, "ps", "--all", "--quiet", "--filter", "label="+sandbox.RunLabel+"="+run)
	ids := strings.Fields(said)
	if err != nil || len(ids) == 0 {
		return 0, nil
	}
	if err := e.remove(ctx, ids...); err != nil {
		return 0, fmt.Errorf("remove containers of run %s: %w", run, err)
	}
	return len(ids), nil
}

// remove kills and removes containers. One that is gone, or going, is no error.
func (e engine) remove(ctx context.Context, names ...string) error {
	_, err := e.call(ctx, answerTimeout, append([]string{"rm", "--force"}, names...)...)
	if err == nil {
		return nil
	}
	if why := err.Error(); strings.Contains(why, "No such container") || strings.Contains(why, "already in progress") {
		return nil
	}
	return err
}

// afterContainer returns a function that removes a container, and says whether it ran out of memory.
func (e engine) afterContainer(name string) func(context.Context, *process.Result) {
	const killed = 137
	return func(ctx context.Context, result *process.Result) {
		if result.ExitCode == killed {
			said, _ := e.call(ctx, answerTimeout, "inspect", "--format", "{{json .State.OOMKilled}}", name)
			_ = json.Unmarshal([]byte(said), &result.OutOfMemory) // false if nothing is known
		}
		if e.remove(ctx, name) != nil {
			result.Unkillable++
			result.Survivors++
			result.SurvivorNames = append(result.SurvivorNames, "container "+name)
		}
	}
}

// sweep waits until its input ends, which is when this process ends in any way. Then it removes the
// containers of a run. A client that was just starting one may need a moment, so it looks more than once.
const sweep = `read -r end
for again in 1 2 3; do
  found=$("$1" ps --all --quiet --filter "label=$2")
  [ -z "$found" ] || "$1" rm --force $found
  sleep 0.3
done`

// accompany starts a process that outlives this one to remove the containers of a run.
func (e engine) accompany(run string) (stop func(), err error) {
	argv := append(process.Shell(sweep), "ralph", e.program, sandbox.RunLabel+"="+run)
	stop, err = process.Accompany(argv, e.env)
	if errors.Is(err, errors.ErrUnsupported) {
		return func() {}, nil
	}
	return stop, err
}
