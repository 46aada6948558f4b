package kernel

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/kernel/caches"
	"github.com/xstate-engine/xstate/runner/sandbox"
)

// The report of a sandbox says what processes did, by system calls. The hooks of a language say what the program did,
// in terms of the language. A reporting makes one observation of both, the same for every language:
//
//   - Of the interpreter itself, the hooks know more: why a file was looked up, and that a library's own cache is no
//     input. So of the main process only what was done behind the hooks counts, by native code: files that were opened
//     or changed, and what was looked up and listed outside of an import. Look-ups of the hooks' own concern folders
//     above files that they report; these are left out.
//   - For other processes the report is the only source. Everything that they read, looked up, listed and wrote counts.
//   - What they read in folders of the system are tools, not data. A tool is compared by its identity (size, time,
//     inode) and not by its content. All tools of a node make one key, see Programs.
//   - Caches of libraries and tools do not count, see package caches.
//   - A file that was made and removed within the node leaves no trace, such as the assembler file of a compiler.
//   - An image of the report comes before one of the hooks, for it is the earlier one: the supervisor makes none after
//     the hooks have announced theirs.
//   - The mark "subprocess" remains for what a report cannot show: see unknown.
type reporting struct {
	folder string          // the workspace
	system []string        // folders of tools
	caches caches.Folders  // those of libraries and tools
	alive  bool            // child processes were alive at the end of the last node
	left   bool            // some of these were not helpers
	bound  map[string]bool // addresses of sockets that the box listens at
	// records says that requests are recorded: a node is marked for what went another way
	records bool
	// unhooked says that the interpreter has no hooks: the report is all that there is of it, too
	unhooked bool
}

// newReporting returns the reporting of a box.
func newReporting(s *sandbox.Spec, environ []string) *reporting {
	return &reporting{records: s.Record != nil, folder: s.Folder,
		system: slices.Concat(sandbox.SystemFolders, s.System),
		caches: CacheFolders(s, environ), bound: map[string]bool{}}
}

// CacheFolders returns the folders of caches of a program with such an environment.
func CacheFolders(s *sandbox.Spec, environ []string) caches.Folders {
	if s != nil {
		environ = s.Environ(environ)
	}
	return caches.Of(func(name string) string { return Getenv(environ, name) })
}

// kind says what a file is to a program.
type kind int

const (
	kindData   kind = iota
	kindTool        // it belongs to the system, the language or an installed package
	kindNobody      // no file of a program: a device, a process, compiled Python, a folder that always exists
	kindCache       // a library or a tool keeps there what it can compute again
)

// nobodysFolders hold nothing of a program or of the system's files. The last is that of the driver's marks.
var nobodysFolders = []string{"/proc", "/sys", "/dev", "/.xstate"}

// kind classifies a path. Of the workspace and the folders of the system that it lies in, the innermost decides.
func (r *reporting) kind(path string) kind {
	if parents.AnyHolds(nobodysFolders, path) ||
		strings.HasSuffix(path, ".pyc") || strings.Contains(path, "__pycache__") {
		return kindNobody
	}
	innermost := -1
	for _, folder := range r.system {
		if parents.Holds(folder, path) {
			innermost = max(innermost, len(folder))
		}
		if parents.Holds(path, folder) && !parents.Holds(r.folder, path) {
			return kindNobody // above a tool
		}
	}
	switch {
	case innermost > len(r.folder) || innermost >= 0 && !parents.Holds(r.folder, path):
		return kindTool
	case parents.Holds(path, r.folder) && path != r.folder:
		return kindNobody // above the workspace
	}
	return kindData
}

// join adds a report to what the hooks saw.
func (r *reporting) join(report sandbox.Report, seen *Observation) {
	f := &seen.Files
	f.Observed, f.Hidden, f.Changed = true, report.Hidden, report.Changed
	if f.Reads == nil {
		f.Reads = map[string]*string{}
	}
	if f.Writes == nil {
		f.Writes = map[string]*FileBefore{}
	}
	if f.Chmods == nil {
		f.Chmods = map[string]uint32{}
	}
	if r.unhooked {
		report = withMain(report)
	}
	owns := r.owners(report)
	kindOf := func(path string, a *sandbox.Access) kind {
		if r.caches.Hold(path, owns) || r.caches.Base(path) && a.Use&sandbox.UseList == 0 && path != r.folder {
			return kindCache
		}
		return r.kind(path)
	}
	above := foldersOf(f)
	for path, a := range report.Main {
		if a.Use&sandbox.UseAsked != 0 && kindOf(path, a) == kindData && !slices.Contains(f.Disregarded, path) {
			r.asked(path, a, above[path], f)
		}
		if kindOf(path, a) == kindData && !slices.Contains(f.Disregarded, path) {
			r.main(path, a, report.Child[path], f)
		}
	}
	installs := false
	for path, a := range report.Child {
		switch kindOf(path, a) {
		case kindData:
			r.child(path, a, report.Main[path], f)
		case kindTool:
			f.Tools = append(f.Tools, toolOf(path, a.Use))
			installs = installs || a.Use&changes != 0 && !gone(path, a)
		}
	}
	slices.Sort(f.Tools)
	slices.Sort(f.Listings)
	f.Tools, f.Listings = slices.Compact(f.Tools), slices.Compact(f.Listings)
	if len(report.Programs) > 0 {
		f.Program = r.programOf(report)
	}
	r.mark(report, installs, seen)
}

// owners returns a function that reports whether a library or a tool with a name is in use: child processes looked into
// its package, or executed a program of the system that has its name.
func (r *reporting) owners(report sandbox.Report) func(plain string) bool {
	names := map[string]bool{}
	for _, program := range report.Programs {
		if r.kind(program) == kindTool {
			names[caches.Plain(filepath.Base(program))] = true
		}
	}
	for path := range report.Child {
		for _, folder := range packageFolders {
			if _, rest, ok := strings.Cut(path, folder); ok {
				name, _, _ := strings.Cut(rest, "/")
				names[caches.Plain(strings.TrimSuffix(name, ".py"))] = true
			}
		}
	}
	return func(plain string) bool { return names[plain] }
}

// packageFolders are what paths of the files of a package have before its name.
var packageFolders = []string{"/site-packages/", "/dist-packages/", "/node_modules/"}

// withMain returns a report that has what the interpreter itself did as done by a child process.
func withMain(report sandbox.Report) sandbox.Report {
	all := maps.Clone(report.Child)
	if all == nil {
		all = map[string]*sandbox.Access{}
	}
	for path, a := range report.Main {
		if other := all[path]; other != nil {
			a = bothSides(a, other)
		}
		all[path] = a
	}
	report.Main, report.Child = nil, all
	return report
}

// bothSides returns what two sides did with one file. The former file is known if one side has its content.
func bothSides(a, b *sandbox.Access) *sandbox.Access {
	both := *a
	both.Use |= b.Use &^ sandbox.UseAbsent
	if b.Before != nil && (both.Before == nil || both.Before.Copy == "") {
		both.Before = b.Before
	}
	return &both
}

// changes are uses that change a file.
const changes = sandbox.UseWrite | sandbox.UseMode | sandbox.UseTime

// main adds what native code of the interpreter's process did with a file.
func (r *reporting) main(path string, a, child *sandbox.Access, f *Files) {
	_, hooked := f.Writes[path]
	if hooked {
		r.changed(path, a, child, f)
		return
	}
	if gone(path, a) {
		return
	}
	if a.Use&sandbox.UseRead != 0 && a.Use&sandbox.UseAbsent == 0 {
		f.Reads[path] = nil
	}
	r.changed(path, a, child, f)
}

// foldersOf returns the folders above the paths that the hooks report.
func foldersOf(f *Files) map[string]bool {
	above := map[string]bool{}
	add := func(path string) {
		for folder := range parents.Up(filepath.Dir(path)) {
			if above[folder] {
				break
			}
			above[folder] = true
		}
	}
	for path := range f.Reads {
		add(path)
	}
	for path := range f.Writes {
		add(path)
	}
	for _, path := range f.Listings {
		add(path)
	}
	return above
}

// asked adds what native code of the interpreter's process looked up and listed. above says that the hooks report files
// in it. Journals of SQLite come and go with its connections; the hooks know these.
func (r *reporting) asked(path string, a *sandbox.Access, above bool, f *Files) {
	if _, wrote := f.Writes[path]; wrote || gone(path, a) {
		return
	}
	if a.Use&sandbox.UseList != 0 {
		f.Listings = append(f.Listings, path)
	}
	journal := slices.ContainsFunc([]string{"-journal", "-wal", "-shm"}, func(end string) bool {
		return strings.HasSuffix(path, end)
	})
	if a.Use&sandbox.UseLook != 0 && !above && !journal && path != r.folder {
		look(f, path)
	}
}

// child adds what other processes did with a file.
func (r *reporting) child(path string, a, main *sandbox.Access, f *Files) {
	_, hooked := f.Writes[path]
	if !hooked && gone(path, a) {
		if parents.Holds(r.folder, path) && !isRandom(path) {
			look(f, path) // as a lock: whether it is there decides
		}
		return
	}
	inRoot := func(root string) bool { return parents.Holds(root, path) }
	if a.Use&changes != 0 && slices.ContainsFunc(r.caches.Roots, inRoot) {
		return
	}
	switch {
	case a.Use&(sandbox.UseRead|sandbox.UseAbsent) == sandbox.UseRead:
		f.Reads[path] = nil
	case a.Use&sandbox.UseLook != 0 && path != r.folder:
		look(f, path)
	}
	if a.Use&(sandbox.UseLook|sandbox.UseAbsent) == sandbox.UseLook && path != r.folder {
		f.Looks = append(f.Looks, path)
	}
	if a.Use&sandbox.UseList != 0 {
		f.Listings = append(f.Listings, path)
	}
	r.changed(path, a, main, f)
}

// isRandom reports whether a name looks as mkstemp(3) makes it, with six letters and digits at its end: no process
// looks for such a file before it is made.
func isRandom(path string) bool {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	return len(name) >= 6 && strings.ContainsAny(name[len(name)-5:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
}

// look notes that a node depends on whether a file is there.
func look(f *Files, path string) {
	if _, read := f.Reads[path]; !read {
		how := "presence"
		f.Reads[path] = &how
	}
}

// changed adds a change of a file by one side, main or child. other is what the other side did, or nil.
func (r *reporting) changed(path string, a, other *sandbox.Access, f *Files) {
	if a.Use&changes == 0 {
		return
	}
	_, hooked := f.Writes[path]
	if info, err := os.Lstat(path); err == nil && info.Mode()&(os.ModeSocket|os.ModeNamedPipe|os.ModeDevice) != 0 {
		return // a process listens there, maybe for long: it has no content to restore
	}
	first, known := firstImage(path, a, other)
	switch {
	case hooked && known:
		f.Writes[path] = first
	case hooked:
	case a.Use&(sandbox.UseWrite|sandbox.UseTime) != 0:
		if !known {
			return // it was announced and is open: the engine compares such files
		}
		f.Writes[path] = first
		f.Maybe = append(f.Maybe, path)
		if folder := filepath.Dir(path); parents.Holds(r.folder, folder) && folder != r.folder {
			if _, wrote := f.Writes[folder]; !wrote {
				look(f, folder) // without the folder, the write fails
			}
		}
	case a.Before != nil:
		if _, twice := f.Chmods[path]; !twice {
			look(f, path)
			f.Modes = append(f.Modes, path)
			f.Chmods[path] = a.Before.Mode
		}
	}
}

// firstImage returns what was at a path before the node changed it, as far as the report has it. An image without a
// copy belongs to a change that was not the first, or to one that left the content.
func firstImage(path string, sides ...*sandbox.Access) (first *FileBefore, known bool) {
	wrote := false
	for _, a := range sides {
		if a == nil {
			continue
		}
		if a.Before != nil && a.Before.Copy != "" {
			return &FileBefore{Copy: a.Before.Copy, Mode: a.Before.Mode, Time: a.Before.Time}, true
		}
		wrote = wrote || a.Use&sandbox.UseWrite != 0
		known = known || a.Use&(sandbox.UseWrite|sandbox.UseAbsent) == sandbox.UseWrite|sandbox.UseAbsent
	}
	if known || wrote {
		return nil, known
	}
	for _, a := range sides {
		if a != nil && a.Before != nil {
			return &FileBefore{Copy: contentOf(path), Mode: a.Before.Mode, Time: a.Before.Time}, true
		}
	}
	return nil, false
}

// contentOf describes the content of a file that was not written, as FileBefore has it.
func contentOf(path string) string {
	info, err := os.Lstat(path)
	switch {
	case err != nil || info.Mode().IsRegular():
		return path
	case info.IsDir():
		return "directory"
	case info.Mode()&os.ModeSymlink != 0:
		target, _ := os.Readlink(path)
		return "symlink:" + target
	}
	return "special"
}

// gone reports whether a file was made and removed within the node.
func gone(path string, a *sandbox.Access) bool {
	if a.Use&(sandbox.UseWrite|sandbox.UseAbsent) != sandbox.UseWrite|sandbox.UseAbsent {
		return false
	}
	_, err := os.Lstat(path)
	return err != nil
}

// toolOf names a tool. A folder whose list was read ends in a slash: a file that comes or goes there changes it.
func toolOf(path string, use sandbox.Use) string {
	if use&sandbox.UseList != 0 {
		return path + "/"
	}
	return path
}

// varyingFiles are files of the system that hold something else each time they are read.
var varyingFiles = map[string]string{
	"/dev/urandom": "entropy", "/dev/random": "entropy", "/proc/sys/kernel/random/uuid": "entropy",
	"/proc/uptime": "clock", "/proc/loadavg": "process",
}

// mark adds the marks of what child processes did, as far as it can differ from run to run.
func (r *reporting) mark(report sandbox.Report, installs bool, seen *Observation) {
	f := &seen.Files
	for _, program := range report.Programs {
		name := filepath.Base(program)
		if mark := varying[name]; mark != "" {
			seen.mark(mark)
		}
		f.ShowsTimes = f.ShowsTimes || showTimes[name]
	}
	for path, mark := range varyingFiles {
		child, main := report.Child[path], report.Main[path]
		device := strings.HasPrefix(path, "/dev/") // interpreters read it, too; the hooks see when a program does
		if child != nil && child.Use&sandbox.UseRead != 0 || !device && main != nil && main.Use&sandbox.UseRead != 0 {
			seen.mark(mark)
		}
	}
	unknown := installs
	for _, what := range report.Unseen {
		unknown = unknown || what != "hard link" || len(report.Child) > 0 // the hooks see writes to a linked file
	}
	unknown = r.sockets(report.Sockets, seen) || unknown
	started := len(report.Programs) > 0 || len(report.Child) > 0
	unknown = unknown || report.Running && (started || !r.alive)
	f.LeavesRunning, f.EndsRunning = report.Leaves, r.left && !report.Serving
	f.MeetsOthers = started || len(report.Sockets) > 0
	r.left = report.Serving
	if r.alive = report.Running; unknown {
		seen.mark("subprocess")
	}
}

// sockets marks a node that used the network. It reports whether the node used a socket of another program: a daemon
// does what no report has.
func (r *reporting) sockets(used []string, seen *Observation) (daemon bool) {
	for _, s := range used {
		address, bound := strings.CutPrefix(s, "bind:")
		path, local := strings.CutPrefix(address, "unix:")
		if bound {
			r.bound[address] = true
		}
		if !local {
			if !bound || !r.records || !slices.Contains(triedOut, address) {
				seen.mark("network")
			}
			continue
		}
		_, err := os.Lstat(path)
		daemon = daemon || !r.bound[address] && (err == nil || !filepath.IsAbs(path))
	}
	return daemon
}

// triedOut are addresses that a library binds a socket to when it tries out what the system offers.
var triedOut = []string{"tcp:127.0.0.1:0", "tcp:[::1]:0"}

func (o *Observation) mark(mark string) {
	if !slices.Contains(o.Marks, mark) {
		o.Marks = append(o.Marks, mark)
	}
}

// shells start other programs. They name a chain of programs only if they start none.
var shells = map[string]bool{
	"sh": true, "bash": true, "dash": true, "zsh": true, "env": true, "nice": true, "time": true,
}

// programOf returns the name of the first program of the system that is not a shell. The name may be that of a link,
// such as gcc.
func (r *reporting) programOf(report sandbox.Report) string {
	first := filepath.Base(report.Programs[0])
	for _, p := range report.Programs {
		if r.kind(p) == kindTool && !shells[filepath.Base(p)] {
			return linkTo(p, report.Child)
		}
	}
	return first
}

// linkTo returns the name of a link to a program that was followed, or the program's own. Of several, the first in
// order.
func linkTo(program string, used map[string]*sandbox.Access) string {
	name := ""
	for path := range used {
		short := filepath.Base(path)
		if folder := filepath.Base(filepath.Dir(path)); folder != "bin" || name != "" && short >= name {
			continue
		}
		if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		if target, err := filepath.EvalSymlinks(path); err == nil && target == program {
			name = short
		}
	}
	return cmp.Or(name, filepath.Base(program))
}

// varying are programs that show, by their nature, what differs from run to run, with the mark for it. Others may do so
// as well: a system call does not show what a program does with the time.
var varying = map[string]string{
	"date": "clock", "cal": "clock", "uptime": "clock", "hwclock": "clock", "w": "clock", "who": "clock",
	"last": "clock", "git": "clock", "uuidgen": "entropy", "mktemp": "entropy", "mcookie": "entropy", "shuf": "entropy",
	"openssl": "entropy", "ps": "process", "top": "process", "pgrep": "process", "pidof": "process",
	"pstree": "process", "free": "process", "vmstat": "process", "lsof": "process", "df": "process", "fuser": "process",
}

// showTimes are programs that show or store the times of files that they look at. Others compare times, as make does.
var showTimes = map[string]bool{
	"ls": true, "stat": true, "find": true, "tar": true, "bsdtar": true, "zip": true, "gzip": true, "cpio": true,
	"rsync": true, "7z": true, "tree": true,
}
