package keeper

import (
	"os"
	"strconv"
	"strings"
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
		text, err := os.ReadFile(folder + thread.Name() + "/children")
		if err != nil && os.IsNotExist(err) {
			if _, err := os.Stat("/proc/thread-self/children"); err != nil {
				return childrenByParent(of) // this system has no such files
			}
		}
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				all = append(all, pid)
			}
		}
	}
	return all
}

func childrenByParent(of int) []int {
	entries, _ := os.ReadDir("/proc")
	var all []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && parentOf(pid) == of {
			all = append(all, pid)
		}
	}
	return all
}

// stat returns the fields of /proc/PID/stat from the state on. The name before them may hold anything.
func stat(pid int) []string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := strings.Cut(string(text[max(0, strings.LastIndexByte(string(text), ')')):]), ")")
	return strings.Fields(rest)
}

func parentOf(pid int) int {
	if fields := stat(pid); len(fields) > 1 {
		parent, _ := strconv.Atoi(fields[1])
		return parent
	}
	return 0
}

func zombie(pid int) bool {
	fields := stat(pid)
	return len(fields) == 0 || fields[0] == "Z" || fields[0] == "X"
}
