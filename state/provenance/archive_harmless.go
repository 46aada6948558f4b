package provenance

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// The maker of an archive can write anything into it. These checks keep a foreign one from reaching the user's files by
// any other way than the program: a run, a rollback or an export then write only where the program may.

// harmless removes from the records of a session what this version does not know or cannot read, and what would make a
// run do more than the program. A foreign archive does not say which files of this workspace the program made, and what
// they were before: a run would overwrite and remove them. It finds out itself, from what is there.
func harmless(records map[string][]byte, trust state.Trust) {
	delete(records, query.RecordPython) // a path of another machine
	for name, data := range records {
		if foreign := trust.Tier == state.TierForeign; !query.IsReadableRecord(name, data, foreign) ||
			foreign && name == query.RecordFiles {
			delete(records, name)
		}
	}
}

// checkNames refuses an archive with a session whose name would forge lines in a terminal, or, unless the user trusts
// it, is a path to something other than a program: a file elsewhere, a hidden one, the settings. The name of a session
// is its program's path, which a rollback writes.
func checkNames(sessions []state.SessionArchive, trust state.Trust) error {
	for _, s := range sessions {
		if !utf8.ValidString(s.Name) || strings.ContainsFunc(s.Name, deceives) {
			return &state.Error{
				Code:    state.CodeArchiveDamaged,
				Message: fmt.Sprintf("the archive names a session %+q, which has characters that are no text", s.Name),
				Hint:    "no session has such a name; get the archive again from who made it; nothing was imported",
			}
		}
		if trust.Tier == state.TierForeign && !state.IsPlainPath(s.Name) {
			return &state.Error{
				Code:    state.CodeInvalid,
				Message: fmt.Sprintf("the archive names a session %q, which is no program in this folder", s.Name),
				Hint:    "if you know who made it: `xstate import ARCHIVE --trust`; nothing was imported",
			}
		}
	}
	return nil
}

// deceives reports whether a terminal shows something else for a character, or does something.
func deceives(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
