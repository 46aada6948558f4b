package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/xstate-engine/xstate/internal/parents"
)

// Offers is what this system offers to enforce bounds with.
type Offers struct {
	// Landlock is the version of Landlock: 1 bounds files, 3 truncation, 5 devices, 6 signals and abstract
	// sockets. 0: none.
	Landlock int `json:"landlock"`
	// Namespaces says that a box can have its own view of folders, network and interprocess communication.
	Namespaces bool `json:"namespaces"`
	// User says that it needs a namespace of users for that, as an ordinary user does.
	User bool `json:"user"`
	// Sockets says that the supervisor can connect a socket of the program: pidfd_getfd(2).
	Sockets bool `json:"sockets"`
	// Bubblewrap is the path of bwrap; "": it is not installed.
	Bubblewrap string `json:"bubblewrap,omitempty"`
}

// Offered probes the system, once: each probe is tried, because versions and settings say little in a container.
var Offered = sync.OnceValue(func() Offers {
	o := offered()
	o.Bubblewrap = installed("bwrap", os.Getenv("PATH"))
	return o
})

// installed returns the path of a program in a folder of the system that is on a search path; "": there is none. A
// program in bounds can write other folders of the path.
func installed(name, path string) string {
	for _, folder := range filepath.SplitList(path) {
		real, err := filepath.EvalSymlinks(folder)
		if err != nil || !slices.ContainsFunc(SystemFolders, func(s string) bool { return parents.Holds(s, real) }) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(real, name)); err == nil {
			return found
		}
	}
	return ""
}

// offersNow is what boxes are started with. Tests take something away.
var offersNow = func() Offers { return Offered() }

// Lack is something of bounds that this system cannot enforce.
type Lack struct {
	// Field is the key of the policy file that asks for it, such as "limits.processes" or "files".
	Field string `json:"field"`
	// Message says what is lacking and what that means.
	Message string `json:"message"`
	// Open says that nothing replaces it. Otherwise something weaker does, as the message says.
	Open bool `json:"open"`
}

func (l Lack) String() string { return l.Field + ": " + l.Message }

// Enforceable returns what this system cannot enforce of the bounds of a box. Strict bounds have none of it.
func Enforceable(s Spec) []Lack {
	if s.Bounds == nil {
		return nil
	}
	return offersNow().lacks(s)
}

func (o Offers) lacks(s Spec) []Lack {
	if s.Bounds.Launcher == "bwrap" && o.Bubblewrap != "" {
		return o.lacksOfLauncher(s.Bounds)
	}
	var all []Lack
	add := func(open bool, field, format string, args ...any) {
		all = append(all, Lack{Field: field, Message: fmt.Sprintf(format, args...), Open: open})
	}
	b := s.Bounds
	switch {
	case o.Landlock == 0 && !o.Namespaces:
		add(true, "files", "this system has neither Landlock nor namespaces: files are not bounded")
	case o.Landlock == 0:
		add(true, "files.read", "this system has no Landlock: what its user may read, a program may read")
	case o.Landlock < 3 && !o.Namespaces:
		add(true, "files.write", "Landlock of version %d cannot forbid to truncate a file: version 3 can", o.Landlock)
	}
	if !o.Namespaces {
		where := "paths in calls are checked, and a program that changes them meanwhile may get past"
		if s.Store != "" && parents.Holds(s.Folder, s.Store) {
			add(false, "files", "the store lies in the workspace and namespaces are not allowed: %s", where)
		}
		if len(b.Deny) > 0 {
			add(false, "files.deny", "namespaces are not allowed: %s", where)
		}
		add(false, "files.write",
			"namespaces are not allowed: permissions, owners and times of files outside are guarded by the "+
				"supervisor alone, and terminals are refused")
		if !o.Sockets {
			add(len(b.Hosts) > 0, "network.hosts",
				"neither namespaces nor pidfd_getfd are allowed: there is no network at all")
		}
	}
	if o.Landlock < 6 {
		add(false, "sandbox.level", "Landlock of version %d does not bound signals: the supervisor does", o.Landlock)
	}
	if b.Launcher == "bwrap" && o.Bubblewrap == "" {
		add(true, "sandbox.launcher", "bwrap is not installed")
	}
	if b.Launcher != "" && b.Launcher != "bwrap" {
		add(true, "sandbox.launcher",
			"%q is not supported: its processes are not those of this system, so nothing they do could be observed",
			b.Launcher)
	}
	return all
}

// UnenforceableError says that a box was not started, because this system cannot enforce its bounds.
type UnenforceableError struct{ Lacks []Lack }

func (e *UnenforceableError) Error() string {
	var all []string
	for _, l := range e.Lacks {
		all = append(all, l.String())
	}
	return "these bounds cannot be enforced: " + strings.Join(all, "; ")
}

// lacksOfLauncher is what cannot be enforced where bubblewrap makes the view of the folders.
func (o Offers) lacksOfLauncher(b *Bounds) (all []Lack) {
	if len(b.Hosts) > 0 && !o.Sockets {
		all = append(all,
			Lack{Field: "network.hosts", Message: "pidfd_getfd is not allowed: there is no network at all"})
	}
	return all
}
