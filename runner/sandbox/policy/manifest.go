package policy

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/xstate-engine/xstate/state"
)

// Manifest is what a program declares that it needs, in TOML. A list that is nil is not declared.
type Manifest struct {
	Tools    []string `toml:"tools"`
	Models   []string `toml:"models"`
	Hosts    []string `toml:"hosts"`
	Packages []string `toml:"packages"`
	Files    struct {
		Read  []string `toml:"read"`  // patterns: * matches a part of a name, ** folders
		Write []string `toml:"write"` // likewise
	} `toml:"files"`
	Budget map[string]any `toml:"budget"`
	Limits []Budget       `toml:"-"` // decoded from Budget
}

// ParseManifest reads a manifest. at is the place of the line before its text, for errors.
func ParseManifest(text []byte, at Place) (*Manifest, error) {
	m := &Manifest{}
	err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(m)
	hint := "a manifest has tools, models, hosts, packages, [files] with read and write, and [budget]"
	var unknown *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case errors.As(err, &unknown):
		line, column := unknown.Errors[0].Position()
		return nil, manifestError(at, line, column, "there is no key "+strings.Join(unknown.Errors[0].Key(), "."), hint)
	case errors.As(err, &bad):
		line, column := bad.Position()
		return nil, manifestError(at, line, column, strings.TrimPrefix(bad.Error(), "toml: "), hint)
	case err != nil:
		return nil, manifestError(at, 1, 1, err.Error(), hint)
	}
	if m.Limits, err = budgetTable(ScopeRun, m.Budget, at); err != nil {
		return nil, err
	}
	return m, nil
}

func manifestError(at Place, line, column int, message, hint string) error {
	at.Line, at.Column = at.Line+line, column+len("# ")
	return &state.Error{Code: CodeInvalid, Message: fmt.Sprintf("%s: the manifest: %s", at, message), Hint: hint}
}

// budgetTable reads the limits of a table, and below it, of a table soft.
func budgetTable(scope string, table map[string]any, at Place) (all []Budget, err error) {
	for name, value := range table {
		if inner, is := value.(map[string]any); is && name == "soft" {
			soft, err := budgetTable(scope, inner, at)
			if err != nil {
				return nil, err
			}
			for _, b := range soft {
				b.Soft = true
				all = append(all, b)
			}
			continue
		}
		b, err := ParseBudget(name, fmt.Sprint(value))
		if err != nil {
			return nil,
				&state.Error{Code: CodeInvalid, Message: fmt.Sprintf("%s: %s: %v", at, name, err), Hint: budgetHint}
		}
		b.Scope, b.At = scope, at
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b Budget) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}
