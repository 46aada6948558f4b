package python

import (
	"strings"

	p "github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// callStatement is a statement that does nothing but call a function: "main()", "raise SystemExit(main())",
// "x = main(1)", "sys.exit(asyncio.run(main()))".
type callStatement struct {
	name   string
	call   uint32   // the tree node of the call
	target uint32   // what the result is assigned to; 0 if it is not assigned
	outer  []uint32 // the functions around the call: of sys.exit(main()) sys.exit
	used   bool     // the statement uses what the function returns
	awaits bool     // it awaits the call, or runs it by asyncio.run
}

// wrappers are functions around the call that evaluate nothing before it.
var wrappers = map[string]bool{
	"sys.exit": true, "exit": true, "quit": true, "SystemExit": true, "print": true, "asyncio.run": true,
}

// callStatement returns the call that is all that statement i does.
func (w *walker) callStatement(i uint32) (found callStatement, ok bool) {
	e := w.child(i)
	switch w.sym(i) {
	case p.ExpressionStatement:
		if w.next(e) != w.end(i) {
			return found, false
		}
		if w.sym(e) == p.Assignment {
			left := w.child(e)
			equal := w.next(left)
			if !w.plainTarget(left) || equal >= w.end(e) || w.sym(equal) != p.Equal {
				return found, false
			}
			e, found.target, found.used = w.next(equal), left, true
		}
	case p.RaiseStatement:
		if e = w.next(e); e >= w.end(i) || w.next(e) != w.end(i) || w.sym(e) != p.Call ||
			w.src(w.child(e)) != "SystemExit" {
			return found, false
		}
	default:
		return found, false
	}
	for {
		switch w.sym(e) {
		case p.Await:
			e, found.awaits = w.lastChild(e), true
			continue
		case p.Call:
		default:
			return found, false
		}
		f := w.child(e)
		args := w.next(f)
		if w.sym(args) != p.ArgumentList {
			return found, false
		}
		if !wrappers[w.src(f)] {
			found.name, found.call = w.src(f), e
			return found, w.sym(f) == p.Identifier
		}
		if w.arguments(e) != 1 {
			return found, false
		}
		found.outer = append(found.outer, f)
		if w.src(f) == "asyncio.run" {
			found.awaits = true
		} else {
			found.used = true
		}
		e = args + 2 // after the bracket
	}
}

// plainTarget reports whether the target of an assignment is a name, or a list of names.
func (w *walker) plainTarget(i uint32) bool {
	if w.sym(i) == p.Identifier {
		return true
	}
	if w.sym(i) != p.PatternList && w.sym(i) != p.TuplePattern {
		return false
	}
	for c := w.child(i); c < w.end(i); c = w.next(c) {
		if s := w.sym(c); s >= firstNonTerminal {
			return false
		}
	}
	return true
}

// guarded returns the suite of "if __name__ == '__main__':", which is executed in a program.
func (w *walker) guarded(i uint32) (suite uint32, ok bool) {
	if w.sym(i) != p.IfStatement {
		return 0, false
	}
	condition := w.next(w.child(i))
	suite = w.lastChild(i)
	if w.sym(suite) != p.Block || w.next(suite) != w.end(i) || w.next(w.next(condition)) != suite {
		return 0, false
	}
	switch strings.ReplaceAll(strings.ReplaceAll(w.src(condition), "'", `"`), " ", "") {
	case `__name__=="__main__"`, `"__main__"==__name__`, `(__name__=="__main__")`:
		return suite, true
	}
	return 0, false
}

// noteCalls lists the functions that statement i, or a statement of its guarded suite, does nothing but call.
func (w *walker) noteCalls(i uint32) {
	if suite, ok := w.guarded(i); ok {
		for c := w.child(suite); c < w.end(suite); c = w.next(c) {
			w.noteCalls(c)
		}
		return
	}
	if s, ok := w.callStatement(i); ok {
		w.facts.Calls = append(w.facts.Calls, s.name)
	}
}
