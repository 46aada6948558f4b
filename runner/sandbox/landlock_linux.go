package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/xstate-engine/xstate/internal/parents"
)

// Rights of Landlock, put together.
const (
	rightsRead  = landlock.AccessFSExecute | landlock.AccessFSReadFile | landlock.AccessFSReadDir
	rightsWrite = rightsRead | landlock.AccessFSWriteFile | landlock.AccessFSRemoveDir | landlock.AccessFSRemoveFile |
		landlock.AccessFSMakeDir | landlock.AccessFSMakeReg | landlock.AccessFSMakeSock | landlock.AccessFSMakeFifo |
		landlock.AccessFSMakeSym | landlock.AccessFSRefer | landlock.AccessFSTruncate
	rightsDevice = landlock.AccessFSReadFile | landlock.AccessFSReadDir | landlock.AccessFSWriteFile |
		landlock.AccessFSIoctlDev
	// rightsFile are those that a rule on a file may have.
	rightsFile = landlock.AccessFSExecute | landlock.AccessFSReadFile | landlock.AccessFSWriteFile |
		landlock.AccessFSTruncate | landlock.AccessFSIoctlDev
)

// rightsOf are all rights on files that a version of Landlock knows, and so denies where no rule gives them.
func rightsOf(version int) uint64 {
	rights := uint64(1<<13 - 1)
	if version >= 2 {
		rights |= landlock.AccessFSRefer
	}
	if version >= 3 {
		rights |= landlock.AccessFSTruncate
	}
	if version >= 5 {
		rights |= landlock.AccessFSIoctlDev
	}
	return rights
}

// ruleset makes the rules that the keeper puts on the interpreter. Landlock only adds: what lies in an allowed folder
// cannot be taken out, so a folder with a secret in it is allowed entry by entry.
func (a *allowed) ruleset(offers Offers) (*os.File, error) {
	attr := landlock.RulesetAttr{HandledAccessFS: rightsOf(offers.Landlock)}
	if offers.Landlock >= 6 {
		attr.Scoped = landlock.ScopeAbstractUnixSocket | landlock.ScopeSignal
	}
	fd, err := landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return nil, fmt.Errorf("create the rules of a box: %w", err)
	}
	r := rules{fd: fd, handled: attr.HandledAccessFS}
	for _, p := range a.write {
		switch {
		case parents.Holds("/dev", p) && p != "/dev/shm":
			r.add(p, rightsDevice)
		default:
			r.add(p, rightsWrite)
		}
	}
	for _, p := range a.again {
		r.add(p, rightsWrite)
	}
	for _, p := range a.read {
		switch p {
		case "/dev":
			r.add(p, landlock.AccessFSReadDir)
		default:
			a.readable(&r, p)
		}
	}
	if r.err != nil {
		unix.Close(fd)
		return nil, r.err
	}
	return os.NewFile(uintptr(fd), "landlock"), nil
}

// readable allows a folder to be read, without the secrets in it.
func (a *allowed) readable(r *rules, p string) {
	out := append(append([]string{}, a.secret...), a.deny...)
	if parents.AnyHolds(out, p) {
		return
	}
	holds := false
	for _, s := range out {
		holds = holds || parents.Holds(p, s)
	}
	if !holds {
		r.add(p, rightsRead)
		return
	}
	entries, err := os.ReadDir(p)
	if err != nil {
		return
	}
	if !slices.ContainsFunc(a.deny, func(d string) bool { return parents.Holds(p, d) }) {
		r.add(p, landlock.AccessFSReadDir) // it holds for all folders below: contents are secret, names are not
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 { // what a link leads to has its own rule, or none
			a.readable(r, filepath.Join(p, e.Name()))
		}
	}
}

// rules adds rules to a ruleset until one fails.
type rules struct {
	fd      int
	handled uint64
	err     error
}

func (r *rules) add(p string, rights uint64) {
	if r.err != nil {
		return
	}
	fd, err := unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return // what is not there needs no rule
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsFile
	}
	rule := landlock.PathBeneathAttr{AllowedAccess: rights & r.handled, ParentFd: fd}
	if err := landlock.LandlockAddPathBeneathRule(r.fd, &rule, 0); err != nil {
		r.err = fmt.Errorf("allow %s to a box: %w", p, err)
	}
}
