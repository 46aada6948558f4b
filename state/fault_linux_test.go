//go:build linux && amd64

package state

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func init() { children["faults"] = commitOnce }

// commitOnce does everything that writes to a store: it commits a run with results of each kind, then a patch, then
// frees what is of no use. It prints what was acknowledged, and errors.
func commitOnce(dir string, out io.Writer) error {
	runtime.LockOSThread()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		fmt.Fprintln(out, "open", CodeOf(err))
		return nil
	}
	say := func(what string, err error) {
		if err != nil {
			fmt.Fprintln(out, what, "failed", CodeOf(err))
		} else {
			fmt.Fprintln(out, what, "done")
		}
	}
	_, err = s.PutBlob(noise(7, 20_000))
	say("blob", err)
	_, err = s.PutTrace(Trace{Code: "c", Marks: []string{"new"}})
	say("trace", err)
	if f, bad := os.Open(filepath.Join(dir, ".gitignore")); bad == nil {
		_, err = s.PutBase(f)
		f.Close()
		say("base", err)
	}
	for range 2 {
		n, _, err := s.Head(ctx, "s")
		if err == nil {
			_, err = s.Commit(
				ctx,
				"s",
				n,
				[]Draft{
					{Kind: KindRun, Run: &RunSummary{}},
					insert(BlockID("n"+itoa(int(n))), "", string(noise(uint64(n), 9000))),
				},
			)
		}
		say("step "+itoa(int(n+2)), err)
	}
	_, err = s.Collect(ctx, CollectOptions{MaxBytes: 1 << 20})
	say("collect", err)
	say("close", s.Close())
	return nil
}

// A fault is what becomes of one system call of those that change files.
type fault string

const (
	noFault    fault = "none"
	faultIO    fault = "EIO"
	faultFull  fault = "ENOSPC"
	faultShort fault = "short write, then ENOSPC"
	faultKill  fault = "killed before"
)

// writers are the system calls that change files, with whether the first argument is a file.
var writers = map[uint64]bool{
	syscall.SYS_PWRITE64: true, syscall.SYS_WRITE: true, syscall.SYS_FTRUNCATE: true,
	syscall.SYS_FSYNC: true, syscall.SYS_FDATASYNC: true,
	syscall.SYS_FCHMOD: true, syscall.SYS_RENAME: false, syscall.SYS_RENAMEAT: false,
	syscall.SYS_UNLINKAT: false, syscall.SYS_MKDIRAT: false,
}

// withFault runs a child and does the fault to its call number at. It returns what the child printed, and how many
// calls there were.
func withFault(t *testing.T, dir string, f fault, at int) (lines []string, calls int) {
	t.Helper()
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	cmd := child("faults", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	cmd.Stderr = os.Stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Skipf("no process can be traced here: %v", err)
	}
	w.Close()
	said := make(chan []string)
	go func() {
		var all []string
		for s := bufio.NewScanner(r); s.Scan(); {
			all = append(all, s.Text())
		}
		r.Close()
		said <- all
	}()
	calls = trace(t, cmd.Process.Pid, dir, f, at)
	cmd.Process.Release()
	return <-said, calls
}

func trace(t *testing.T, pid int, dir string, f fault, at int) (calls int) {
	t.Helper()
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		t.Fatal(err)
	}
	const sysgood, exitKill = 1, 1 << 20
	if err := syscall.PtraceSetOptions(pid, sysgood|exitKill|syscall.PTRACE_O_TRACECLONE); err != nil {
		t.Skipf("no process can be traced here: %v", err)
	}
	inside := map[int]bool{}          // threads between entry and exit of a call
	answer := map[int]syscall.Errno{} // of a call that was not made
	next := pid
	signal := 0
	for {
		if err := syscall.PtraceSyscall(next, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
		tid, err := syscall.Wait4(-1, &status, syscall.WALL, nil)
		if err != nil {
			return calls
		}
		next, signal = tid, 0
		switch {
		case status.Exited() || status.Signaled():
			if tid == pid {
				return calls
			}
			continue
		case status.StopSignal() == syscall.SIGTRAP|0x80:
		case status.StopSignal() == syscall.SIGTRAP, status.StopSignal() == syscall.SIGSTOP:
			continue
		default:
			signal = int(status.StopSignal())
			continue
		}
		var regs syscall.PtraceRegs
		if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
			continue
		}
		inside[tid] = !inside[tid]
		if !inside[tid] {
			if errno, ok := answer[tid]; ok {
				delete(answer, tid)
				regs.Rax = -uint64(errno)
				_ = syscall.PtraceSetRegs(tid, &regs)
			}
			continue
		}
		if !touches(pid, dir, &regs) {
			continue
		}
		calls++
		switch {
		case f == faultKill && calls == at:
			_ = syscall.Kill(pid, syscall.SIGKILL)
		case f == faultShort && calls == at && regs.Rdx > 1 &&
			(regs.Orig_rax == syscall.SYS_PWRITE64 || regs.Orig_rax == syscall.SYS_WRITE):
			regs.Rdx /= 2
			_ = syscall.PtraceSetRegs(tid, &regs)
		case f == faultIO && calls == at:
			answer[tid] = syscall.EIO
		case f == faultFull && calls == at, f == faultShort && calls == at+1:
			answer[tid] = syscall.ENOSPC
		}
		if _, ok := answer[tid]; ok {
			regs.Orig_rax = ^uint64(0)
			_ = syscall.PtraceSetRegs(tid, &regs)
		}
	}
}

// touches reports whether a call changes a file of the store.
func touches(pid int, dir string, regs *syscall.PtraceRegs) bool {
	file, ok := writers[regs.Orig_rax]
	if !ok || !file {
		return ok
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, regs.Rdi))
	return err == nil && strings.HasPrefix(path, dir)
}

// TestFaults has every call that changes a file of the store fail, in each way: what was acknowledged is there, of the
// rest nothing is, nothing is damaged, and the store goes on.
func TestFaults(t *testing.T) {
	p := newSample(t, 12)
	dir := storeDir(t)
	again := func() {
		t.Helper()
		if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(p.dir))); err != nil {
			t.Fatal(err)
		}
	}
	again()
	lines, calls := withFault(t, dir, noFault, 0)
	if want := "step 14 done"; calls < 20 || !strings.Contains(strings.Join(lines, "\n"), want) {
		t.Fatalf("%d calls; the child said %q", calls, lines)
	}
	t.Logf("%d calls", calls)
	step := 1
	if testing.Short() {
		step = 13
	}
	for _, f := range []fault{faultIO, faultFull, faultShort, faultKill} {
		felt := 0 // by the child; failures of results alone are not errors
		for at := 1; at <= calls; at += step {
			again()
			lines, _ := withFault(t, dir, f, at)
			p.afterFault(t, dir, f, lines)
			if said := strings.Join(lines, "\n"); strings.Contains(said, "failed") || !strings.Contains(said, "close") {
				felt++
			}
			if t.Failed() {
				t.Fatalf("%s of call %d; the child said %q", f, at, lines)
			}
		}
		t.Logf("%s: felt %d times", f, felt)
		if felt == 0 {
			t.Errorf("%s has no effect", f)
		}
	}
}

func (p *sample) afterFault(t *testing.T, dir string, f fault, lines []string) {
	t.Helper()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	head, _, err := s.Head(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := StepNumber(12)
	for _, line := range lines {
		var n StepNumber
		var how string
		if k, _ := fmt.Sscanf(line, "step %d %s", &n, &how); k == 2 && how == "done" {
			acknowledged = n
		}
		for _, code := range []Code{"", CodeDamaged, CodeConflict, CodeInvalid} {
			if strings.HasSuffix(line, "failed "+string(code)) {
				t.Errorf("the child said %q", line)
			}
		}
	}
	if head < acknowledged || f != faultKill && head != acknowledged {
		t.Errorf("the head is %d, %d was acknowledged", head, acknowledged)
	}
	for n := StepNumber(1); n <= 12; n++ {
		if step, err := s.Step(ctx, "s", n); err != nil || step.Hash != p.hashes[n] {
			t.Errorf("step %d: %v", n, err)
		}
	}
	for n := StepNumber(13); n <= head; n++ {
		if _, err := s.Step(ctx, "s", n); err != nil {
			t.Errorf("step %d: %v", n, err)
		}
	}
	for _, err := range p.verifyResults(s) {
		t.Error(err)
	}
	if traces, err := s.Traces("c"); f == faultKill && head > 12 && len(traces) == 0 {
		t.Errorf("step 13 is a run, and its trace is gone (%v)", err)
	}
	if content, ok, err := s.Blob(DigestOf(noise(7, 20_000))); err != nil ||
		ok && !bytes.Equal(content, noise(7, 20_000)) {
		t.Errorf("the new blob: %v", err)
	}
	commit(t, s, "s", insert("after", "", "x = 1"))
	checkClose(t, s)
}
