package javascript

// If a node binds a name on every path before it reads the name, the read depends on no earlier node. To list it as a
// use would be sound, but it would tie "rows = load(); rows.length" to every earlier writer of rows. So the walker
// tracks
// definite assignment, as Java does. It logs the names that become certain, undoes the log where paths part, and joins
// it where all paths agree. Only names of the namespace need this.

// undo reverts what became certain since the log had length n.
func (t *scopes) undo(n int) {
	for _, i := range t.log[n:] {
		t.syms[i].flags &^= isCertain
	}
	t.log = t.log[:n]
}

// fork is a point where paths part.
type fork struct {
	start int     // length of the log at the fork
	arms  int     // the number of paths that reach the join
	bound []int32 // what each of these paths bound, one list after another
}

func (t *scopes) fork() fork { return fork{start: len(t.log)} }

// arm ends one path. A path that ends in return, throw, break or continue does not reach the join.
func (t *scopes) arm(f *fork, ends bool) {
	if !ends {
		f.arms++
		for _, i := range t.log[f.start:] {
			if t.syms[i].flags&isCertain != 0 {
				f.bound = append(f.bound, i)
			}
		}
	}
	t.undo(f.start)
}

// join makes certain what every path bound. Call it only if the paths are exhaustive.
func (t *scopes) join(f *fork) {
	if f.arms == 0 || len(f.bound) == 0 {
		return
	}
	count := make(map[int32]int, len(f.bound))
	for _, i := range f.bound {
		count[i]++
		if count[i] == f.arms {
			t.certain(i)
		}
	}
}

// maybe walks code that may not run, or not to its end.
func (t *scopes) maybe(walk func()) {
	f := t.fork()
	walk()
	t.arm(&f, true)
}
