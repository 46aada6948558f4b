package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/xstate-engine/xstate/internal/parents"
)

// launch is bubblewrap between the keeper and the interpreter. It makes the view of the folders in place of the keeper.
// Landlock would forbid it to mount, so there is none. The calls that are refused by their numbers are refused by a
// filter that bubblewrap installs last. It keeps the network, where sockets are bounded as without namespaces.
//
// Bubblewrap starts the interpreter as a child in a new session, and waits for it. It says which process that is, and
// lets it run when the supervisor knows.
type launch struct {
	program     string
	filter      []unix.SockFilter
	info, block *os.File   // the ends of this side
	theirs      []*os.File // the ends of bubblewrap
}

// launchOffers is what is left to bound a box with that bubblewrap starts.
func launchOffers(o Offers) Offers { return Offers{Sockets: o.Sockets, Bubblewrap: o.Bubblewrap} }

// wrap returns the command that starts another one in bubblewrap.
func (l *launch) wrap(cmd *exec.Cmd, a *allowed) (*exec.Cmd, error) {
	var rules *os.File
	for _, pipe := range []struct{ ours, theirs **os.File }{{&l.info, nil}, {nil, &l.block}, {nil, &rules}} {
		r, w, err := os.Pipe()
		if err != nil {
			l.close()
			return nil, fmt.Errorf("start bubblewrap: %w", err)
		}
		if pipe.ours != nil {
			*pipe.ours, l.theirs = r, append(l.theirs, w)
		} else {
			*pipe.theirs, l.theirs = w, append(l.theirs, r)
		}
	}
	_, err := rules.Write(encode(l.filter)) // a pipe has room for it
	rules.Close()
	if err != nil {
		l.close()
		return nil, fmt.Errorf("start bubblewrap: %w", err)
	}
	first := 3 + len(cmd.ExtraFiles)
	args := []string{"bwrap", "--die-with-parent", "--new-session", "--unshare-user", "--unshare-ipc",
		"--cap-drop", "ALL", "--info-fd", strconv.Itoa(first), "--block-fd", strconv.Itoa(first + 1),
		"--seccomp", strconv.Itoa(first + 2)}
	args = append(args, a.arguments()...)
	if cmd.Dir != "" {
		args = append(args, "--chdir", cmd.Dir)
	}
	wrapped := *cmd
	wrapped.Path = l.program
	wrapped.Args = append(append(args, "--", cmd.Path), cmd.Args[min(1, len(cmd.Args)):]...)
	wrapped.ExtraFiles = append(slices.Clone(cmd.ExtraFiles), l.theirs...)
	return &wrapped, nil
}

// started returns the process of the interpreter, which waits for release.
func (l *launch) started() (int, error) {
	for _, f := range l.theirs {
		f.Close()
	}
	l.theirs = nil
	var info struct {
		Child int `json:"child-pid"`
	}
	if err := json.NewDecoder(l.info).Decode(&info); err != nil || info.Child == 0 {
		return 0, &refusal{"bwrap", errors.Join(errors.New("it did not start the interpreter"), err)}
	}
	return info.Child, nil
}

// release lets the interpreter run.
func (l *launch) release() {
	_, _ = l.block.Write([]byte{1})
	l.close()
}

func (l *launch) close() {
	for _, f := range append(l.theirs, l.info, l.block) {
		if f != nil {
			f.Close()
		}
	}
	l.theirs, l.info, l.block = nil, nil, nil
}

// arguments are the options of bubblewrap for the same view of the folders as the keeper makes. Later ones lie over
// earlier ones.
func (a *allowed) arguments() []string {
	var args []string
	add := func(more ...string) { args = append(args, more...) }
	for _, p := range SystemFolders { // /bin is a link to usr/bin on many systems
		if target, err := os.Readlink(p); err == nil && strings.Count(p, "/") == 1 {
			add("--symlink", target, p)
		}
	}
	for _, p := range canonical(slices.Concat(a.read, a.write)) {
		switch {
		case parents.Holds("/dev", p):
		case parents.AnyHolds(a.write, p):
			add("--bind", p, p)
		default:
			add("--ro-bind", p, p)
		}
	}
	add("--dev", "/dev", "--bind", "/dev/shm", "/dev/shm")
	for _, p := range canonical(slices.Concat(a.secret, a.deny)) {
		if info, err := os.Stat(p); err == nil && !info.IsDir() {
			add("--ro-bind", "/dev/null", p)
			continue
		}
		add("--tmpfs", p)
		for _, in := range canonical(a.again) {
			if parents.Holds(p, in) {
				add("--bind", in, in)
			}
		}
		add("--remount-ro", p)
	}
	for _, p := range canonical(a.kept) {
		add("--ro-bind", p, p)
	}
	return args
}
