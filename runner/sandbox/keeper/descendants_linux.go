package keeper

import (
	"os"
	"strconv"
	"syscall"
)

// Descendants returns the processes below a process that have not ended, parents first. It calls found, if there is
// one, for each before it looks for that one's children.
func Descendants(of int, found func(pid int)) []int {
	var all []int
	seen := map[int]bool{of: true}
	for next := []int{of}; len(next) > 0; next = next[1:] {
		for _, pid := range children(next[0]) {
			if seen[pid] || zombie(pid) {
				continue
			}
			seen[pid] = true
			if found != nil {
				found(pid)
			}
			all, next = append(all, pid), append(next, pid)
		}
	}
	return all
}

// children are the processes that a process started or adopted.
func children(of int) []int {
	folder := "/proc/" + strconv.Itoa(of) + "/task/"
	threads, _ := os.ReadDir(folder)
	var all []int
	for _, thread := range threads {
		text, err := readProc(folder + thread.Name() + "/children")
		if err == syscall.ENOENT {
			if _, err := os.Stat("/proc/thread-self/children"); err != nil {
				return childrenByParent(of) // this system has no such files
			}
		}
		for _, field := range words(text) {
			if pid, err := strconv.Atoi(field); err == nil {
				all = append(all, pid)
			}
		}
	}
	return all
}

// readProc reads a file of the system. os.ReadFile takes three times as many calls, as it prepares to wait.
func readProc(path string) (text []byte, err error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	for err == syscall.EINTR {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	part := make([]byte, 1024)
	for {
		n, err := syscall.Read(fd, part)
		switch {
		case err == syscall.EINTR:
		case n <= 0:
			return text, err
		default:
			text = append(text, part[:n]...)
		}
	}
}

func childrenByParent(of int) []int {
	entries, _ := os.ReadDir("/proc")
	var all []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && Parent(pid) == of {
			all = append(all, pid)
		}
	}
	return all
}

// stat returns the fields of /proc/PID/stat from the state on. The name before them may hold anything, and ends in the
// last parenthesis.
func stat(pid int) []string {
	text, _ := readProc("/proc/" + strconv.Itoa(pid) + "/stat")
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == ')' {
			return words(text[i+1:])
		}
	}
	return nil
}

// words splits a text at spaces and ends of lines.
func words(text []byte) (all []string) {
	start := -1
	for i := 0; i <= len(text); i++ {
		space := i == len(text) || text[i] == ' ' || text[i] == '\n'
		switch {
		case !space && start < 0:
			start = i
		case space && start >= 0:
			all, start = append(all, string(text[start:i])), -1
		}
	}
	return all
}

// Parent is the process that started or adopted another one; 0: there is none.
func Parent(pid int) int {
	if fields := stat(pid); len(fields) > 1 {
		return number(fields[1])
	}
	return 0
}

// Exiting reports whether a process has begun to end, or has ended: it runs no code of its program any more. Its ends
// of pipes close before it is a zombie, so a reader may know that it is done before its parent does.
func Exiting(pid int) bool {
	const exiting = 4 // PF_EXITING, see proc_pid_stat(5) and include/linux/sched.h
	fields := stat(pid)
	return len(fields) < 7 || number(fields[6])&exiting != 0
}

func zombie(pid int) bool {
	fields := stat(pid)
	return len(fields) == 0 || fields[0] == "Z" || fields[0] == "X"
}
