package sandbox_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
)

// secret is what must not be seen in a box.
const secret = "SECRET-9f2c"

// site is the place in which one escape is tried: a workspace with a store, a folder outside with a secret, sockets on
// which somebody outside listens, and a process outside.
type site struct {
	t                                *testing.T
	escape                           *escape
	victim                           *victim
	base, work, store, spool, abroad string
	mark                             string
	before                           string
	listeners                        []listener
	signals                          chan os.Signal
	about_                           map[string]any
}

// listener is a socket of the outside. Nobody accepts or reads: what comes waits.
type listener interface {
	Close() error
	SyscallConn() (syscall.RawConn, error)
}

// waits reports whether somebody has connected, or sent something.
func waits(l listener) (yes bool) {
	raw, err := l.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, _ := unix.Poll(p, 0)
			yes = n > 0
		})
	}
	return yes || err != nil
}

func newSite(t *testing.T, e *escape, v *victim) *site {
	t.Helper()
	base, err := os.MkdirTemp("", "site-")
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err != nil {
		t.Fatal(err)
	}
	var random [6]byte
	_, _ = rand.Read(random[:])
	s := &site{t: t, escape: e, victim: v, base: base, work: filepath.Join(base, "work"),
		abroad: filepath.Join(base, "outside"), mark: "escape-" + hex.EncodeToString(random[:])}
	s.store = filepath.Join(s.work, ".xstate")
	s.spool = filepath.Join(s.store, "spool")
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{s.spool, s.abroad} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		s.work + "/a": "a", s.store + "/history": "history " + secret, s.abroad + "/secret": secret,
		s.abroad + "/file":   "file",
		"/dev/shm/" + s.mark: secret,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.listen()
	s.before = s.state()
	s.signals = make(chan os.Signal, 100)
	signal.Notify(s.signals, syscall.SIGWINCH)
	return s
}

// listen opens the sockets of the outside.
func (s *site) listen() {
	s.about_ = map[string]any{
		"unix": s.abroad + "/sock", "abstract": s.mark, "datagram": s.abroad + "/datagram",
	}
	stream := func(network, address string) net.Addr {
		l, err := net.Listen(network, address)
		if err != nil {
			s.t.Fatal(err)
		}
		s.listeners = append(s.listeners, l.(listener))
		return l.Addr()
	}
	datagrams := func(network, address string) net.Addr {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			s.t.Fatal(err)
		}
		s.listeners = append(s.listeners, c.(listener))
		return c.LocalAddr()
	}
	s.about_["tcp"] = stream("tcp4", "127.0.0.1:0").(*net.TCPAddr).Port
	stream("unix", s.abroad+"/sock")
	stream("unix", s.work+"/theirs")
	stream("unix", "@"+s.mark)
	s.about_["udp"] = datagrams("udp4", "127.0.0.1:0").(*net.UDPAddr).Port
	datagrams("unixgram", s.abroad+"/datagram")
}

// about is what an escape knows: everything but the secret.
func (s *site) about(v variant) map[string]any {
	_, err := os.Stat("/proc/self/ns/user")
	tries := 0 // as many as the program wants
	if !v.boxed {
		tries = 30000
	}
	for name, value := range map[string]any{
		"program": s.escape.program, "work": s.work, "outside": s.abroad, "secret": s.abroad + "/secret",
		"file": s.abroad + "/file", "spool": s.spool, "mark": s.mark, "engine": os.Getpid(), "root": os.Getuid() == 0,
		"victim": s.victim.Pid, "address": s.victim.Address, "open": s.victim.Open, "segment": s.victim.Segment,
		"tries": tries, "observed": v.observe == "", "namespaces": err == nil && v.without == nil && v.launcher == "",
	} {
		s.about_[name] = value
	}
	return s.about_
}

// judge says what harm was done; "": none.
func (s *site) judge(out string) string {
	if at := strings.Index(out, "HARM: "); at >= 0 {
		return strings.SplitN(out[at:], "\n", 2)[0]
	}
	if strings.Contains(out, secret) {
		return "the secret was read"
	}
	if now := s.state(); now != s.before {
		return "files outside were changed: " + difference(s.before, now)
	}
	if left := s.left(); left != "" {
		return left
	}
	for _, p := range append(s.strays(), s.work+"/xstate.toml") {
		if _, err := os.Lstat(p); err == nil {
			return p + " was made"
		}
	}
	for _, l := range s.listeners {
		if waits(l) {
			return "somebody outside was reached"
		}
	}
	select {
	case <-s.signals:
		return "the engine was signalled"
	default:
	}
	if s.victim.hurt() {
		return "the process outside was touched"
	}
	return ""
}

// left finds processes that outlived the box, and the secret in the workspace.
func (s *site) left() string {
	var found string
	_ = filepath.WalkDir(s.work, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasPrefix(p, s.store) {
			if text, err := os.ReadFile(p); err == nil && strings.Contains(string(text), secret) {
				found = "the secret is in " + p
			}
		}
		return nil
	})
	if pids := s.marked(); len(pids) > 0 {
		found = fmt.Sprintf("processes %v were left", pids)
	}
	return found
}

// marked are the processes that have the mark of this site in their environment.
func (s *site) marked() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		if strings.Contains(string(text), "MARK="+s.mark) && !strings.Contains(string(stat), ") Z ") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// strays are paths elsewhere that escapes try to make.
func (s *site) strays() []string {
	home, _ := os.UserHomeDir()
	return []string{"/usr/local/lib/" + s.mark, "/usr/lib/python3/dist-packages/" + s.mark + ".pth",
		home + "/." + s.mark,
		"/tmp/" + s.mark, s.work + "2"}
}

// state describes the folder outside, the folder above, and the store without its spool.
func (s *site) state() string {
	var text strings.Builder
	describe := func(p string) {
		info, err := os.Lstat(p)
		if err != nil {
			fmt.Fprintln(&text, p, "is gone")
			return
		}
		stat := info.Sys().(*syscall.Stat_t)
		var content []byte
		if info.Mode().IsRegular() {
			content, _ = os.ReadFile(p)
		}
		attributes := make([]byte, 100)
		n, _ := syscall.Listxattr(p, attributes)
		fmt.Fprintln(&text, p, info.Mode(), stat.Uid, stat.Ino, stat.Nlink, stat.Mtim.Nano(), string(content),
			string(attributes[:max(n, 0)]))
	}
	for _, root := range []string{s.abroad, s.store} {
		_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if p == s.spool {
				return fs.SkipDir
			}
			if p != s.store { // the spool changes it
				describe(p)
			}
			return nil
		})
	}
	names, _ := os.ReadDir(s.base)
	for _, name := range names {
		fmt.Fprintln(&text, name.Name())
	}
	return text.String()
}

func difference(before, after string) string {
	old := map[string]bool{}
	for _, line := range strings.Split(before, "\n") {
		old[line] = true
	}
	var changed []string
	for _, line := range strings.Split(after, "\n") {
		if !old[line] {
			changed = append(changed, line)
		}
	}
	return strings.Join(changed, "; ")
}

func (s *site) clean() {
	signal.Stop(s.signals)
	for _, l := range s.listeners {
		l.Close()
	}
	for range 20 { // a chain of processes is not caught at once
		pids := s.marked()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(pids) == 0 {
			break
		}
	}
	for _, p := range append(s.strays(), s.base, "/dev/shm/"+s.mark) {
		os.RemoveAll(p)
	}
}

// victim is a process of the same user outside of every box. It has the secret in its environment, its arguments, its
// memory, an open file and a shared segment, and notes a signal.
type victim struct {
	cmd     *exec.Cmd
	ask     io.Writer   // it answers each line
	answers chan string // closed when it has ended
	folder  string
	limits  string
	Pid     int
	Address uint64
	Open    int
	Segment int
}

const victimProgram = `
import ctypes, json, os, signal, sys, time
def note(*_): open("signalled", "w").close()
signal.signal(signal.SIGWINCH, note)
os.chdir(sys.argv[1])
open("secret", "w").write(sys.argv[2])
fd = os.open("secret", os.O_RDWR)
text = ctypes.create_string_buffer(sys.argv[2].encode(), 64)
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
key = 0x5ec00000 + os.getpid()
while (segment := libc.shmget(key, 4096, 0o3600)) < 0: key += 1 << 16 # one that was left behind has that key
at = libc.shmat(segment, None, 0)
ctypes.memmove(at, text, 64)
libc.prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)
print(json.dumps(dict(Pid=os.getpid(), Address=ctypes.addressof(text), Open=fd, Segment=key)), flush=True)
for line in sys.stdin: print("alive", flush=True)
`

func startVictim(t *testing.T) *victim {
	t.Helper()
	folder, err := os.MkdirTemp("", "victim-")
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{folder: folder}
	v.cmd = exec.Command("/usr/bin/python3", "-S", "-c", victimProgram, folder, secret)
	v.cmd.Env = append(os.Environ(), "TOKEN="+secret)
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := v.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := v.cmd.StdoutPipe()
	if err == nil {
		err = v.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, _ := lines.ReadBytes('\n')
	if err := json.Unmarshal(line, v); err != nil {
		t.Fatal(err)
	}
	v.limits = v.status()
	v.ask, v.answers = in, make(chan string, 1)
	go func() {
		defer close(v.answers)
		for {
			answer, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			v.answers <- answer
		}
	}()
	t.Cleanup(func() { in.Close(); v.stop() })
	return v
}

// status is what others must not change.
func (v *victim) status() string {
	limits, _ := os.ReadFile(fmt.Sprintf("/proc/%d/limits", v.Pid))
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", v.Pid))
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.Pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return "ended"
	}
	_, processors, _ := strings.Cut(string(status), "Cpus_allowed:")
	processors, _, _ = strings.Cut(processors, "\n")
	return string(limits) + processors + fields[16] // priority and niceness
}

// hurt reports whether somebody touched the victim. A victim that answers has handled the signals that it had.
func (v *victim) hurt() bool {
	touched := func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", v.Pid))
		if v.status() != v.limits || strings.Contains(string(stat), ") T ") || strings.Contains(string(stat), ") t ") {
			return true
		}
		_, err := os.Stat(filepath.Join(v.folder, "signalled"))
		return err == nil
	}
	if touched() {
		return true
	}
	if _, err := io.WriteString(v.ask, "?\n"); err != nil {
		return true
	}
	hurt, ctx := false, context.Background()
	ctx, cancel := context.WithTimeout(ctx, await.Long)
	defer cancel()
	_ = await.Poll(ctx, func() bool {
		select {
		case _, lives := <-v.answers:
			hurt = !lives || touched()
			return true
		default:
			hurt = touched()
			return hurt
		}
	})
	return hurt || ctx.Err() != nil
}

func (v *victim) stop() {
	_ = v.cmd.Process.Signal(syscall.SIGCONT)
	_ = v.cmd.Process.Kill()
	_ = v.cmd.Wait()
	os.RemoveAll(v.folder)
	if id, err := unix.SysvShmGet(v.Segment, 0, 0); err == nil { // it outlives its process
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	}
}
