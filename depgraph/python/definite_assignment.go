package python

// If a node binds a name on every path before it reads the name, the read depends on no earlier node. To list it as a
// use would be sound, but it would tie "df = load(); df.head()" to every earlier writer of df. So the walker tracks
// definite assignment, as Java does. It logs the names that become certain, undoes the log where paths part, and joins
// it where all paths agree. Only module and class scopes need this.

// certain marks a symbol as bound from here on.
func (t *scopes) certain(i int32) {
	if s := &t.syms[i]; s.flags&isCertain == 0 {
		s.flags |= isCertain
		t.log = append(t.log, i)
	}
}

// undo reverts what became certain since the log had length n.
func (t *scopes) undo(n int) {
	for _, i := range t.log[n:] {
		t.syms[i].flags &^= isCertain
	}
	t.log = t.log[:n]
}

// forgetScope removes the symbols of a closed scope from the log.
func (t *scopes) forgetScope(sc int32) {
	kept := t.log[:0]
	for _, i := range t.log {
		if t.syms[i].scope != sc {
			kept = append(kept, i)
		}
	}
	t.log = kept
}

// fork is a point where paths part.
type fork struct {
	start int     // length of the log at the fork
	arms  int     // the number of paths that reach the join
	bound []int32 // what each of these paths bound, one list after another
}

func (t *scopes) fork() fork { return fork{start: len(t.log)} }

// arm ends one path. A path that ends in return, raise, break or continue does not reach the join.
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
