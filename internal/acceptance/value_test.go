package acceptance

import (
	"os"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

const valuesProgram = `# %% setup
import collections
count = open("ran", "a").write("x")
# %% point
class Point:
    def __init__(self, x):
        self.x = x
    def __repr__(self):
        return "Point(%d)" % self.x
# %% values
nothing, number, text, few = None, 7, "a\nb", {"a": [1, 2], "b": (3.5,)}
word = "what..."
many = list(range(100))
shared = [many, 1]
point = Point(3)
queue = collections.deque([1, 2])
def double(x):
    return 2 * x
stream = (x for x in range(3))
# %% lent
lent = list(range(200))
# %% borrower
borrower = iter(lent)
# %% registry
class Base:
    made = []
    def __init_subclass__(cls):
        Base.made.append(cls)
class First(Base):
    def __repr__(self):
        return "first"
things = [First()]
# %% registered
class Second(Base):
    def __repr__(self):
        return "second"
things.append(Second())
# %% gone
text2 = text
del text2
`

// TestValue: what is told of a value is its repr, from the record where that is all of it, else from its blob; the
// program's statements are not executed for it.
func TestValue(t *testing.T) {
	a := xstatetest.NewAsked(
		t,
		valuesProgram,
		strings.Replace(valuesProgram, "number, text, few = None, 7", "number, text, few = None, 8", 1),
	)
	for _, c := range []struct {
		name, want string
		loaded     bool
	}{
		{"nothing", "None", false},
		{"number", "7", false},
		{"text", `'a\nb'`, false},
		{"few", `{'a': [1, 2], 'b': (3.5,)}`, true},
		{"word", `'what...'`, true},
		{"many", "[0, 1, 2, 3, 4, 5", true},
		{"things", "[first, second]", true}, // to define Second changes what the list refers to
		{"shared", "[[0, 1, 2, 3, 4, 5", true},
		{"lent", "[0, 1, 2, 3, 4, 5", true}, // it was stored before it was shared with what cannot be
		{"point", "Point(3)", true},
		{"queue", "deque([1, 2])", true},
		{"double", "<function double at", true},
	} {
		v, err := a.Session.Value(t.Context(), a.Runs[0], c.name, nil)
		if err != nil {
			t.Errorf("Value(%s): %v", c.name, err)
			continue
		}
		if !strings.HasPrefix(v.Text, c.want) || v.Loaded != c.loaded {
			t.Errorf("Value(%s) = %q, loaded %v; want %q, loaded %v", c.name, v.Text, v.Loaded, c.want, c.loaded)
		}
		if strings.Contains(v.Text, "...") && c.name != "word" {
			t.Errorf("Value(%s) = %q is cut", c.name, v.Text)
		}
	}
	if v, err := a.Session.Value(t.Context(), a.Runs[1], "number", nil); err != nil || v.Text != "8" {
		t.Errorf("Value(number) after the second run = %+v, %v; want 8", v, err)
	}
	for name, code := range map[string]state.Code{"stream": runner.CodeNotKept, "text2": query.CodeNoValue,
		"nonsense": query.CodeNoBlock} {
		if v, err := a.Session.Value(t.Context(), a.Runs[0], name, nil); state.CodeOf(err) != code {
			t.Errorf("Value(%s) = %+v, %v; want an error with code %s", name, v, err, code)
		}
	}
	if _, err := a.Session.Value(t.Context(), a.Runs[0]+1, "number", nil); state.CodeOf(err) != query.CodeNoValue ||
		!strings.Contains(err.Error(), "was not run yet") {
		t.Errorf("Value after an edit that was not run = %v, want that", err)
	}
	if data, err := os.ReadFile(a.Dir + "/ran"); err != nil || string(data) != "x" {
		t.Errorf("the program's file holds %q, %v; want it as the program left it", data, err)
	}
}
