package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// bank is a source of tools with effects, and what happened to it.
type bank struct {
	paid []string
	lose int // so many answers are lost, after the effect
}

func (b *bank) Name() string { return "bank" }
func (b *bank) Close() error { return nil }

func (b *bank) Tools(context.Context) ([]journal.Tool, error) {
	return []journal.Tool{{Name: "pay", Class: journal.Irreversible},
		{Name: "wire", Class: journal.Irreversible, Identity: []string{"to", "amount"}}}, nil
}

func (b *bank) Call(_ context.Context, a journal.Attempt) (journal.Answer, error) {
	b.paid = append(b.paid, a.Tool.Name+string(a.Args))
	if b.lose > 0 {
		b.lose--
		return journal.Answer{}, errors.New("the line is dead")
	}
	return journal.Answer{Result: json.RawMessage(`"paid"`)}, nil
}

// varying is a program whose calls vary, run again and again.
type varying struct {
	*testing.T
	bank    *bank
	folder  string
	store   *xstate.Store
	session *xstate.Session
	out     *xstate.Outcome
}

// newVarying starts a program. asks: a person is asked before each payment.
func newVarying(t *testing.T, asks bool) *varying {
	v := &varying{T: t, bank: &bank{}, folder: t.TempDir()}
	v.store = xstatetest.OpenStore(t, filepath.Join(v.folder, xstate.StoreName))
	o := xstate.SessionOptions{Python: xstatetest.Pythons()[0], Seed: 7, Workspace: v.folder,
		Tools: []journal.Source{v.bank}}
	if asks {
		o.Policy = &policy.Policy{Level: policy.Off, Generated: true}
	}
	v.session = xstatetest.OpenSession(t, v.store, o)
	return v
}

const varyingHead = `# %% setup
import random, secrets, time, uuid, xstate
import datetime as dates
from datetime import datetime
`

// run runs a program of blocks, and says what waits: "" where nothing does.
func (v *varying) run(blocks ...string) (waits string) {
	v.Helper()
	text := varyingHead
	for i, b := range blocks {
		title, body, titled := strings.Cut(b, ": ")
		if !titled || strings.ContainsAny(title, " (\n") {
			title, body = fmt.Sprintf("b%d", i), b
		}
		text += "\n# %% " + title + "\n" + body + "\n"
	}
	files := map[string][]byte{"prog.py": []byte(text)}
	xstatetest.WriteFiles(v.T, v.folder, files)
	v.out = xstatetest.RunFile(v.T, v.Context(), v.session, v.folder, files, await.Long)
	for _, b := range v.out.Blocks {
		if b.Err != nil && len(b.Err.Waiting) > 0 {
			waits += b.Err.Waiting[0].Question
		} else if b.Err != nil && !strings.Contains(b.Err.Message, "division") {
			v.Errorf("%s: %+v", b.ID, b.Err)
		}
	}
	return waits
}

// decide decides the call that waits.
func (v *varying) decide(choice, result string) {
	v.Helper()
	var id state.CallID
	err := v.store.State().Calls(v.Context(), 1, func(c *state.Call) bool {
		if c.Waits() != nil {
			id = c.ID
		}
		return true
	})
	if err != nil {
		v.Fatal(err)
	}
	d := journal.Decision{Call: id, Choice: choice, Result: json.RawMessage(result), By: "ada", At: time.Now()}
	if _, _, err := journal.Decide(v.Context(), v.store.State(), d); err != nil {
		v.Fatal(err)
	}
}

func (v *varying) want(waits, question string, paid int) {
	v.Helper()
	if !strings.HasPrefix(waits, question) || question == "" && waits != "" {
		v.Errorf("%q waits, want %q", waits, question)
	}
	if len(v.bank.paid) != paid {
		v.Errorf("paid %d times, want %d: %q", len(v.bank.paid), paid, v.bank.paid)
	}
}

const (
	didIt   = "did the call of pay happen?"
	another = "is this call of pay another one, or call 1 again?"
)

// varyingSources are expressions that vary, and that are served when their node runs again.
var varyingSources = []string{
	`str(uuid.uuid4())`, `secrets.token_hex(8)`, `random.SystemRandom().random()`, `time.time()`, `time.time_ns()`,
	`time.monotonic()`, `list(time.localtime())`, `list(time.gmtime())`, `time.strftime("%H:%M:%S")`, `time.ctime()`,
	`datetime.now().isoformat()`, `datetime.now(dates.timezone.utc).isoformat()`, `str(dates.date.today())`,
	`str(type("D", (datetime,), {}).now())`, `__import__("os").urandom(8).hex()`, `time.clock_gettime(0)`,
}

// TestVaryingServed: a payment whose answer was lost is the same payment when the block runs again, whatever its
// arguments come from. It was made again by the next run, while the first still waited.
func TestVaryingServed(t *testing.T) {
	v := newVarying(t, false)
	v.bank.lose = 1
	program := "key = [" + strings.Join(varyingSources, ", ") + "]\n" +
		"r = xstate.tool('pay', usd=5, key=key)\nprint(r, repr(key))"
	v.want(v.run(program), didIt, 1)
	v.want(v.run(program), didIt, 1)
	v.decide(journal.ChoiceHappened, `"paid by ada"`)
	v.want(v.run(program), "", 1)
	var sent struct{ Key []any }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(v.bank.paid[0], "pay")), &sent); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(sent.Key)
	printed := strings.ReplaceAll(strings.TrimPrefix(v.out.Blocks[1].Outputs[0].Text, "paid by ada "), "'", `"`)
	var now []any
	if err := json.Unmarshal([]byte(printed), &now); err != nil {
		t.Fatal(err, printed)
	}
	if again, _ := json.Marshal(now); string(again) != string(text) || len(now) != len(varyingSources) {
		t.Errorf("the block drew\n%s, and before\n%s", again, text)
	}
}

// TestVaryingAsked: an approval holds for the call, and an answer for the question, though their texts vary.
func TestVaryingAsked(t *testing.T) {
	for _, argument := range []string{`str(uuid.uuid4())`, `datetime.now().isoformat()`, `id(object())`} {
		v := newVarying(t, true)
		program := "r = xstate.tool('pay', key=" + argument + ")\nprint(r)"
		v.want(v.run(program), "may pay be called?", 0)
		v.want(v.run(program), "may pay be called?", 0)
		v.decide(journal.ChoiceYes, "")
		v.want(v.run(program), "", 1)
	}
	v := newVarying(t, false)
	program := `print(xstate.ask(f"Send it, {datetime.now()} {id(object())}?"))`
	v.want(v.run(program), "Send it", 0)
	v.decide("gladly", "")
	v.want(v.run(program), "", 0)
}

// TestVaryingAskedBefore: an approval of what the code was before an edit is no approval once the same has happened.
// The block was as it had been, and its call was taken for the approved one, which had not been made.
func TestVaryingAskedBefore(t *testing.T) {
	t.Skip("an address may recur, and then meets the call of another one: docs/limits.md")
	v := newVarying(t, true)
	const pay = "r = xstate.tool('pay', key=id(object()))\n"
	v.want(v.run(pay), "may pay be called?", 0)
	v.decide(journal.ChoiceYes, "")
	v.want(v.run(pay+"1 / 0"), "may pay be called?", 0)
	v.decide(journal.ChoiceYes, "")
	v.want(v.run(pay+"1 / 0"), "", 1)
	v.want(v.run(pay), "is this call of pay another one, or call 2 again?", 1)
	v.decide("call 2", "")
	v.want(v.run(pay), "", 1)
}

// TestVaryingEdited: effects above a corrected line are not repeated. Where it cannot be told whether a call is the
// same, a person tells.
func TestVaryingEdited(t *testing.T) {
	const pay = "r = xstate.tool('pay', key=str(uuid.uuid4()))\n"
	tests := []struct {
		name          string
		first, second []string
		asks          bool
	}{
		{"a correction below", []string{pay + "1 / 0"}, []string{pay + "1 / 1"}, false},
		{"an import above", []string{pay + "1 / 0"}, []string{"import json\n" + pay + "1 / 1"}, true},
		{"an import above what fails", []string{pay + "json.dumps(1) if 'json' in globals() else 1 / 0"},
			[]string{"import json\n" + pay + "json.dumps(1) if 'json' in globals() else 1 / 0"}, false},
		{"a draw above", []string{pay + "1 / 0"}, []string{"time.time()\n" + pay}, true},
		{"after success", []string{pay}, []string{pay + "2"}, true},
		{"other keys", []string{"key = str(uuid.uuid4())", "r = xstate.tool('pay', key=key)"},
			[]string{"key = str(uuid.uuid4())  # new\n1", "r = xstate.tool('pay', key=key)"}, true},
		{"another block", []string{"a: " + pay, "b: 1"}, []string{"b: 1\n" + pay}, true},
		{"a fixed key", []string{pay}, []string{"r = xstate.tool('pay', key='k')"}, true},
		{"what is wanted", []string{"r = xstate.tool('pay', usd=5)"}, []string{"r = xstate.tool('pay', usd=6)"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			again := 1
			if test.name == "what is wanted" {
				again = 2
			}
			for _, choice := range []string{"call 1", "another"} {
				v := newVarying(t, false)
				v.want(v.run(test.first...), "", 1)
				waits := v.run(test.second...)
				if !test.asks {
					v.want(waits, "", again)
					return
				}
				v.want(waits, another, 1)
				v.decide(choice, "")
				v.want(v.run(test.second...), "", map[string]int{"call 1": 1, "another": 2}[choice])
			}
		})
	}
}

// TestVaryingIdentity: a tool that declares which arguments tell its calls apart has its effect once for these,
// whatever else a model words anew.
func TestVaryingIdentity(t *testing.T) {
	v := newVarying(t, false)
	v.want(v.run("r = xstate.tool('wire', to='ada', amount=5, text='Dear Ada')"), "", 1)
	v.want(v.run("r = xstate.tool('wire', to='ada', amount=5, text=f'Hello Ada, {time.time()}')"), "", 1)
	v.want(v.run("r = xstate.tool('wire', to='ada', amount=6, text=f'Hello Ada, {time.time()}')"), "", 2)
	v.want(v.run("r = xstate.tool('wire', to='bob', amount=6, text='Hello Bob')"), "", 3)
	if !slices.Contains(v.bank.paid, `wire{"amount":5,"text":"Dear Ada","to":"ada"}`) {
		t.Errorf("paid %q", v.bank.paid)
	}
}

// TestVaryingStep: what a recorded step drew is no draw of the block.
func TestVaryingStep(t *testing.T) {
	v := newVarying(t, false)
	v.bank.lose = 1
	program := "@xstate.step\ndef name():\n    return str(uuid.uuid4())\nn = name()\n" +
		"r = xstate.tool('pay', name=n, key=str(uuid.uuid4()))"
	v.want(v.run(program), didIt, 1)
	v.want(v.run(program), didIt, 1)
}

// TestVaryingRule: a rule's question is asked though somebody said that the call is another one, or is to be sent
// again.
func TestVaryingRule(t *testing.T) {
	v := newVarying(t, true)
	program := "r = xstate.tool('pay', usd=1, key=str(uuid.uuid4()))\n"
	v.want(v.run(program), "may pay be called?", 0)
	v.decide(journal.ChoiceYes, "")
	v.want(v.run(program), "", 1)
	edited := strings.Replace(program, "usd=1", "usd=5000", 1)
	v.want(v.run(edited), another, 1)
	v.decide(journal.ChoiceAnother, "")
	v.want(v.run(edited), "may pay be called?", 1)
	v.decide(journal.ChoiceYes, "")
	v.bank.lose = 1
	v.want(v.run(edited), didIt, 2)
	v.decide(journal.ChoiceAgain, "")
	v.want(v.run(edited), "may pay be called?", 2)
	v.decide(journal.ChoiceYes, "")
	v.want(v.run(edited), "", 3)
}

// TestVaryingPlace: the place of a call tells nothing where what the block read over a network may be another list. B
// was served the receipt of A, A was paid twice, and B never; a yes to "Pay 5?" paid 5000.
func TestVaryingPlace(t *testing.T) {
	list := "A"
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(list))
	}))
	defer served.Close()
	get := "import urllib.request\ntext = urllib.request.urlopen('" + served.URL + "').read().decode()\n"
	v := newVarying(t, false)
	program := get + "for o in text:\n    print(xstate.tool('pay', order=o))\n1 / 0"
	v.want(v.run(program), "", 1)
	list = "BA"
	v.want(v.run(program), another, 1)

	list = "5"
	v = newVarying(t, false)
	program = get + "print(xstate.ask(f'Pay {text}?'))"
	v.want(v.run(program), "Pay 5?", 0)
	v.decide("yes", "")
	list = "5000"
	v.want(v.run(program), "Pay 5000?", 0)
}

// TestVaryingAnswer: an answer is one to the code that asked. The same question of other code, and of the same code
// with another payment below it, was answered unasked.
func TestVaryingAnswer(t *testing.T) {
	const ask = "if xstate.ask('Send it?') == 'yes':\n    xstate.tool('pay', to='ada')"
	mallory := strings.Replace(ask, "ada", "mallory", 1)
	for _, edited := range [][]string{{"b: " + mallory}, {"c: " + mallory, "b: " + ask}} {
		v := newVarying(t, false)
		v.want(v.run("b: "+ask), "Send it?", 0)
		v.decide("yes", "")
		v.want(v.run("b: "+ask), "", 1)
		v.want(v.run(edited...), "Send it?", 1)
		v.want(v.run("b: "+ask), "", 1)
	}
}

// TestVaryingHalted: once a call of a block waits, the block has no other effect, whatever it catches.
func TestVaryingHalted(t *testing.T) {
	for _, program := range []string{
		"for i in range(3):\n    try:\n        xstate.tool('pay', order=1)\n        break\n    except:\n        pass",
		"import threading\nt = threading.Thread(target=lambda: xstate.tool('pay', order=1))\nt.start()\nt.join()\n" +
			"xstate.tool('pay', order=2)",
	} {
		v := newVarying(t, false)
		v.bank.lose = 1
		v.want(v.run(program), didIt, 1)
		v.decide(journal.ChoiceHappened, `"paid"`)
		v.want(v.run(program), "", 1+strings.Count(program, "order=2"))
	}
}

// TestVaryingName: a call is the same however the program spells the tool's name.
func TestVaryingName(t *testing.T) {
	v := newVarying(t, false)
	v.want(v.run("r = xstate.tool('pay', key=str(uuid.uuid4()))"), "", 1)
	v.want(v.run("r = xstate.tool('bank.pay', key=str(uuid.uuid4()))"), "is this call of bank.pay another one", 1)
}

// TestVaryingUnseen: a payment whose key comes from randomness that nobody observes was made again once its block ran
// again, unasked.
func TestVaryingUnseen(t *testing.T) {
	for _, key := range []string{"__import__('os').getrandom(8).hex()", "repr(object())",
		"__import__('subprocess').check_output(['sh', '-c', 'head -c8 /dev/urandom | od -tx1'], text=True)"} {
		v := newVarying(t, false)
		v.bank.lose = 1
		program := "r = xstate.tool('pay', key=" + key + ")\nprint(r)"
		v.want(v.run(program), didIt, 1)
		v.decide(journal.ChoiceHappened, `"paid"`)
		v.want(v.run(program), "", 1)
		question := another
		waits := v.run("# xstate: always\n" + program)
		if waits == "" && strings.HasPrefix(key, "repr") { // an object may have the address of an earlier one
			question = ""
		}
		v.want(waits, question, 1)
	}
}
