//go:build linux

package sandbox

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// straceJudge says from the calls that strace saw what a report must hold.
type straceJudge struct {
	uses map[string]Use
	// tried are uses of calls that failed for another reason than that nothing is there. A report may hold them: it is
	// made before the outcome is known.
	tried    map[string]Use
	programs []string
	sockets  []string
	opened   map[string]string // the path that a process opened last as a descriptor: "PID/3"
	files    *fileModel
	cwd      map[int]*string // by thread; threads share it
}

// judgeStrace follows the calls of a program that was started in folder. The files are those from before it started.
func judgeStrace(calls []*straceCall, folder string, files *fileModel) (*straceJudge, error) {
	j := &straceJudge{
		uses: map[string]Use{}, tried: map[string]Use{}, opened: map[string]string{}, files: files,
		cwd: map[int]*string{},
	}
	if len(calls) > 0 {
		j.cwd[calls[0].pid] = &folder
	}
	for _, c := range calls {
		// A child may be seen before the call that started it returns, and never before it was entered.
		if j.cwd[c.pid] == nil {
			return nil, fmt.Errorf("nobody started process %d", c.pid)
		}
		if err := j.follow(c); err != nil {
			return nil, fmt.Errorf("%d %s(%s): %w", c.pid, c.name, strings.Join(c.args, ", "), err)
		}
	}
	return j, nil
}

// operand is one path that a call names.
type operand struct {
	dir, path int  // places of the arguments; dir is -1 where there is none
	follow    bool // a link at the end is followed
}

// straceLookups are calls that ask what is at a path, with the place of their flags.
var straceLookups = map[string]struct {
	operand
	flags int
}{
	"stat": {operand{-1, 0, true}, -1}, "lstat": {operand{-1, 0, false}, -1}, "access": {operand{-1, 0, true}, -1},
	"newfstatat": {operand{0, 1, true}, 3}, "statx": {operand{0, 1, true}, 2}, "faccessat": {operand{0, 1, true}, -1},
	"faccessat2": {operand{0, 1, true}, 3}, "readlink": {operand{-1, 0, false}, -1},
	"readlinkat": {operand{0, 1, false}, -1}, "statfs": {operand{-1, 0, true}, -1},
	"getxattr": {operand{-1, 0, true}, -1}, "lgetxattr": {operand{-1, 0, false}, -1},
	"listxattr": {operand{-1, 0, true}, -1}, "llistxattr": {operand{-1, 0, false}, -1},
	"chdir": {operand{-1, 0, true}, -1}, "name_to_handle_at": {operand{0, 1, false}, -1},
	"inotify_add_watch": {operand{-1, 1, true}, -1},
}

// straceChanges are calls that change what one path is.
var straceChanges = map[string]struct {
	operand
	use Use
}{
	"creat": {operand{-1, 0, true}, UseWrite}, "mkdir": {operand{-1, 0, false}, UseWrite},
	"mkdirat": {operand{0, 1, false}, UseWrite}, "mknod": {operand{-1, 0, false}, UseWrite},
	"mknodat": {operand{0, 1, false}, UseWrite}, "unlink": {operand{-1, 0, false}, UseWrite},
	"unlinkat": {operand{0, 1, false}, UseWrite}, "rmdir": {operand{-1, 0, false}, UseWrite},
	"symlink": {operand{-1, 1, false}, UseWrite}, "symlinkat": {operand{1, 2, false}, UseWrite},
	"truncate": {operand{-1, 0, true}, UseWrite}, "setxattr": {operand{-1, 0, true}, UseMode},
	"lsetxattr": {operand{-1, 0, false}, UseMode}, "removexattr": {operand{-1, 0, true}, UseMode},
	"chmod": {operand{-1, 0, true}, UseMode}, "fchmodat": {operand{0, 1, true}, UseMode},
	"fchmodat2": {operand{0, 1, true}, UseMode}, "chown": {operand{-1, 0, true}, UseMode},
	"lchown": {operand{-1, 0, false}, UseMode}, "fchownat": {operand{0, 1, true}, UseMode},
	"utimensat": {operand{0, 1, true}, UseTime}, "utimes": {operand{-1, 0, true}, UseTime},
	"utime": {operand{-1, 0, true}, UseTime}, "futimesat": {operand{0, 1, true}, UseTime},
}

// stracePairs are calls that name two paths.
var stracePairs = map[string][2]operand{
	"rename": {{-1, 0, false}, {-1, 1, false}}, "renameat": {{0, 1, false}, {2, 3, false}},
	"renameat2": {{0, 1, false}, {2, 3, false}}, "link": {{-1, 0, false}, {-1, 1, false}},
	"linkat": {{0, 1, false}, {2, 3, false}},
}

// follow notes what one call does.
func (j *straceJudge) follow(c *straceCall) error {
	if l, ok := straceLookups[c.name]; ok {
		return j.lookup(c, l.operand, c.arg(l.flags))
	}
	if ch, ok := straceChanges[c.name]; ok {
		return j.change(c, ch.operand, ch.use)
	}
	if p, ok := stracePairs[c.name]; ok {
		return j.pair(c, p)
	}
	switch c.name {
	case "open":
		return j.open(c, operand{-1, 0, true}, c.arg(1))
	case "openat", "openat2":
		return j.open(c, operand{0, 1, true}, c.arg(2))
	case "execve":
		return j.execute(c, operand{-1, 0, true})
	case "execveat":
		return j.execute(c, operand{0, 1, true})
	case "clone", "clone3", "fork", "vfork":
		j.child(c)
	case "fchdir":
		if !c.failed() {
			*j.cwd[c.pid] = annotated(c.arg(0))
		}
	case "connect", "bind":
		j.socket(c)
	case "getdents", "getdents64":
		if path := annotated(c.arg(0)); !c.failed() && filepath.IsAbs(path) && !strings.HasPrefix(path, "/proc/") &&
			!strings.HasSuffix(c.arg(0), "(deleted)") {
			j.note(path, UseList)
		}
	case "fchmod", "fchown", "fsetxattr", "fremovexattr":
		if path := annotated(c.arg(0)); !c.failed() && filepath.IsAbs(path) &&
			!strings.HasSuffix(c.arg(0), "(deleted)") {
			j.note(path, UseLook|UseMode)
		}
	default:
		if !harmless[c.name] {
			return fmt.Errorf("a call that the judge does not know")
		}
	}
	return nil
}

// harmless are calls of the traced classes that name no file.
var harmless = map[string]bool{
	"exit": true, "exit_group": true, "wait4": true, "waitid": true, "kill": true, "tgkill": true, "tkill": true,
	"rt_sigqueueinfo": true, "pidfd_open": true, "pidfd_send_signal": true, "getcwd": true, "unshare": true,
	"socket": true, "socketpair": true, "getsockname": true, "getpeername": true, "setsockopt": true,
	"getsockopt": true, "sendto": true,
	"recvfrom": true, "sendmsg": true, "recvmsg": true, "shutdown": true, "listen": true,
	"accept": true, "accept4": true, "sendmmsg": true, "recvmmsg": true,
	"???": true, // a thread was killed before strace knew the call
}

// child gives the thread that a call starts its folder. With CLONE_FS it is the same one for both.
func (j *straceJudge) child(c *straceCall) {
	var pid int
	if _, err := fmt.Sscan(c.value, &pid); err != nil || pid <= 0 {
		return
	}
	if strings.Contains(strings.Join(c.args, " "), "CLONE_FS") {
		j.cwd[pid] = j.cwd[c.pid]
		return
	}
	folder := *j.cwd[c.pid]
	j.cwd[pid] = &folder
}

// at is the path of an operand as the call names it, absolute; ok is false where it names none: an empty path or an
// address that cannot be read.
func (j *straceJudge) at(c *straceCall, o operand) (string, bool) {
	path, ok := quoted(c.arg(o.path))
	if !ok || path == "" {
		return "", false
	}
	if filepath.IsAbs(path) {
		return j.descriptor(c, path), true
	}
	dir := *j.cwd[c.pid]
	if o.dir >= 0 && !strings.HasPrefix(c.arg(o.dir), "AT_FDCWD") {
		dir = annotated(c.arg(o.dir))
	}
	return dir + "/" + path, true
}

// descriptor is what /proc/self/fd/3 leads to.
func (j *straceJudge) descriptor(c *straceCall, path string) string {
	if fd, ok := strings.CutPrefix(path, "/proc/self/fd/"); ok && j.opened[fmt.Sprint(c.pid, "/", fd)] != "" {
		return j.opened[fmt.Sprint(c.pid, "/", fd)]
	}
	return path
}

// inetAddress finds the port, and the address of either family.
var inetAddress = regexp.MustCompile(`_port=htons\((\d+)\),.*(?:inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)")`)

// socket notes an address, and the path of one that has it.
func (j *straceJudge) socket(c *straceCall) {
	_, rest, ok := strings.Cut(c.arg(1), "sun_path=")
	if !ok {
		if m := inetAddress.FindStringSubmatch(c.arg(1)); m != nil {
			address := "inet:" + net.JoinHostPort(m[2]+m[3], m[1])
			if c.name == "bind" {
				address = "bind:" + address
			}
			j.sockets = append(j.sockets, address)
		}
		return
	}
	name, ok := quoted(rest)
	if !ok {
		j.sockets = append(j.sockets, "unix:"+strings.Trim(rest, `}"`)) // @NAME: without a path
		return
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(*j.cwd[c.pid], name)
	}
	path, _ := j.files.walk(name, c.name == "connect", func(link string) { j.note(link, UseRead|UseLook) })
	switch {
	case c.errno == "ENOENT":
		j.note(path, UseAbsent)
	case c.name == "bind" && !c.failed():
		j.note(path, UseAbsent)
		j.make(path, "file")
		j.sockets = append(j.sockets, "bind:unix:"+path)
	default:
		j.note(path, UseLook)
		j.sockets = append(j.sockets, "unix:"+path)
	}
}

// resolve is the path of an operand without links. It notes the links on the way.
func (j *straceJudge) resolve(c *straceCall, o operand) (string, bool) {
	path, ok := j.at(c, o)
	if !ok {
		return "", false
	}
	return j.files.walk(path, o.follow || strings.HasSuffix(path, "/"), func(link string) {
		j.note(link, UseRead|UseLook)
	})
}

// note adds a use. What a program wrote itself says nothing about what it was given.
func (j *straceJudge) note(path string, use Use) {
	if j.uses[path]&UseWrite != 0 {
		use &= UseWrite | UseMode | UseTime
	}
	if use&UseAbsent != 0 && j.uses[path] != 0 {
		use &^= UseAbsent
	}
	if use != 0 {
		j.uses[path] |= use
	}
}

func (j *straceJudge) lookup(c *straceCall, o operand, flags string) error {
	if strings.Contains(flags, "AT_SYMLINK_NOFOLLOW") {
		o.follow = false
	}
	path, ok := j.resolve(c, o)
	switch {
	case !ok:
	case c.errno == "ENOENT" || c.errno == "ENOTDIR":
		j.note(path, UseAbsent)
	default:
		j.note(path, UseLook)
		if c.name == "chdir" && !c.failed() {
			*j.cwd[c.pid] = path
		}
	}
	return nil
}

func (j *straceJudge) open(c *straceCall, o operand, flags string) error {
	o.follow = !strings.Contains(flags, "O_NOFOLLOW") && !strings.Contains(flags, "O_EXCL")
	path, ok := j.resolve(c, o)
	if !ok || c.value == "" {
		return nil
	}
	has := func(flag string) bool { return strings.Contains(flags, flag) }
	writes := has("O_WRONLY") || has("O_RDWR") || has("O_CREAT") || has("O_TRUNC")
	j.opened[fmt.Sprint(c.pid, "/", c.value)] = c.path
	switch {
	case c.errno == "ENOENT" || c.errno == "ENOTDIR":
		j.note(path, UseAbsent)
	case c.errno == "EEXIST" && has("O_EXCL"):
		j.note(path, UseLook)
	case c.failed():
		j.tried[path] |= UseRead | UseLook
		if writes {
			j.tried[path] |= UseWrite
		}
	case has("O_PATH") || has("O_TMPFILE"):
		j.note(path, UseLook)
	case has("O_DIRECTORY") || j.files.kind(path) == "folder":
		if strings.HasPrefix(path, "/proc/") {
			j.note(path, UseList) // the opening counts
		} else {
			j.note(path, UseLook)
		}
	case !writes:
		j.note(path, UseRead)
	case j.files.kind(path) == "":
		j.note(path, UseAbsent)
		j.make(path, "file")
	default:
		// What is not truncated keeps what was there, so the outcome depends on it.
		if !has("O_TRUNC") {
			j.note(path, UseRead)
		}
		j.note(path, UseWrite)
	}
	return nil
}

func (j *straceJudge) execute(c *straceCall, o operand) error {
	path, ok := j.resolve(c, o)
	switch {
	case !ok:
	case c.errno == "ENOENT" || c.errno == "ENOTDIR":
		j.note(path, UseAbsent)
	case c.failed():
		j.note(path, UseLook)
	default:
		j.executed(path)
	}
	return nil
}

// executed notes a program, and the one that the first line of a script names.
func (j *straceJudge) executed(path string) {
	j.note(path, UseRead)
	if !slices.Contains(j.programs, path) {
		j.programs = append(j.programs, path)
	}
	text, err := os.ReadFile(path)
	line, _, _ := strings.Cut(string(text), "\n")
	if words := strings.Fields(strings.TrimPrefix(line, "#!")); err == nil &&
		strings.HasPrefix(line, "#!") && len(words) > 0 {
		if next, ok := j.files.walk(words[0], true, func(link string) { j.note(link, UseRead|UseLook) }); ok {
			j.executed(next)
		}
	}
}

func (j *straceJudge) change(c *straceCall, o operand, use Use) error {
	if strings.Contains(strings.Join(c.args, " "), "AT_SYMLINK_NOFOLLOW") {
		o.follow = false
	}
	if _, text := quoted(c.arg(o.path)); !text && c.name == "utimensat" {
		if path := annotated(c.arg(0)); !c.failed() && filepath.IsAbs(path) {
			j.note(path, UseLook|UseTime)
		}
		return nil
	}
	path, ok := j.resolve(c, o)
	switch {
	case !ok:
	case c.errno == "ENOENT" || c.errno == "ENOTDIR":
		j.note(path, UseAbsent)
	case c.failed():
		j.note(path, UseLook)
	case use != UseWrite:
		j.note(path, use|UseLook)
	default:
		if j.files.kind(path) == "" {
			j.note(path, UseAbsent)
		} else if c.name == "truncate" {
			j.note(path, UseRead)
		} else {
			j.note(path, UseLook)
		}
		j.make(path, j.made(c))
	}
	return nil
}

// made is what a call leaves at its path.
func (j *straceJudge) made(c *straceCall) string {
	switch c.name {
	case "unlink", "unlinkat", "rmdir":
		return ""
	case "mkdir", "mkdirat":
		return "folder"
	case "symlink", "symlinkat":
		to, _ := quoted(c.arg(0))
		return "link:" + to
	}
	return "file"
}

// make notes that there is something else at a path now.
func (j *straceJudge) make(path, kind string) {
	j.note(path, UseWrite)
	j.files.set(path, kind)
}

// pair follows a rename or a link. The old path, with its members, counts as read.
func (j *straceJudge) pair(c *straceCall, p [2]operand) error {
	if strings.Contains(c.arg(4), "AT_SYMLINK_FOLLOW") {
		p[0].follow = true
	}
	from, ok := j.resolve(c, p[0])
	to, ok2 := j.resolve(c, p[1])
	if !ok || !ok2 {
		return nil
	}
	if c.failed() {
		// Which of the two is missing, the error does not say.
		for _, path := range []string{from, to} {
			if j.files.kind(path) != "" {
				j.note(path, UseLook)
			} else {
				j.note(path, UseAbsent)
			}
		}
		return nil
	}
	if strings.HasPrefix(c.name, "link") {
		j.note(from, UseRead)
		j.note(to, UseAbsent)
		j.make(to, j.files.kind(from))
		return nil
	}
	forth, back := j.files.take(from), j.files.take(to)
	j.move(forth, back, from, to)
	if strings.Contains(c.arg(4), "RENAME_EXCHANGE") {
		j.move(back, forth, to, from)
	}
	return nil
}

// move notes that files came from one place to another, where there were some already.
func (j *straceJudge) move(files, there map[string]string, from, to string) {
	for path, kind := range files {
		into := to + strings.TrimPrefix(path, from)
		if kind == "folder" {
			j.note(path, UseList)
		} else {
			j.note(path, UseRead)
		}
		j.note(path, UseWrite)
		if there[into] != "" {
			j.note(into, UseLook)
		} else {
			j.note(into, UseAbsent)
		}
		j.make(into, kind)
	}
}
