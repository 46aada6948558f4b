package serve

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// memoryOf returns how many bytes of memory the processes of each group take. Pages that processes share count for
// each of them.
func memoryOf(groups []int) map[int]int64 {
	sizes := map[int]int64{}
	if len(groups) == 0 {
		return sizes
	}
	if runtime.GOOS != "linux" {
		out, _ := exec.Command("ps", "-axo", "pgid=,rss=").Output() // if it fails, memory has no budget
		for line := range strings.Lines(string(out)) {
			if f := strings.Fields(line); len(f) == 2 {
				add(sizes, groups, f[0], f[1], 1024)
			}
		}
		return sizes
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return sizes
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		data, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		text := string(data)
		f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // state ppid pgrp … rss is the 22nd
		if len(f) > 21 {
			add(sizes, groups, f[2], f[21], int64(os.Getpagesize()))
		}
	}
	return sizes
}

// usualMemory is what a machine has that does not say, in bytes.
const usualMemory = 8 << 30

func add(sizes map[int]int64, groups []int, group, size string, unit int64) {
	g, err := strconv.Atoi(group)
	if err != nil || !slices.Contains(groups, g) {
		return
	}
	if n, err := strconv.ParseInt(size, 10, 64); err == nil {
		sizes[g] += n * unit
	}
}
