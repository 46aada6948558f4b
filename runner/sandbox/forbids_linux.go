package sandbox

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/sandbox/proxy"
)

// Forbidding returns what answers how the bounds of a box forbid what a Denial names; "": they allow it. Where a
// program may go another way under other bounds, the answer differs: with hosts, there is a proxy.
func Forbidding(s Spec) func(action, target string) string {
	if s.Bounds == nil {
		return func(string, string) string { return "" }
	}
	const denied = "denied"
	files := sync.OnceValue(func() allowed { return allowing(s, offersNow()) })
	return func(action, target string) string {
		forbids := false
		switch v := verb(action); v {
		case verbRead, verbWrite, verbExecute:
			a := files()
			forbids = a.denial(v, target) != nil
		case ActionLook:
			a := files()
			forbids = a.hides(target) || a.hidesAtHome(target)
		case "connect":
			if !strings.HasPrefix(target, "unix:") && proxy.Allows(s.Bounds.Hosts, target) {
				return ""
			}
			return fmt.Sprintf("%s with %q, %q", denied, s.Bounds.Hosts, s.Bounds.Write)
		default:
			forbids = s.Bounds.Limits.forbid(action, target)
		}
		if forbids {
			return denied
		}
		return ""
	}
}

// forbid reports whether a limit stops what it stopped when it was target. Other actions, such as system calls, are
// forbidden in every box.
func (l *Limits) forbid(name, target string) bool {
	number, err := strconv.ParseInt(target, 10, 64)
	took, bad := time.ParseDuration(target)
	at := func(limit, was int64, err error) bool { return limit > 0 && (err != nil || limit <= was) }
	switch name {
	case "cpu":
		return at(int64(l.CPU), int64(took), bad)
	case "wall":
		return at(int64(l.Wall), int64(took), bad)
	case "memory":
		return at(l.Memory, number, err)
	case "processes":
		return at(int64(l.Processes), number, err)
	case "file_size":
		return at(l.FileSize, number, err)
	case "files":
		return at(int64(l.Files), number, err)
	case "output":
		return at(l.Output, number, err)
	}
	return true
}

// BoundsFiles reports whether this system keeps the processes of a box from files that their bounds do not name.
func BoundsFiles() bool {
	o := offersNow()
	return o.Landlock > 0 || o.Namespaces
}

// OwnsFile reports whether a file is in a folder that only the boxes of a workspace use.
func OwnsFile(workspace, path string) bool {
	temp := folderName(workspace)
	return parents.Holds(temp, path) || parents.Holds(temp+cachesSuffix, path)
}
