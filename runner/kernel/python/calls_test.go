package python

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/kernel"
)

// TestCall: a call reaches the engine and its result the program, in a sandbox of any level, and counts as no effect.
func TestCall(t *testing.T) {
	callers(t, func(t *testing.T, i Interpreter) {
		for level, box := range boxes() {
			t.Run(level, func(t *testing.T) {
				c := newCaller(t, i, box)
				c.unmarked(c.prints("import xstate\nprint(xstate.tool('echo', a=[1, (2.5, None)], b='ä'))",
					"{'a': [1, [2.5, None]], 'b': 'ä'}\n"))
				c.unmarked(c.prints(`
import asyncio
async def main():
    found = await asyncio.gather(*(xstate.atool("echo", n=n) for n in range(100)))
    print(sum(f["n"] for f in found))
asyncio.run(main())
`, "4950\n"))
				for n, r := range c.calls.seen[1:] {
					if want := fmt.Sprintf(`{"n":%d}`, n); string(r.Args) != want {
						t.Fatalf("call %d has the arguments %s, want %s", n, r.Args, want)
					}
				}
				if r := c.calls.seen[0]; r.Line != 2 || c.calls.seen[1].Line != 6 {
					t.Errorf("the calls are made on lines %d and %d, want 2 and 6", r.Line, c.calls.seen[1].Line)
				}
			})
		}
	})
}

// TestCallForms: every form of a call says what the contract says, and returns the result.
func TestCallForms(t *testing.T) {
	callers(t, func(t *testing.T, i Interpreter) {
		c := newCaller(t, i, nil)
		for _, form := range []struct{ text, printed, request string }{
			{"import xstate\nfrom xstate import tools, atools\nprint(tools.search(query='x', limit=2))",
				"{'query': 'x', 'limit': 2}\n",
				`{"kind":"tool","tool":"search","args":{"query":"x","limit":2},"line":3,"varies":false}`},
			{"print(tools.search('y', 7))", "{'query': 'y', 'limit': 7}\n",
				`{"kind":"tool","tool":"search","args":{"query":"y","limit":7},"line":1,"varies":false}`},
			{"import inspect\nprint(dir(tools), inspect.signature(tools.search))",
				"['search'] (query: str, limit: int = 5)\n", ""},
			{"print(inspect.getdoc(tools.search))", "Finds things.\n\nquery: what to find\n", ""},
			{"import pydoc\nprint('search(query: str, limit: int = 5)' in pydoc.plain(pydoc.render_doc(tools.search)))",
				"True\n", ""},
			{"print(tools['a b'](), tools.pay.out())", "{} {}\n",
				`{"kind":"tool","tool":"pay.out","args":{},"line":1,"varies":false}`},
			{"print(await atools.search('z'))", "{'query': 'z'}\n",
				`{"kind":"tool","tool":"search","args":{"query":"z"},"line":1,"varies":false}`},
			{"print(xstate.llm('hi', model='m', system='be short', temperature=0, sample=3))", "hello\n",
				`{"kind":"model","tool":"m","args":{"messages":[{"role":"system","content":"be short"},` +
					`{"role":"user","content":"hi"}],"options":{"temperature":0}},"sample":3,"line":1}`},
			{"print(xstate.llm('hi', on_text=print))", "hel\nlo\nhello\n",
				`{"kind":"model","tool":"","args":{"messages":[{"role":"user","content":"hi"}]},"line":1}`},
			{"print(await xstate.allm([{'role': 'user', 'content': 'hi'}], on_text=print))", "hel\nlo\nhello\n",
				`{"kind":"model","tool":"","args":{"messages":[{"role":"user","content":"hi"}]},"line":1}`},
			{"print(xstate.ask('well?', ['yes', 'no']))", "yes\n",
				`{"kind":"ask","tool":"ask","args":{"question":"well?","choices":["yes","no"]},"line":1,` +
					`"question":"well?","choices":["yes","no"],"varies":false}`},
		} {
			n := len(c.calls.seen)
			c.unmarked(c.prints(form.text, form.printed))
			if form.request == "" {
				if len(c.calls.seen) > n {
					t.Errorf("%q makes a call", form.text)
				}
				continue
			}
			got, err := json.Marshal(c.calls.seen[len(c.calls.seen)-1])
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != form.request {
				t.Errorf("%q requests\n%s, want\n%s", form.text, got, form.request)
			}
		}
	})
}

// TestCallSteps: a step runs its function in the program, calls within it name it, and an edit makes another step of
// it.
func TestCallSteps(t *testing.T) {
	callers(t, func(t *testing.T, i Interpreter) {
		c := newCaller(t, i, nil)
		c.prints("import xstate\nlimit = 3\ndef cut(x): return x[:limit]\ndef load(path, n=1): return {'p': "+
			"cut(path), 't': (n,)}",
			"")
		version := func(text, printed string) string {
			t.Helper()
			c.unmarked(c.prints(text, printed))
			return c.calls.seen[len(c.calls.seen)-1].Version
		}
		const use = "print(xstate.step('load', load, 'abcd', n=2))"
		first := version(use, "{'p': 'abc', 't': [2]}\n")
		if seen := c.prints(use, "{'p': 'abc', 't': [2]}\n"); !slices.Contains(seen.Names, "limit") {
			t.Errorf("the node reads %q, want what the step uses: limit", seen.Names)
		}
		if r := c.calls.seen[0]; r.Tool != "load" || string(r.Args) != `{"args":["abcd"],"kwargs":{"n":2}}` ||
			first == "" {
			t.Errorf("the step is %q %q with %s", r.Tool, r.Version, r.Args)
		}
		c.prints("limit = 2", "")
		second := version(use, "{'p': 'ab', 't': [2]}\n")
		c.prints("def cut(x): return x[-limit:]", "")
		third := version(use, "{'p': 'cd', 't': [2]}\n")
		c.prints("limit = 3\ndef cut(x): return x[:limit]", "")
		if fourth := version(use, "{'p': 'abc', 't': [2]}\n"); fourth != first || second == first || third == second {
			t.Errorf("versions of the step are %.6s, %.6s, %.6s, %.6s; want three, and the first again",
				first, second, third, fourth)
		}

		n := len(c.calls.seen)
		c.unmarked(c.prints(`
@xstate.step
def outer(n):
    return [inner(n), xstate.tool("echo", n=n)]

@xstate.step("within")
def inner(n):
    return xstate.tool("echo", n=-n)["n"]

@xstate.step
async def both(n):
    return await xstate.gather(*(xstate.atool("echo", n=i) for i in range(n)), limit=1)

print(outer(1), await both(2))
`, "[-1, {'n': 1}] [{'n': 0}, {'n': 1}]\n"))
		var parents []int
		for _, r := range c.calls.seen[n:] {
			parents = append(parents, max(0, int(r.Parent)-n))
		}
		if want := []int{0, 1, 2, 1, 0, 5, 5}; !slices.Equal(parents, want) {
			t.Errorf("the calls are made within %v, want %v", parents, want)
		}
		c.prints(`
def fail(): raise KeyError("no")
def odd(): return {1, 2}
for f in fail, odd:
    try: xstate.step("s", f)
    except Exception as e: print(type(e).__name__, e)
`, "KeyError 'no'\nNotPlain the result of s is of type set, which is not plain data; "+
			"pass sorted(x), which is a list in one order\n")
	})
}

// TestCallErrors: each error of a call is an exception of its own, and a call that waits ends the node.
func TestCallErrors(t *testing.T) {
	callers(t, func(t *testing.T, i Interpreter) {
		c := newCaller(t, i, nil)
		c.prints(`
import xstate
for name in "refuse", "deny":
    try: xstate.tool(name)
    except xstate.CallError as e: print(type(e).__name__, e.code, e)
`, "ToolError tool-refused refuse: not today\nCallDenied call-denied no\n")
		for text, want := range map[string]string{
			"try: xstate.tool('suspend')\nexcept Exception: pass":                           "Suspended",
			"async def f():\n    await xstate.gather(xstate.atool('suspend'))\nawait f()":   "Suspended",
			"try: xstate.step('s', lambda: xstate.tool('suspend'))\nexcept Exception: pass": "Suspended",
			"try: xstate.tool('spend')\nexcept Exception: pass":                             "BudgetSpent",
			"import concurrent.futures as f\nwith f.ThreadPoolExecutor() as p:\n" +
				"    print(*p.map(lambda n: xstate.tool(n), ['echo', 'suspend']))": "Suspended",
		} {
			seen, _, err := c.try(await.Context(t), text)
			if err != nil || seen.Failure == nil || seen.Failure.Type != want {
				t.Errorf("%q ends with %v %+v, want %s", text, err, seen.Failure, want)
			}
		}
		c.prints("async def f():\n"+
			"    try: await xstate.gather(xstate.atool('refuse'), xstate.atool('echo', n=1), xstate.atool('deny'))\n"+
			"    except xstate.ToolError: print('first')\nawait f()", "first\n")
		if last := c.calls.seen[len(c.calls.seen)-1].Tool; last != "deny" {
			t.Errorf("the last call is of %s: gather stopped at the first error", last)
		}
	})
}

// TestCallNotPlain: what is no plain data is refused by its place, before anything is sent.
func TestCallNotPlain(t *testing.T) {
	callers(t, func(t *testing.T, i Interpreter) {
		c := newCaller(t, i, nil)
		c.prints(`
import xstate, datetime, decimal, dataclasses, enum, collections
@dataclasses.dataclass
class P: x: int
class Color(enum.Enum): RED = 1
class Level(enum.IntEnum): LOW = 1
Pair = collections.namedtuple("Pair", "a b")
loop = []
loop.append(loop)
def refused(**args):
    try: xstate.tool("echo", **args)
    except xstate.NotPlain as e: print(e)
refused(query={"filters": [1, 2, {3}]})
refused(a=float("nan"))
refused(a=[loop])
refused(a=b"x")
refused(a={1: 2})
refused(a=P(1))
refused(a={"to": Color.RED})
refused(a=datetime.date(2020, 1, 1))
refused(a="\ud800")
refused(a=(i for i in ()))
refused(a=object())
refused(a="x" * (65 << 20))
print(xstate.tool("echo", a=Pair(1, Level.LOW), b=collections.OrderedDict(x=True), c=10**30))
`, `query.filters[2] is of type set, which is not plain data; pass sorted(x), which is a list in one order
a is nan, which JSON does not have; pass None, or a text
a[0][0] contains itself; pass data without cycles
a is of type bytes, which is not plain data; pass base64.b64encode(x).decode(), which is text
a has the key 1 of type int; keys are text: pass str(key)
a is of type __main__.P, which is not plain data; pass dataclasses.asdict(x)
a.to is of type __main__.Color, which is not plain data; pass x.value
a is of type datetime.date, which is not plain data; pass x.isoformat()
a has half of a surrogate pair, which is no character; pass x.encode("utf-8", "replace").decode()
a is of type generator, which is not plain data; pass list(x)
a is of type object, which is not plain data; pass text, numbers, lists or a dict of these
the call of echo: 68157495 bytes are more than 67108864; write a file, and pass its name
{'a': [1, 1], 'b': {'x': True}, 'c': 1000000000000000000000000000000}
`)
		if len(c.calls.seen) != 1 {
			t.Errorf("%d calls reached the engine, want 1", len(c.calls.seen))
		}
	})
}

// TestCallConcurrent: threads, tasks and forked children call at the same time.
func TestCallConcurrent(t *testing.T) {
	callers(t, func(t *testing.T, i Interpreter) {
		for level, box := range boxes() {
			t.Run(level, func(t *testing.T) {
				c := newCaller(t, i, box)
				c.unmarked(c.prints(`
import xstate, threading
found = []
threads = [threading.Thread(target=lambda n=n: found.append(xstate.tool("echo", n=n)["n"])) for n in range(20)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(found) == list(range(20)))
first = threading.Thread(target=xstate.tool, args=("wait",))
first.start()
xstate.tool("open")
first.join()
`, "True\n"))
				c.prints(`
import os, multiprocessing
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    os.write(w, repr(xstate.tool("echo", n="child")).encode())
    os._exit(0)
os.waitpid(pid, 0)
print(os.read(r, 100).decode())
os.close(r), os.close(w)
def work(n): return xstate.tool("echo", n=n)["n"]
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(work, range(6)))
`, "{'n': 'child'}\n[0, 1, 2, 3, 4, 5]\n")
			})
		}
	})
}

// TestCallFirst: threads make the first calls of a program at the same time. They run in step, line by line, through
// the function that opens a connection, so each finds that no call was made before. One of them once closed the door.
func TestCallFirst(t *testing.T) {
	callers(t, func(t *testing.T, i Interpreter) {
		c := newCaller(t, i, nil)
		c.unmarked(c.prints(`
import xstate, threading, os
step = threading.Barrier(3)
lines = []
def trace(frame, event, _):
    code = frame.f_code
    if code.co_name != "connect" or os.path.basename(code.co_filename) != "calls.py": return None
    def line(frame, event, _):
        if event == "return": step.abort()
        try: step.wait(60)
        except threading.BrokenBarrierError: return line
        lines.append(frame.f_lineno)
        return line
    return line(frame, event, _)
def call(n):
    found[n] = xstate.tool("echo", n=n)["n"]
found = {}
threading.settrace(trace)
threads = [threading.Thread(target=call, args=(n,)) for n in range(3)]
for t in threads: t.start()
for t in threads: t.join()
threading.settrace(None)
print(sorted(found), len(lines) > 9, xstate.tool("echo", n=7))
`, "[0, 1, 2] True {'n': 7}\n"))
	})
}

// TestCallGivenUp: a call ends when its task is cancelled, when the node is interrupted, and when the process dies.
func TestCallGivenUp(t *testing.T) {
	callers(t, func(t *testing.T, i Interpreter) {
		c := newCaller(t, i, nil)
		c.prints(`
import xstate, asyncio
async def hurry():
    task = asyncio.ensure_future(xstate.atool("hang"))
    await asyncio.sleep(0)
    xstate.tool("echo")
    task.cancel()
    try: await task
    except asyncio.CancelledError: print("cancelled")
await hurry()
`, "cancelled\n")
		ended := func(want ...string) {
			t.Helper()
			c.calls.mu.Lock()
			defer c.calls.mu.Unlock()
			if !slices.Equal(c.calls.ended, want) {
				t.Errorf("calls of %q have ended, want %q", c.calls.ended, want)
			}
		}
		ended("hang")
		await.Receive(t, "the first call begins", c.calls.began)

		ctx, cancel := context.WithCancel(await.Context(t))
		go func() {
			select {
			case <-c.calls.began:
				cancel()
			case <-ctx.Done():
			}
		}()
		seen, printed, err := c.try(ctx, "try: xstate.tool('hang')\nexcept Exception as e: print('seen', e)")
		if err == nil && (seen.Failure == nil || seen.Failure.Type != "KeyboardInterrupt") || printed != "" {
			t.Errorf("an interrupted call ends with %v %+v and prints %q, want KeyboardInterrupt", err, seen.Failure,
				printed)
		}
		ended("hang", "hang")
		c.prints("print(xstate.tool('echo', n=1))", "{'n': 1}\n")

		c.prints("import threading\nthreading.Thread(target=lambda: print(xstate.tool('echo', n=2)) or 0).join", "")
		_, _, err = c.try(await.Context(t), `
import os, threading
def end():
    xstate.tool("two")
    os._exit(3)
threading.Thread(target=end, daemon=True).start()
xstate.tool("die")
`)
		if err == nil {
			t.Error("the process died, and Execute returned no error")
		}
		ended("hang", "hang", "die")
	})
}

// TestCallUnfinished: a call that goes on when its node ends is finished first, and the node is marked. A step is given
// up. What the thread calls afterwards fails, because no node runs.
func TestCallUnfinished(t *testing.T) {
	callers(t, func(t *testing.T, i Interpreter) {
		c := newCaller(t, i, nil)
		said := filepath.Join(c.folder, "said")
		if err := syscall.Mkfifo(said, 0o600); err != nil {
			t.Fatal(err)
		}
		seen := c.prints(`
import xstate, threading, asyncio
said = []
def late():
    said.append(xstate.tool("wait"))
    try: xstate.tool("echo", n=1)
    except xstate.CallLost as e: said.append(e.code)
    with open("said", "w") as f: f.write(repr(said))
thread = threading.Thread(target=late)
thread.start()
async def ahead():
    global task, done
    done = asyncio.Event()
    task = asyncio.ensure_future(xstate.astep("s", done.wait))
    await asyncio.sleep(0)
    xstate.tool("three")
await ahead()
`, "")
		if !slices.Contains(seen.Marks, "call-unfinished") {
			t.Errorf("the node has the marks %q, want call-unfinished", seen.Marks)
		}
		if got, err := os.ReadFile(said); string(got) != "[{}, 'no-block']" {
			t.Errorf("the thread saw %s, %v; want a result, and no-block", got, err)
		}
		c.prints("done.set()\ntry: await task\nexcept BaseException as e: print(type(e).__name__)", "CallLost\n")
	})
}

// TestCallGuarded: a program that is kept from effects outside its folder calls, because the engine decides about
// calls.
func TestCallGuarded(t *testing.T) {
	callers(t, func(t *testing.T, i Interpreter) {
		c := newCaller(t, i, nil)
		c.kernel.Close()
		spool, store := realTemp(t), realTemp(t)
		k, err := i.Start(t.Context(), kernel.Launch{
			Driver: store, Environ: i.Environ(os.Environ()), Folder: c.folder, Spool: spool, Store: store, Seed: 1,
			Guard: &kernel.Guard{Allow: []string{c.folder}, Deny: []string{}},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(k.Close)
		c.kernel = k
		c.unmarked(c.prints("import xstate\nprint(xstate.tool('echo', n=1))", "{'n': 1}\n"))
		seen, _, _ := c.try(await.Context(t), `
import socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.sendmsg([b"x"])
`)
		if seen.Failure == nil || seen.Failure.Type != "PermissionError" {
			t.Errorf("a message of the program ends with %+v, want PermissionError", seen.Failure)
		}
	})
}
