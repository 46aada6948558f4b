package acceptance

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
)

// Sessions keep what the interpreter alone prints after each step, in sections "prints", if no text is longer than
// this.
const (
	maxPrintsLines = 12
	maxPrintsBytes = 800
)

// judgePrints compares what a run printed with what the session keeps. The texts were made on one version of an
// interpreter. Where another one may print something else, it is asked.
func (o *oracle) judgePrints(t *testing.T, i int, files map[string][]byte, have *xstate.Outcome) {
	t.Helper()
	want := o.steps[i].Prints
	if want == nil {
		return
	}
	var b strings.Builder
	for _, block := range have.Blocks {
		for _, out := range block.Outputs {
			if out.Kind == "stdout" {
				b.WriteString(out.Text)
			}
		}
	}
	if got := b.String(); strings.TrimRight(got, "\n") != strings.TrimRight(*want, "\n") {
		if what := o.alone(t, i, files, have); what != "" {
			t.Errorf("step %d: prints\n%s\nwant\n%s\nand %s", i, got, *want, what)
		}
	}
}

// updatePrints writes the sections "prints" of a session. alone returns what the interpreter prints for the files, and
// false if it does not print the same on every machine.
func updatePrints(
	t *testing.T, file string, steps []xstatetest.ProgramStep, alone func(map[string][]byte) (string, bool),
) {
	t.Helper()
	files := map[string][]byte{}
	var texts []string
	for _, s := range steps {
		s.AddTo(files)
		if s.Marks != nil { // it may print something else each time, or never end
			texts = nil
			break
		}
		text, ok := alone(files)
		if !ok || !isShort(text) {
			texts = nil
			break
		}
		texts = append(texts, text)
	}
	if strings.Join(texts, "") == "" {
		texts = nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(data)
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool {
		_, name, inStep := strings.Cut(f.Name, "/")
		return f.Name == "prints" || inStep && strings.HasPrefix(f.Name, "step-") && name == "prints"
	})
	for i, text := range texts {
		if i > 0 && text == texts[i-1] {
			continue
		}
		archive.Files = slices.Insert(archive.Files, endOfStep(archive.Files, i),
			txtar.File{Name: inStep(i, "prints"), Data: []byte(text)})
	}
	if now := txtar.Format(archive); string(now) != string(data) {
		if err := os.WriteFile(file, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// isShort reports whether a text can be read in a session.
func isShort(text string) bool {
	return len(text) <= maxPrintsBytes && strings.Count(text, "\n") <= maxPrintsLines &&
		!strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0xfffd }) &&
		len(txtar.Parse([]byte("-- a --\n"+text)).Files) == 1
}

// endOfStep returns the index after the last section of a step.
func endOfStep(sections []txtar.File, step int) int {
	for i, f := range sections {
		if rest, ok := strings.CutPrefix(f.Name, "step-"); ok {
			number, _, _ := strings.Cut(rest, "/")
			if n, err := strconv.Atoi(number); err == nil && n > step {
				return i
			}
		}
	}
	return len(sections)
}

// inStep names a section of a step.
func inStep(step int, name string) string {
	if step == 0 {
		return name
	}
	return fmt.Sprintf("step-%d/%s", step, name)
}

// plainPrints returns what every interpreter to test with prints for the files, and false if they do not print the
// same, or a session prints something else for a reason.
func plainPrints(t *testing.T, ways []observer, since int, files map[string][]byte) (string, bool) {
	t.Helper()
	if notPlain.Match(files["prog.py"]) || files["prog.py"] == nil {
		return "", false
	}
	var texts []string
	for _, way := range append(ways, ways...) { // each twice: the text must be the same each time
		if way.minor < since {
			continue
		}
		dir, stdout, _, _, err := runPlain(t, way.python, files)
		if err != nil || strings.Contains(stdout, dir) || address.MatchString(stdout) {
			return "", false
		}
		texts = append(texts, stands(stdout))
	}
	return texts[0], len(slices.Compact(texts)) == 1
}

// alonePrints is plainPrints for a program in another language.
func alonePrints(t *testing.T, judge string, files map[string][]byte) (string, bool) {
	t.Helper()
	if judge != "" {
		return "", false
	}
	var texts []string
	for range 2 {
		stdout, _, code := runAlone(t, files, "")
		if code != 0 || strings.Contains(stdout, "DIR") {
			return "", false
		}
		texts = append(texts, strings.ReplaceAll(stands(stdout), border+"\n", ""))
	}
	return texts[0], texts[0] == texts[1]
}
