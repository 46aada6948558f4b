package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/state"
)

// UntrustedSource is a table of a source that does not count.
type UntrustedSource struct {
	Folder string // the file's folder
	Name   string // the table's name, such as mcp.files
}

// UntrustedSources returns the sources that do not count because the folders of their files are untrusted.
func (p *Policy) UntrustedSources() (all []UntrustedSource) {
	if p == nil {
		return nil
	}
	for i := range p.Settings {
		s := &p.Settings[i]
		if s.Ignored != s.untrusted() || len(s.parts) < 2 || !slices.Contains(sourceTables, s.parts[0]) {
			continue
		}
		u := UntrustedSource{filepath.Dir(s.File), keyText(s.parts[:2])}
		if !slices.Contains(all, u) {
			all = append(all, u)
		}
	}
	return all
}

// sourceTables are the tables that name sources of tools and models.
var sourceTables = []string{"mcp", "openapi", "models"}

// UntrustedHint says that sources do not count, and how the user trusts their folders; "" if there are none. It is for
// people: an error that a program sees must not depend on whom the user trusts.
func (p *Policy) UntrustedHint() string {
	var folders, texts []string
	names := map[string][]string{}
	for _, u := range p.UntrustedSources() {
		folders, names[u.Folder] = addNew(folders, u.Folder), append(names[u.Folder], u.Name)
	}
	for _, folder := range folders {
		texts = append(texts, fmt.Sprintf("the folder %s is not trusted, so its sources do not count (%s); %s", folder,
			strings.Join(names[folder], ", "), TrustHint(folder)))
	}
	return strings.Join(texts, "; ")
}

var (
	sandboxTable = regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*sandbox[ \t]*\][ \t]*(?:#.*)?(?:\r?\n|$)`)
	emptyTrust   = regexp.MustCompile(`(?m)^[ \t]*trust[ \t]*=[ \t]*\[[ \t]*\]`)
)

// Trust returns the text of the user's file, with a folder added to sandbox.trust, and whether the file trusts it
// already. The text is changed at the list, and then read: if the result is not as intended, as in a file that writes
// the list in another way, the error says what to write.
func Trust(file, home, folder string) (text []byte, already bool, err error) {
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, &state.Error{Code: CodeInvalid, Message: "the policy " + file + " cannot be read",
			Hint: "check its permissions", Err: err}
	}
	before, err := settings(file, data)
	if err != nil {
		return nil, false, err
	}
	value := strconv.Quote(folder)
	for i := range before {
		path, err := resolve(before[i].Value, "", home)
		if before[i].Field == fieldTrust && err == nil && path == real(folder) {
			return data, true, nil
		}
	}
	text = withTrust(data, before, value)
	after, err := settings(file, text)
	if err != nil || !addsTrust(before, after, folder) {
		return nil, false, &state.Error{Code: CodeInvalid,
			Message: fmt.Sprintf("xstate cannot add a folder to %s of %s", fieldTrust, file),
			Hint:    "write it there yourself, in [sandbox]: trust = [" + value + "]"}
	}
	return text, false, nil
}

// withTrust adds a value to the list: before the first there, in an empty list, below the header of the table, or in a
// new table at the end.
func withTrust(data []byte, found []Setting, value string) []byte {
	if i := slices.IndexFunc(found, func(s Setting) bool { return s.Field == fieldTrust }); i >= 0 {
		at := offset(data, found[i].Line, found[i].Column)
		return slices.Concat(data[:at], []byte(value+", "), data[at:])
	}
	if at := emptyTrust.FindIndex(data); at != nil {
		return slices.Concat(data[:at[1]-1], []byte(value), data[at[1]-1:])
	}
	if at := sandboxTable.FindIndex(data); at != nil {
		header := data[:at[1]]
		if !bytes.HasSuffix(header, []byte("\n")) {
			header = append(slices.Clone(header), '\n')
		}
		return slices.Concat(header, []byte("trust = ["+value+"]\n"), data[at[1]:])
	}
	if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
		data = append(slices.Clone(data), '\n')
	}
	if len(data) > 0 {
		data = append(slices.Clone(data), '\n')
	}
	return append(slices.Clone(data), "[sandbox]\ntrust = ["+value+"]\n"...)
}

// offset returns the offset of a line and column, both from 1. Columns count bytes.
func offset(data []byte, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		at += bytes.IndexByte(data[at:], '\n') + 1
	}
	return min(at+column-1, len(data))
}

// addsTrust reports whether the settings of two texts differ in one trusted folder alone.
func addsTrust(before, after []Setting, folder string) bool {
	is := func(s Setting) bool { return s.Field == fieldTrust && s.Value == folder }
	i := slices.IndexFunc(after, is)
	if i < 0 {
		return false
	}
	return slices.EqualFunc(before, slices.Delete(slices.Clone(after), i, i+1), func(a, b Setting) bool {
		return a.Field == b.Field && a.Value == b.Value
	})
}
