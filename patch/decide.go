package patch

// Decision says which block a block that was written again was taken for, and what else it could have been.
type Decision struct {
	Block         string  `json:"block,omitempty"` // "": none, it is new
	By            By      `json:"by"`
	Score         float64 `json:"score"` // 0 to 1
	RunnerUp      string  `json:"runner_up,omitempty"`
	RunnerUpScore float64 `json:"runner_up_score,omitempty"`
}

// Threshold is the score from which on a block that is written again replaces one that is there. Below, it is a new block.
const Threshold = 0.6

// decide tells which of the blocks that are not taken yet is written again, unless its name says so. failed are the blocks that
// failed in the last run, which it may answer.
func decide(blocks []Block, s Section, failed map[string]bool, taken map[string]bool) Decision {
	in := interner{}
	mine := in.traits(s.Text)
	names := bound([]byte(s.Text))
	best, second := Decision{By: ByNothing}, Decision{}
	for _, b := range blocks {
		if taken[b.ID] {
			continue
		}
		d := Decision{Block: b.ID}
		d.Score, d.By = resemblance(b, s.Text, likeness(in.traits(b.Source), mine), shared(bound([]byte(b.Source)), names), failed[b.ID])
		if d.Score > best.Score {
			best, second = d, best
		} else if d.Score > second.Score {
			second = d
		}
	}
	best.RunnerUp, best.RunnerUpScore = second.Block, second.Score
	if best.Score < Threshold {
		return Decision{By: ByNothing, Score: best.Score, RunnerUp: best.Block, RunnerUpScore: best.Score}
	}
	return best
}

// resemblance weighs what speaks for a block, and says what speaks most.
func resemblance(b Block, text string, like, defines float64, failed bool) (float64, By) {
	if b.Source == text {
		return 1, ByContent
	}
	by, doubt := BySimilarity, 1-like
	if defines > 0 {
		doubt *= 1 - 0.5*defines
		by = ByDefinition
	}
	if failed {
		doubt *= 0.7
		if like < 0.5 && defines < 0.5 {
			by = ByAnswer
		}
	}
	return 1 - doubt, by
}

// shared is how much two lists of names have in common, 0 to 1.
func shared(a, b []string) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	in := map[string]bool{}
	for _, x := range a {
		in[x] = true
	}
	both := 0
	for _, x := range b {
		if in[x] {
			both++
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}
