package bash

import (
	"regexp"

	"github.com/xstate-engine/xstate/patch/syntax"
)

func init() {
	syntax.Register(syntax.Bash, &syntax.Syntax{
		Statements: statements, Bindings: bindings, Quoted: quoted, Builtin: builtins,
		Head:    regexp.MustCompile(`^(?:function[ \t]+([^\s(){}<>|&;]+)|([^\s(){}<>|&;='"$#]+)[ \t]*\([ \t]*\))`),
		Follows: regexp.MustCompile(`^(?:[)}]|(?:then|else|elif|fi|do|done|esac|in)\b|;;)`),
		Imports: regexp.MustCompile(`^(?:source|\.)[ \t]`)})
}
