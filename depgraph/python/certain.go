package python

// A name that a node has bound on every path before it reads it asks nothing of earlier nodes. Listing it as a use
// all the same would be sound, and would tie "df = load(); df.head()" to whoever wrote another df before. What is kept
// is definite assignment, as in Java: a log of names made certain, undone where paths part and joined where all of
// them agree. Only module and class scopes need it.

// certain marks a symbol as bound from here on.
func (t *scopes) certain(i int32) {
	if s := &t.syms[i]; s.marks&isCertain == 0 {
		s.marks |= isCertain
		t.log = append(t.log, i)
	}
}

// undo takes back what became certain since the log had length n.
func (t *scopes) undo(n int) {
	for _, i := range t.log[n:] {
		t.syms[i].marks &^= isCertain
	}
	t.log = t.log[:n]
}

// forget drops the symbols of a closed scope from the log.
func (t *scopes) forget(sc int32) {
	kept := t.log[:0]
	for _, i := range t.log {
		if t.syms[i].scope != sc {
			kept = append(kept, i)
		}
	}
	t.log = kept
}

// fork is a place where paths part.
type fork struct {
	start int     // of the log
	arms  int     // paths that go on behind the join
	bound []int32 // what each of them bound, one list after another
}

func (t *scopes) fork() fork { return fork{start: len(t.log)} }

// arm ends one path. A path that ends in return, raise, break or continue does not reach the join.
func (t *scopes) arm(f *fork, ends bool) {
	if !ends {
		f.arms++
		for _, i := range t.log[f.start:] {
			if t.syms[i].marks&isCertain != 0 {
				f.bound = append(f.bound, i)
			}
		}
	}
	t.undo(f.start)
}

// join makes certain what every path bound. It is called only where the paths are exhaustive.
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
