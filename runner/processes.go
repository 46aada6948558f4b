package runner

import (
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// A child process that still runs when its node ends, such as a server, is state that no store can hold. It lives in
// the interpreter that executed the node, and ends with it. So the key process:running represents the processes that
// run. A node that leaves one running writes it, by lineage. A node at whose end none runs any more makes it absent.
// The nodes that wrote it since it was absent are its chain.
//
// Before a node executes, the kernel is given the processes of its state: the nodes of the chain execute again, in
// order, or a new interpreter starts where the kernel has others. If nothing executes, nothing is started.
//
// The answer of a process to a node may depend on how the process was started. So a node that uses a socket, or during
// which a child process does something, reads the key. The engine does not see its changes in the process: see
// docs/limits.md. At the level of hooks, nothing shows which processes run.

// runningReads adds the processes that the node may have talked to, ended or joined to found.
func (x *execution) runningReads(found map[depgraph.Key]state.Digest) {
	f, now := &x.seen.Files, x.pos.get(runningKey).digest
	if f.LeavesRunning || f.EndsRunning || f.MeetsOthers && now != state.Absent {
		found[runningKey] = now
	}
}

// runningWrites returns what the node made of the processes that run.
func (x *execution) runningWrites(t *state.Trace) []state.Access {
	switch f := &x.seen.Files; {
	case f.LeavesRunning:
		return []state.Access{{Key: runningKey, Digest: lineage(t, x.recorded, runningKey)}}
	case f.EndsRunning:
		return []state.Access{{Key: runningKey}}
	}
	return nil
}

// leftToRunning returns a function that reports whether a file is left to the processes that run at p; nil if none
// runs. The last node or the engine left it as p has it, so if it is different by now, a process has changed it and may
// need it so. Nothing is compared with the disk, for they may write at any moment.
func (w *walk) leftToRunning(p *programState) func(name string, want entry) bool {
	if now := p.get(runningKey).digest; now == state.Absent || now != w.e.kernelState.running {
		return nil
	}
	return func(name string, want entry) bool { return w.e.cfg.Files[name].Left == want.digest }
}

// spoilRunning notes that a node that has no result started processes, or ended some.
func (x *execution) spoilRunning() {
	if f := &x.seen.Files; f.LeavesRunning || f.EndsRunning {
		x.walk.e.kernelState.running = "!changed" // no program state has this digest
	}
}

// nextRunning returns the first of the nodes before at to run again for the processes to be as p has them, or -1.
func (w *walk) nextRunning(p *programState, at int) int {
	have := w.e.kernelState.running
	if p.get(runningKey).digest == have {
		return -1
	}
	chain := w.chain(runningKey, at)
	for i, node := range chain {
		for _, a := range w.outcomes[node].t.Writes {
			if a.Key == runningKey && a.Digest == have && i+1 < len(chain) {
				return chain[i+1]
			}
		}
	}
	if len(chain) == 0 {
		return -1
	}
	return chain[0]
}
