package rule

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// Manifest is what a program declares that it needs, in a comment in the form of PEP 723:
//
//	# /// xstate
//	# tools = ["search"]
//	# ///
type Manifest struct {
	policy.Manifest
	At policy.Place // its first line
}

// The lines around a manifest.
const (
	manifestBegins = "# /// xstate"
	manifestEnds   = "# ///"
)

// FindManifest returns the manifest in a text of a program; nil if there is none. name is the text's name in errors.
func FindManifest(name, text string) (*Manifest, error) {
	if !strings.Contains(text, manifestBegins) {
		return nil, nil
	}
	var found *Manifest
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if strings.TrimRight(lines[i], " \r") != manifestBegins {
			continue
		}
		at := policy.Place{File: name, Line: i + 1, Column: 1}
		if found != nil {
			return nil, &state.Error{Code: policy.CodeInvalid, Message: at.String() + ": there is a second manifest",
				Hint: "keep one: # /// xstate … # ///"}
		}
		end := manifestEnd(lines, i+1)
		if end < 0 {
			return nil, &state.Error{Code: policy.CodeInvalid, Message: at.String() + ": the manifest has no end",
				Hint: "each line of it begins with #, and the line after it is: # ///"}
		}
		var toml strings.Builder
		for _, line := range lines[i+1 : end] {
			line = strings.TrimPrefix(strings.TrimPrefix(line, "#"), " ")
			toml.WriteString(strings.TrimRight(line, "\r") + "\n")
		}
		m, err := policy.ParseManifest([]byte(toml.String()), at)
		if err != nil {
			return nil, err
		}
		found, i = &Manifest{*m, at}, end
	}
	return found, nil
}

// manifestEnd returns the index of the line that ends a manifest: of comments that follow each other the last such one.
func manifestEnd(lines []string, from int) int {
	end := -1
	for i := from; i < len(lines) && (lines[i] == "#" || strings.HasPrefix(lines[i], "# ")); i++ {
		if strings.TrimRight(lines[i], " \r") == manifestEnds {
			return i
		}
	}
	return end
}

func (m *Manifest) digest() state.Digest {
	if m == nil {
		return state.Absent
	}
	text, err := json.Marshal(m.Manifest)
	if err != nil {
		panic("rule: internal error: " + err.Error())
	}
	return state.DigestOf(text)
}

// denies denies a call of a tool or model that the manifest does not declare.
func (m *Manifest) denies(c *journal.Call) (v journal.Verdict, is bool) {
	if m == nil {
		return v, false
	}
	list, what := m.Tools, "tools"
	if c.Kind == journal.KindModel {
		list, what = m.Models, "models"
	}
	if c.Kind == journal.KindStep || list == nil || slices.Contains(list, nameOf(c)) ||
		slices.Contains(list, fullName(c)) {
		return v, false
	}
	return journal.Verdict{Action: journal.Deny, Rule: m.At.String(),
		Reason: fmt.Sprintf("the program's manifest does not declare it (%s)", m.At),
		Hint:   fmt.Sprintf("add %q to %s of the manifest, if the program is to call it", nameOf(c), what)}, true
}

// Deviation is what a program uses and does not declare, or declares and does not use.
type Deviation struct {
	What     string   `json:"what"`     // tools, models, hosts, packages, files.read or files.write
	Missing  []string `json:"missing"`  // used, not declared
	Unneeded []string `json:"unneeded"` // declared, not used
}

// Compare compares a manifest with what a program uses: predicted, or observed. Lists that are not declared have no
// differences.
func (m *Manifest) Compare(used *Program) (all []Deviation) {
	if m == nil {
		return nil
	}
	same := func(declared, used string) bool { return sameTool(declared, used) }
	for _, d := range []struct {
		what           string
		declared, used []string
		match          func(declared, used string) bool
	}{
		{"tools", m.Tools, used.Tools, same},
		{"models", m.Models, used.Models, same},
		{"hosts", m.Hosts, used.Hosts, matchHost},
		{"packages", m.Packages, used.Packages, matchPackage},
		{"files.read", m.Files.Read, used.Reads, MatchPath},
		{"files.write", m.Files.Write, used.Writes, MatchPath},
	} {
		if d.declared == nil {
			continue
		}
		found := Deviation{What: d.what, Missing: []string{}, Unneeded: []string{}}
		for _, u := range d.used {
			if !slices.ContainsFunc(d.declared, func(x string) bool { return d.match(x, u) }) {
				found.Missing = append(found.Missing, u)
			}
		}
		for _, x := range d.declared {
			if !slices.ContainsFunc(d.used, func(u string) bool { return d.match(x, u) }) {
				found.Unneeded = append(found.Unneeded, x)
			}
		}
		if len(found.Missing)+len(found.Unneeded) > 0 {
			all = append(all, found)
		}
	}
	return all
}

// sameTool reports whether two names may mean one tool: one may have the name of its source before it.
func sameTool(a, b string) bool {
	return a == b || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a)
}

// matchPackage compares a requirement, such as "scikit-learn>=1.2", with the name that code imports.
func matchPackage(declared, used string) bool {
	if end := strings.IndexAny(declared, " <>=!~[;@"); end >= 0 {
		declared = declared[:end]
	}
	plain := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "_")) }
	return plain(declared) == plain(used) || imports[plain(declared)] == used
}

// imports are the names of well-known packages that are imported under another one.
var imports = map[string]string{
	"beautifulsoup4": "bs4", "opencv_python": "cv2", "pillow": "PIL", "python_dateutil": "dateutil", "pyyaml": "yaml",
	"scikit_image": "skimage", "scikit_learn": "sklearn",
}

// matchHost reports whether a host is a declared one, or below it: "*.example.com". Ports count where both have one.
func matchHost(declared, used string) bool {
	d, dPort, _ := strings.Cut(declared, ":")
	u, uPort, _ := strings.Cut(used, ":")
	if dPort != "" && uPort != "" && dPort != uPort {
		return false
	}
	below, star := strings.CutPrefix(d, "*")
	return d == u || star && strings.HasSuffix(u, below)
}

// MatchPath reports whether a path matches a pattern: * matches a part of a name, ** any folders. A pattern that names
// a folder matches everything in it.
func MatchPath(pattern, name string) bool {
	return matchParts(strings.Split(path.Clean(pattern), "/"), strings.Split(path.Clean(name), "/"))
}

func matchParts(pattern, name []string) bool {
	switch {
	case len(pattern) == 0:
		return true
	case pattern[0] == "**":
		for i := range len(name) + 1 {
			if matchParts(pattern[1:], name[i:]) {
				return true
			}
		}
		return false
	case len(name) == 0:
		return false
	}
	is, err := path.Match(pattern[0], name[0])
	return err == nil && is && matchParts(pattern[1:], name[1:])
}

// ManifestIn returns the manifest in the file of a program, which may precede its first block; nil without a manifest
// or a file.
func ManifestIn(file string) (*Manifest, error) {
	if filepath.Ext(file) != ".py" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil
	}
	return FindManifest(filepath.Base(file), string(text))
}

// ManifestOf returns the manifest of a program without a file: that of one of its blocks, by name and text.
func ManifestOf(blocks func(yield func(name, text string) bool)) (found *Manifest, err error) {
	for name, text := range blocks {
		m, bad := FindManifest(name, text)
		switch {
		case bad != nil:
			return nil, bad
		case m != nil && found != nil:
			return nil, errors.Join(&state.Error{Code: policy.CodeInvalid,
				Message: fmt.Sprintf("%s: there is a manifest in %s already", m.At, found.At), Hint: "keep one"})
		case m != nil:
			found = m
		}
	}
	return found, nil
}
