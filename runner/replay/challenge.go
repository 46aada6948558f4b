package replay

import (
	"context"
	_ "embed" // the text of faults
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Challenge is what a check did when faults were planted in what it checks, one at a time. For each of them the program
// runs with one more block, right before the check, that changes one of its inputs. Nothing before it executes again.
//
// A check that notices no fault has checked nothing. Which faults matter is for the reader to say: a check of totals
// need not notice that a sentence is missing.
type Challenge struct {
	Block  state.BlockID    `json:"block"`
	Step   state.StepNumber `json:"step"` // the program's
	Inputs []ChallengeInput `json:"inputs"`
	// Verdict says what counts as its verdict: NAME (a variable), failure, the first word or everything.
	Verdict  string         `json:"verdict"`
	Was      string         `json:"was"` // the verdict without a fault
	Faults   []PlantedFault `json:"faults"`
	Noticed  int            `json:"noticed"`
	Missed   int            `json:"missed"`   // it read what was changed, and its verdict is the same
	Unread   int            `json:"unread"`   // it did not read what was changed: its result was reused
	Executed int            `json:"executed"` // nodes, without those that planted the faults
	Calls    int            `json:"calls"`
	Seconds  float64        `json:"seconds"`
	// Whole is how many nodes, and WholeSeconds how long, as many runs of the program up to the check would have taken.
	Whole        int     `json:"whole"`
	WholeSeconds float64 `json:"whole_seconds"`
}

// ChallengeInput is a variable that the check read, or a file as file:PATH.
type ChallengeInput struct {
	Name string `json:"name"`
	Type string `json:"type"`
	By   string `json:"by"` // the node that made it
}

// PlantedFault is one fault, and what became of it.
type PlantedFault struct {
	Input   string  `json:"input"`
	Fault   string  `json:"fault"`   // number, drop, contradict or nonsense
	Outcome string  `json:"outcome"` // noticed, missed or unread
	Now     string  `json:"now,omitempty"`
	Calls   int     `json:"calls"`
	Seconds float64 `json:"seconds"`
}

// The outcomes of a fault.
const (
	Noticed = "noticed"
	Missed  = "missed"
	Unread  = "unread"
)

// faults are the kinds: a wrong number, a part that is missing, a contradiction, words in an order without sense.
var faults = []string{"number", "drop", "contradict", "nonsense"}

//go:embed fault.py
var faultCode string

// ChallengeOptions are the choices of a challenge.
type ChallengeOptions struct {
	Inputs  []string // the variables to plant faults in; empty: all that the check read of earlier blocks
	Verdict string   // the variable that is the verdict; "": see Challenge.Verdict
	Timeout time.Duration
}

// CodeNoClaim is the code of errors about a block that has nothing to plant faults in.
const CodeNoClaim state.Code = "no-claim"

// ChallengeBlock plants faults in what a block checks. It brings the blocks before it up to date first. It records
// nothing of the program; calls of models and of tools without effects are made and recorded, others are not made.
func ChallengeBlock(ctx context.Context, s *Subject, id state.BlockID, o ChallengeOptions) (*Challenge, error) {
	engine, release, err := s.Engine(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	program, head, at, err := s.programWith(ctx, id)
	if err != nil {
		return nil, err
	}
	if v, ok := lang.Of(program[at].Dialect); !ok || v.Language.Name != "python" {
		return nil, &state.Error{Code: CodeNoClaim, Message: fmt.Sprintf("block %s is not in Python", id),
			Hint: "faults are planted in what a block of Python reads"}
	}
	if err := s.BeginCalls(ctx); err != nil {
		return nil, err
	}
	c := &challenge{Challenge: Challenge{Block: id, Step: head, Faults: []PlantedFault{}}, engine: engine, o: o,
		program: program, at: at}
	c.caller = state.Caller{Session: s.Name(), Step: head}
	return &c.Challenge, engine.Isolated(func() error { return c.run(ctx) })
}

// challenge is a Challenge under way.
type challenge struct {
	Challenge
	engine  *runner.Engine
	program []state.ProgramBlock
	at      int
	o       ChallengeOptions
	caller  state.Caller
	was     string // what Was is compared by
}

func (c *challenge) run(ctx context.Context) error {
	out, err := c.execute(ctx, c.program[:c.at+1], false)
	if err != nil {
		return err
	}
	if err := c.begin(out); err != nil {
		return err
	}
	for _, in := range c.Inputs {
		for _, kind := range faults {
			if err := c.plant(ctx, in, kind); err != nil {
				return err
			}
		}
	}
	c.Whole, c.WholeSeconds = c.Whole*len(c.Faults), c.WholeSeconds*float64(len(c.Faults))
	if len(c.Faults) == 0 {
		return c.noClaim("what it reads of earlier blocks has no number, text or element that could be changed")
	}
	return nil
}

func (c *challenge) noClaim(why string) error {
	return &state.Error{Code: CodeNoClaim,
		Message: fmt.Sprintf("no fault can be planted for block %s: %s", c.Block, why),
		Hint:    "name the block that checks something which an earlier block has made"}
}

// execute runs blocks up to the check; with discard it records nothing.
func (c *challenge) execute(
	ctx context.Context, program []state.ProgramBlock, discard bool,
) (*runner.Outcome, error) {
	out, err := c.engine.Run(ctx, program, runner.RunOptions{Timeout: c.o.Timeout, Part: true, Discard: discard,
		Asks: true, Caller: c.caller})
	if err != nil {
		return nil, err
	}
	return out, out.Stopped
}

// begin finds the inputs of the check and its verdict, in a run without a fault.
func (c *challenge) begin(out *runner.Outcome) error {
	made := map[depgraph.Key]ChallengeInput{}
	for i := range out.Blocks[:c.at] {
		b := &out.Blocks[i]
		for j := range b.Nodes {
			c.Whole++
			t := b.Nodes[j].Result()
			if t == nil {
				continue
			}
			c.WholeSeconds += t.Seconds
			for _, w := range t.Writes {
				by := query.NodeName(b.ID, j, len(b.Nodes), "")
				switch {
				case w.Digest == state.Absent:
					delete(made, w.Key)
				case w.Key.Space() == "var":
					made[w.Key] = ChallengeInput{w.Key.Name(), t.Info[w.Key].Type, by}
				case w.Key.Space() == "file":
					made[w.Key] = ChallengeInput{string(w.Key), "file", by}
				}
			}
		}
	}
	check := &out.Blocks[c.at]
	for j := range check.Nodes {
		t := check.Nodes[j].Result()
		if c.Whole++; t == nil {
			return &state.Error{Code: query.CodeNotExecuted,
				Message: fmt.Sprintf("block %s cannot be executed: %s", c.Block, query.Sentence(check.Reason)),
				Hint:    "`xstate why " + string(c.Block) + "` tells more"}
		}
		c.WholeSeconds += t.Seconds
		for _, r := range t.Reads {
			in, known := made[r.Key]
			if !known || !isClaim(in.Type) || len(c.o.Inputs) > 0 && !slices.Contains(c.o.Inputs, in.Name) {
				continue
			}
			c.Inputs = query.AppendNew(c.Inputs, in)
		}
	}
	for _, name := range c.o.Inputs {
		if !slices.ContainsFunc(c.Inputs, func(in ChallengeInput) bool { return in.Name == name }) {
			return c.noClaim(fmt.Sprintf("it does not read %s of an earlier block", name))
		}
	}
	if len(c.Inputs) == 0 {
		return c.noClaim("it reads no value that an earlier block has made")
	}
	c.chooseVerdict(check)
	c.Was, c.was = c.verdict(check)
	return nil
}

// isClaim reports whether values of a type can be wrong: code and modules are not what a check is about.
func isClaim(kind string) bool {
	return !slices.Contains([]string{"module", "function", "type", "builtin_function_or_method", "NoneType"}, kind)
}

// plant runs the check on one fault.
func (c *challenge) plant(ctx context.Context, in ChallengeInput, kind string) error {
	code := faultCode + "\n\n"
	if file, ok := strings.CutPrefix(in.Name, "file:"); ok {
		code += fmt.Sprintf("_xstate_Fault(%q).plant_in(%q)\n", kind, file)
	} else {
		code += fmt.Sprintf("%s = _xstate_Fault(%q).planted(%s)\n", in.Name, kind, in.Name)
	}
	code += "del _xstate_Fault\n"
	fault := state.ProgramBlock{ID: "fault", Dialect: lang.Python, Source: code,
		Version: state.DigestOf([]byte(code))}
	program := slices.Concat(c.program[:c.at], []state.ProgramBlock{fault}, c.program[c.at:c.at+1])
	out, err := c.execute(ctx, program, true)
	if err != nil {
		return err
	}
	if out.Blocks[c.at].Err != nil {
		return nil // the value has nothing to plant it in
	}
	check := &out.Blocks[c.at+1]
	x := PlantedFault{Input: in.Name, Fault: kind, Outcome: Unread}
	for j := range check.Nodes {
		t := check.Nodes[j].Result()
		if check.Nodes[j].Status == state.StatusReused {
			continue
		}
		x.Outcome = Missed
		if c.Executed++; t != nil {
			x.Seconds += t.Seconds
			for _, r := range t.Reads {
				if r.Key.Space() == "call" {
					x.Calls++
				}
			}
		}
	}
	if x.Outcome == Missed {
		if text, now := c.verdict(check); now != c.was {
			x.Outcome, x.Now = Noticed, text
		}
	}
	switch x.Outcome {
	case Noticed:
		c.Noticed++
	case Missed:
		c.Missed++
	default:
		c.Unread++
	}
	c.Calls, c.Seconds = c.Calls+x.Calls, c.Seconds+x.Seconds
	c.Faults = append(c.Faults, x)
	return nil
}

// What counts as the verdict where no variable is named.
const (
	verdictFailure = "whether it fails"
	verdictFirst   = "the first word"
	verdictAll     = "everything that it printed and left"
)

// judgements are words with which a verdict in words begins.
var judgements = []string{"yes", "no", "ok", "okay", "pass", "passed", "fail", "failed", "true", "false", "correct",
	"incorrect", "right", "wrong", "valid", "invalid", "approved", "rejected", "accept", "reject"}

// chooseVerdict decides what counts as the verdict: the variable that is named; else a truth value that the check
// leaves; else, where its text begins with a judgement, that word; else whether it fails, where it leaves and prints
// nothing; else everything.
func (c *challenge) chooseVerdict(check *runner.BlockOutcome) {
	c.Verdict = c.o.Verdict
	if c.Verdict != "" {
		return
	}
	left := 0
	for j := range check.Nodes {
		t := check.Nodes[j].Result()
		for _, w := range t.Writes {
			if w.Key.Space() != "var" || w.Digest == state.Absent {
				continue
			}
			if left++; t.Info[w.Key].Type == "bool" {
				c.Verdict = w.Key.Name()
			}
		}
	}
	switch text := printed(check); {
	case c.Verdict != "":
	case slices.Contains(judgements, firstWord(text)):
		c.Verdict = verdictFirst
	case text == "" && left == 0:
		c.Verdict = verdictFailure
	default:
		c.Verdict = verdictAll
	}
}

// printed is the text that a block printed and its last value.
func printed(b *runner.BlockOutcome) string {
	var text strings.Builder
	for _, o := range b.Outputs {
		text.WriteString(o.Text)
	}
	return strings.TrimSpace(text.String())
}

func firstWord(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' })
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// verdict returns the verdict of one run of the check, as text and as what it is compared by. A failure is one, too.
func (c *challenge) verdict(check *runner.BlockOutcome) (text, compared string) {
	if check.Err != nil {
		text = "fails: " + check.Err.Type
		return text, text
	}
	switch c.Verdict {
	case verdictFailure:
		return "passes", ""
	case verdictFirst:
		text = firstWord(printed(check))
		return text, text
	}
	if c.Verdict == verdictAll {
		text = printed(check)
		compared = text
	}
	for j := range check.Nodes {
		t := check.Nodes[j].Result()
		if t == nil {
			continue
		}
		for _, w := range t.Writes {
			if w.Key.Space() != "var" || c.Verdict != verdictAll && w.Key.Name() != c.Verdict {
				continue
			}
			compared += fmt.Sprintf("\n%s %s", w.Key, w.Digest)
			text = strings.TrimSpace(text + "\n" + w.Key.Name() + " = " + t.Info[w.Key].Repr)
		}
	}
	return text, compared
}
