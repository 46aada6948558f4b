package xstatetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Children returns the child processes of a process.
func Children(pid int) (all []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		data, _ := os.ReadFile(task)
		for _, word := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(word); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// Descendants returns the processes below a process, parents first.
func Descendants(pid int) []int {
	all := Children(pid)
	for i := 0; i < len(all); i++ {
		all = append(all, Children(all[i])...)
	}
	return all
}

// Alive reports whether a process runs. One that has ended and is not waited for does not.
func Alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// In returns the processes that work in a folder or below it.
func In(folder string) (all []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at+"/", folder+"/") && Alive(pid) {
			all = append(all, pid)
		}
	}
	return all
}
