package jupyter

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// Options say what a kernel serves.
type Options struct {
	Python     string   // an interpreter that has ipykernel; it runs the front, and the program's Python
	Language   string   // of the cells: python, javascript, typescript or bash
	Connection string   // the file with the ports, which Jupyter wrote
	Folder     string   // where the notebook is; absolute
	Environ    []string // NAME=value
	Version    string   // of xstate
}

//go:embed xstate_jupyter/*.py labextension
var front embed.FS

const frontRoot = "xstate_jupyter"

// Serve runs a kernel until Jupyter ends it.
func Serve(ctx context.Context, operations verb.Operations, o Options) error {
	toFront, fromUs, err := os.Pipe()
	if err != nil {
		return err
	}
	fromFront, toUs, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd, err := command(o.Python, o.Environ, "kernel", "-f", o.Connection)
	if err != nil {
		return err
	}
	cmd.Dir, cmd.ExtraFiles = o.Folder, []*os.File{toFront, toUs}
	cmd.Env = append(cmd.Env, "XSTATE_LANGUAGE="+o.Language, "XSTATE_VERSION="+o.Version,
		"JPY_PARENT_PID="+strconv.Itoa(os.Getpid())) // of the front: it ends with us
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr // the protocol has its own channels
	if err := cmd.Start(); err != nil {
		return err
	}
	toFront.Close()
	toUs.Close()
	if os.Getenv("JPY_PARENT_PID") != "" {
		go endWith(os.Getppid(), fromUs)
	}
	defer context.AfterFunc(ctx, func() { fromUs.Close() })() // and then the front ends
	program := slices.DeleteFunc(slices.Clone(o.Environ), func(v string) bool {
		return strings.HasPrefix(v, "JPY_PARENT_PID=") // another one in each start
	})
	p := &pipe{operations: operations, call: verb.Call{
		Folder: o.Folder, Environ: program, PID: os.Getpid(), Door: wording.CommandLine,
	}}
	err = p.serve(ctx, fromFront, fromUs)
	fromUs.Close()
	if ended := cmd.Wait(); ended != nil && ctx.Err() == nil {
		return &state.Error{Code: api.CodeNoJupyter, Message: "the kernel's process in Python ended: " + ended.Error(),
			Hint: "its log says why; " + o.Python + " needs ipykernel", Err: err}
	}
	return err
}

// lookEvery is how often a kernel looks whether the process that started it is there. ipykernel looks as often.
const lookEvery = time.Second

// endWith closes the pipe to the front, which ends it, when the process that started the kernel is gone.
func endWith(starter int, pipe *os.File) {
	for os.Getppid() == starter {
		time.Sleep(lookEvery)
	}
	pipe.Close()
}

// command is the command of the front with arguments.
func command(python string, environ []string, args ...string) (*exec.Cmd, error) {
	folder, err := unpacked()
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(python, append([]string{"-m", frontRoot}, args...)...)
	cmd.Env = append(environ[:len(environ):len(environ)], "PYTHONPATH="+withFolder(folder, environ), "XSTATE="+program)
	return cmd, nil
}

// withFolder is the search path of an environment with one more folder at its end.
func withFolder(folder string, environ []string) string {
	path := folder
	for _, v := range environ { // the last one counts
		if own, ok := strings.CutPrefix(v, "PYTHONPATH="); ok && own != "" {
			path = own + string(os.PathListSeparator) + folder
		}
	}
	return path
}

// unpacked writes the front to disk, once for each version of it, and returns the folder to import it from.
func unpacked() (string, error) {
	cache := kernel.UserCache()
	if cache == "" {
		return "", errors.New("there is no folder for the user's caches: set HOME or XDG_CACHE_HOME")
	}
	sum := sha256.New()
	err := fs.WalkDir(front, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := front.ReadFile(name)
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
		return err
	})
	if err != nil {
		return "", err
	}
	final := filepath.Join(cache, "jupyter-"+hex.EncodeToString(sum.Sum(nil))[:16])
	return final, kernel.InstallFolder(final, func(folder string) error { return os.CopyFS(folder, front) })
}

// Check reports whether an interpreter can run the front.
func Check(ctx context.Context, python string, environ []string) error {
	cmd := exec.CommandContext(ctx, python, "-c", "import ipykernel")
	cmd.Env = environ
	if err := cmd.Run(); err != nil {
		return &state.Error{Code: api.CodeNoJupyter, Message: python + " has no ipykernel",
			Hint: python + " -m pip install ipykernel", Err: err}
	}
	return nil
}

// Install writes the specifications of the kernels where Jupyter looks for them, and returns their folders. prefix is
// that of an environment, such as /usr; "": the user's own.
func Install(ctx context.Context, o Options, name, prefix string, languages []string) ([]byte, error) {
	args := []string{"install", "--name", name, "--prefix", prefix}
	cmd, err := command(o.Python, o.Environ, append(args, languages...)...)
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	return cmd.Output()
}
