package policy

import (
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/parents"
)

// contradiction finds two settings of one file that cannot both be meant. Between files there is none: what is denied
// anywhere is denied.
func contradiction(found []Setting, workspace string) error {
	if err := withOff(found); err != nil {
		return err
	}
	for i := range found {
		s := &found[i]
		for j := range found[:i] {
			if err := against(&found[j], s); err != nil {
				return err
			}
		}
		if s.Field == fieldDeny && workspace != "" && parents.Below(s.path, workspace) != "" {
			return s.refuse(CodeInvalid, "deny what lies in it, by name",
				"files.deny %q takes away the folder that the program runs in", s.Value)
		}
	}
	return nil
}

// against compares a setting with an earlier one.
func against(before, s *Setting) error {
	paths := []string{fieldRead, fieldWrite}
	deny, allow := before, s
	if s.Field == fieldDeny {
		deny, allow = s, before
	}
	switch {
	case before.Field == s.Field && before.Value == s.Value && before.Field == before.field: // arguments may be equal
		return s.refuse(CodeInvalid, "remove one of them", "%s %q is there already, in line %d", s.Field, s.Value,
			before.Line)
	case deny.Field == fieldDeny && slices.Contains(paths, allow.Field) && allow.path == deny.path:
		return s.refuse(CodeInvalid, "remove one of them", "%q is in %s and, in line %d, in %s", s.Value, s.Field,
			before.Line, before.Field)
	case deny.Field == fieldDeny && slices.Contains(paths, allow.Field) && parents.Below(deny.path, allow.path) != "":
		return s.refuse(CodeInvalid, "deny the other parts of "+deny.Value+" by name",
			"%s %q lies in files.deny %q (line %d), so it would have no effect", allow.Field, allow.Value, deny.Value,
			deny.Line)
	case before.Field == fieldPass && s.Field == fieldSecrets && matches([]string{before.Value}, s.Value),
		before.Field == fieldSecrets && s.Field == fieldPass && matches([]string{s.Value}, before.Value):
		return s.refuse(CodeInvalid, "a secret is passed already: remove the other",
			"%q is in environment.pass and in environment.secrets (lines %d and %d)", s.Value, before.Line, s.Line)
	}
	return nil
}

// withOff refuses bounds in a file that bounds nothing.
func withOff(found []Setting) error {
	at := slices.IndexFunc(found, func(s Setting) bool { return s.Field == fieldLevel && Level(s.Value) == Off })
	if at < 0 {
		return nil
	}
	for i := range found {
		s := &found[i]
		table, _, _ := strings.Cut(s.Field, ".")
		if s.Field == fieldLauncher && s.Value != "" || slices.Contains([]string{"files", "network", "limits"},
			table) ||
			s.Field == fieldPass {
			return s.refuse(CodeInvalid,
				"leave the level out of the file, and use `--sandbox off` where nothing is to be bounded",
				"%s has no meaning at the level off (line %d)", s.Field, found[at].Line)
		}
	}
	return nil
}
