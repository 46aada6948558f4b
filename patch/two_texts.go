package patch

import (
	"strings"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// refuseTwoTexts fails if a patch gives two texts for one block: an answer may show the old text beside the new one,
// and nothing says which is which. Blocks without a name have two texts if both define the same function or class. When
// code is executed, the later definition counts, as in the language.
func refuseTwoTexts(sections []Section, on *Submitted) error {
	named, defined := map[string]string{}, map[code]string{}
	for _, s := range sections {
		text := strings.TrimRight(unix(s.Text), " \t\r\n")
		switch before, twice := named[s.Name]; {
		case s.Act != ActEmit:
		case s.Name != "" && twice && before != text:
			return twoTexts(s.Name)
		case s.Name != "":
			named[s.Name] = text
		case on == nil:
			if name := definedTwice(defined, syntax.Of(s.Dialect), text); name != "" {
				return twoTexts(name)
			}
		}
	}
	return nil
}

// definedTwice adds the definitions of a text to those of the texts before it. It returns a name that has another
// definition there.
func definedTwice(defined map[code]string, in *syntax.Syntax, text string) string {
	list, _ := in.Statements([]byte(text))
	own := map[code]string{}
	for _, s := range list {
		if s.Defines != "" {
			own[code{in, s.Defines}] += text[s.Start:s.End]
		}
	}
	for c, now := range own {
		if before, twice := defined[c]; twice && before != now {
			return c.text
		}
		defined[c] = now
	}
	return ""
}

func twoTexts(name string) error {
	return &ApplyError{Code: CodeAmbiguous, Name: name,
		Message: "the patch gives two texts for this block, and does not say which is the new one",
		Hint:    "give the new text alone; blocks that differ need names that differ"}
}
