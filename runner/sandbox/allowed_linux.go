package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/internal/parents"
)

// kernelFolders are views of the system itself. They are read only.
var kernelFolders = []string{"/proc", "/sys"}

// systemFiles are single files elsewhere that libraries need.
var systemFiles = []string{"/run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/resolv.conf",
	"/run/resolvconf/resolv.conf", "/run/nscd", "/var/cache/fontconfig", "/var/lib/dpkg/status", "/run/current-system",
	"/etc/localtime"}

// devices may be read and written.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm"}

// terminals are the devices of terminals, which are new ones in namespaces alone.
var terminals = []string{"/dev/ptmx", "/dev/pts"}

// allowed says what the processes of a box may do with files. All paths are canonical.
type allowed struct {
	write []string // may be read, written and executed
	read  []string // may be read and executed
	kept  []string // must not be written, whatever is above
	deny  []string // must not be used, whatever is above
	again []string // inside of deny, and writable
	// secret are files of the system that not everybody may read: a box that runs as root may not, either.
	secret []string
}

// allowing works out what the bounds of a box allow. own are folders that only this box uses.
func allowing(s Spec, offers Offers, own ...string) allowed {
	b := s.Bounds
	a := allowed{deny: slices.Clone(b.Deny), again: []string{s.Spool}}
	if s.Store != "" {
		a.deny = append(a.deny, s.Store)
	}
	if parents.Holds(s.Store, s.Folder) { // a private folder
		a.again = append(a.again, s.Folder)
	}
	a.write = slices.Concat([]string{s.Folder}, own, b.Write, devices)
	if offers.Namespaces {
		a.write = append(a.write, terminals...)
	}
	a.read = slices.Concat(SystemFolders, kernelFolders, systemFiles, s.System, b.Read, []string{"/dev"})
	a.kept = append([]string{filepath.Join(s.Folder, PolicyName)}, b.ReadOnly...)
	a.write, a.read = canonical(a.write), canonical(a.read)
	a.secret = secretsOfSystem()
	return a
}

// canonical resolves the links of paths, leaves out what is not there, and sorts parents before what lies in them.
func canonical(paths []string) []string {
	var all []string
	for _, p := range paths {
		if p == "" {
			continue
		}
		if real, err := filepath.EvalSymlinks(p); err == nil && real != "/" && !slices.Contains(all, real) {
			all = append(all, real)
		}
	}
	slices.SortFunc(all, func(x, y string) int {
		return cmp.Or(cmp.Compare(strings.Count(x, "/"), strings.Count(y, "/")), cmp.Compare(x, y))
	})
	return all
}

// secretsOfSystem looks again after a minute: a walk takes milliseconds, and a server starts many boxes.
func secretsOfSystem() []string {
	lastSecrets.Lock()
	defer lastSecrets.Unlock()
	if time.Since(lastSecrets.at) > time.Minute {
		lastSecrets.found, lastSecrets.at = secrets("/etc"), time.Now()
	}
	return lastSecrets.found
}

var lastSecrets struct {
	sync.Mutex
	found []string
	at    time.Time
}

// secrets are the files and folders below a folder of the system that not everybody may read.
func secrets(folder string) []string {
	var found []string
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		info, err := e.Info()
		p := filepath.Join(folder, e.Name())
		switch {
		case err != nil || info.Mode()&os.ModeSymlink != 0:
		case info.Mode().Perm()&0o004 == 0:
			found = append(found, p)
		case info.IsDir():
			found = append(found, secrets(p)...)
		}
	}
	return found
}

// verb is what a call does with a path, as far as bounds are concerned.
type verb string

const (
	verbRead    verb = "read"
	verbWrite   verb = "write"
	verbExecute verb = "execute"
)

// denial returns why a canonical path may not be used; nil: it may.
func (a *allowed) denial(v verb, p string) *Denial {
	written := parents.AnyHolds(a.again, p) || parents.AnyHolds(a.write, p) && !parents.AnyHolds(a.deny, p)
	switch {
	case written && v != verbWrite, written && !parents.AnyHolds(a.kept, p) && filepath.Base(p) != PolicyName:
		return nil
	case parents.AnyHolds(a.deny, p) || parents.AnyHolds(a.secret, p) || written:
		return &Denial{Action: string(v), Target: p} // no line would allow it
	case v != verbWrite && parents.AnyHolds(a.read, p):
		return nil
	}
	return &Denial{Action: string(v), Target: p, Rule: ruleFor(v, p)}
}

// ruleFor is the line of a policy file that would allow what was denied, and no more.
func ruleFor(v verb, p string) string {
	if home, err := os.UserHomeDir(); p == "/" || err == nil && p == home {
		return "" // no user should allow that much
	}
	name := "read"
	if v == verbWrite {
		name = "write"
	}
	return fmt.Sprintf("files.%s = [%q]", name, p)
}

// above reports whether something allowed lies below a path that is not: programs look at each folder on the way.
func (a *allowed) above(p string) bool {
	return slices.ContainsFunc(slices.Concat(a.again, a.read, a.write), func(in string) bool {
		return parents.Holds(p, in)
	})
}

// hides reports whether a look-up of a path finds nothing, or fails: it is denied within what is allowed.
func (a *allowed) hides(p string) bool {
	return parents.AnyHolds(a.deny, p) && !parents.AnyHolds(a.again, p) && !a.above(p)
}

// hidesAtHome reports whether a look-up finds nothing because the path is a setting of the user that may not be read.
func (a *allowed) hidesAtHome(p string) bool {
	return hiddenAtHome(p) && a.denial(verbRead, p) != nil && !a.above(p)
}

// hiddenAtHome reports whether a path leads to a setting of the user. Programs such as git do without it if it is
// missing, and stop if it exists and cannot be read.
func hiddenAtHome(p string) bool {
	home, err := os.UserHomeDir()
	return err == nil && home != "/" && parents.Holds(home, p) && strings.HasPrefix(p[len(home):], "/.")
}
