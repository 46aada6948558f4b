package sandbox

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Forbids reports whether b denies what a Denial names, to a program in folder. system are further folders that may be
// read, as Spec.System. Nil bounds forbid nothing.
func (b *Bounds) Forbids(folder string, system []string, action, target string) bool {
	if b == nil {
		return false
	}
	switch action {
	case "read", "list", "execute":
		if within(target, b.Deny) {
			return true
		}
		return !within(target, slices.Concat([]string{folder}, b.Read, b.Write, b.ReadOnly, system, SystemFolders))
	case "write":
		if within(target, b.Deny) || slices.Contains(b.ReadOnly, target) {
			return true
		}
		return !within(target, append([]string{folder}, b.Write...))
	case "connect":
		return !b.allowsHost(target)
	}
	return b.Limits.forbids(action, target)
}

// within reports whether a path lies in one of some folders, or is one.
func within(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		rel, err := filepath.Rel(f, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// allowsHost reports whether a host, with or without its port, may be reached.
func (b *Bounds) allowsHost(target string) bool {
	target = strings.TrimPrefix(strings.TrimPrefix(target, "tcp:"), "udp:")
	host, port := target, ""
	if i := strings.LastIndexByte(target, ':'); i >= 0 && (strings.Count(target, ":") == 1 || strings.Contains(target, "]:")) {
		host, port = strings.Trim(target[:i], "[]"), target[i+1:]
	}
	return slices.ContainsFunc(b.Hosts, func(rule string) bool {
		ruleHost, rulePort := rule, ""
		if i := strings.LastIndexByte(rule, ':'); i >= 0 && strings.Count(rule, ":") == 1 {
			ruleHost, rulePort = rule[:i], rule[i+1:]
		}
		if rulePort != "" && port != "" && rulePort != port {
			return false
		}
		domain, below := strings.CutPrefix(ruleHost, "*")
		return strings.EqualFold(host, ruleHost) || below && strings.HasSuffix(strings.ToLower(host), strings.ToLower(domain))
	})
}

// forbids reports whether a limit stops what it stopped when it was target. Other actions, such as system calls, are
// forbidden in every box.
func (l *Limits) forbids(name, target string) bool {
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
