package sandbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/runner/sandbox"
)

// TestWorks runs what programs usually do. Bounds must not be in their way, and nothing of it may be denied.
func TestWorks(t *testing.T) {
	for name, program := range map[string]string{
		"pool": `
import multiprocessing as m
if __name__ == "__main__":
    c = m.get_context("fork")
    with c.Pool(3) as p: assert p.map(abs, [-1, 2, -3]) == [1, 2, 3]
`,
		"manager": `
import multiprocessing as m
c = m.get_context("fork")
with c.Manager() as g:
    d = g.dict(); d[1] = 2
    assert dict(d) == {1: 2}
`,
		"shared memory": `
from multiprocessing.shared_memory import SharedMemory
s = SharedMemory(create=True, size=100); s.buf[0] = 1
u = SharedMemory(s.name); assert u.buf[0] == 1
u.close(); s.close(); s.unlink()
`,
		"asyncio": `
import asyncio
async def serve(r, w): w.write(await r.readline()); await w.drain(); w.close()
async def main():
    s = await asyncio.start_server(serve, "127.0.0.1", 0)
    r, w = await asyncio.open_connection(*s.sockets[0].getsockname())
    w.write(b"hi\n"); assert await r.readline() == b"hi\n"
    u = await asyncio.start_unix_server(serve, "u")
    r, w = await asyncio.open_unix_connection("u")
    w.write(b"hi\n"); assert await r.readline() == b"hi\n"
    p = await asyncio.create_subprocess_exec("/bin/echo", "x", stdout=-1)
    assert (await p.communicate())[0] == b"x\n"
asyncio.run(main())
`,
		"http": `
import http.server, threading, urllib.request
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
assert urllib.request.urlopen("http://127.0.0.1:%d/a" % s.server_port).read() == b"a"
s.shutdown()
`,
		"temporary files": `
import tempfile, os
with tempfile.TemporaryDirectory() as d: open(d + "/x", "w").write("x")
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
`,
		"sqlite": `
import sqlite3
c = sqlite3.connect("x.db"); c.execute("create table t(a)"); c.execute("insert into t values (1)"); c.commit()
c.execute("pragma journal_mode=wal"); c.execute("insert into t values (2)"); c.commit(); c.close()
`,
		"signals of its own": `
import os, signal, subprocess, time
p = subprocess.Popen(["/bin/sleep", "60"]); p.terminate(); assert p.wait() == -15
p = subprocess.Popen(["/bin/sleep", "60"], start_new_session=True); os.killpg(p.pid, 9); assert p.wait() == -9
`,
		"priorities of its own": `
import os, subprocess
now = os.nice(1); os.sched_setaffinity(0, os.sched_getaffinity(0))
p = subprocess.Popen(["/bin/sleep", "60"]); os.setpriority(os.PRIO_PROCESS, p.pid, min(now + 9, 19)); p.kill(); p.wait()
`,
		"git": `
assert sh("git init -q . && git config user.email a@b && git config user.name a && git add a && git commit -qm x && "
          "git log --oneline | cat && git gc -q").returncode == 0
`,
		"gcc": `
open("x.c", "w").write("int main(){return 0;}")
open("Makefile", "w").write("x: x.o\n\tgcc -o x x.o\n")
assert sh("make -s x && ./x").returncode == 0
`,
		"tar": `
assert sh("mkdir d && cp a d && tar czf d.tar.gz d && rm -r d && tar xzf d.tar.gz && mv d e && "
          "test -f e/a").returncode == 0
`,
		"script": `
assert sh("ls -la; id; uname -a; ps ax; df . ; du -s .; date; sort a; find . -name a; cat a | grep a; test -w a; "
          "echo x > /dev/null").returncode == 0
`,
		"pty": `
import pty
assert pty.spawn(["/bin/true"]) == 0
`,
		"users and names": `
import getpass, pwd, socket
pwd.getpwuid(os.getuid()); socket.getaddrinfo("localhost", 80); socket.gethostname(); socket.if_nameindex()
`,
		"perl": `assert sh("perl -e 'print 1+1' && awk 'BEGIN{print 1}' && sed -i s/a/b/ a").returncode == 0`,
		"node": `
import shutil
if shutil.which("node"):
    assert sh("node -e 'const n=require(\"net\");const s=n.createServer(c=>c.end(\"hi\"));"
              "s.listen(0,\"127.0.0.1\",()=>n.connect(s.address().port).on(\"data\",d=>s.close()))'").returncode == 0
`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range variants {
				tried := v.always || v.name == "unobserved" || v.name == "old-landlock" ||
					v.name == "bwrap" && sandbox.Offered().Bubblewrap != ""
				if !v.boxed || !tried || name == "pty" && v.name != "workspace" ||
					v.observe != "" && name != "pool" && name != "sqlite" {
					continue
				}
				t.Run(v.name, func(t *testing.T) {
					sandbox.Without(v.without)
					defer sandbox.Without(nil)
					b := bounded(t, sandbox.Bounds{Strict: v.strict, Launcher: v.launcher},
						"begin(1)\n"+program+"\nend(1)\n")
					r := b.take(1)
					if err := b.Wait(); err != nil {
						t.Error(err)
					}
					if strings.Contains(b.out.String(), "rror") ||
						v.without == nil && strings.Contains(b.out.String(), "denied") ||
						len(r.Denied) > 0 && name != "git" {
						t.Errorf("%s\n%v", &b.out, r.Denied)
					}
				})
			}
		})
	}
}

// BenchmarkBoundedStart measures how long an interpreter in a box takes to start and end, beside one that has no
// bounds.
func BenchmarkBoundedStart(b *testing.B) {
	for name, bounds := range map[string]*sandbox.Bounds{"observed": nil, "bounded": {}} {
		b.Run(name, func(b *testing.B) {
			folder := b.TempDir()
			for b.Loop() {
				box, err := sandbox.Start(exec.Command("/bin/true"),
					sandbox.Spec{Folder: folder, Spool: os.TempDir(), Bounds: bounds})
				if err != nil {
					b.Fatal(err)
				}
				_ = box.Wait()
			}
		})
	}
}

// TestProxy reaches an allowed address through the proxy, and no other one.
func TestProxy(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "served")
	}))
	defer server.Close()
	address := server.Listener.Addr().String()
	for _, v := range variants {
		if !v.boxed || v.name == "traced" || v.launcher != "" && sandbox.Offered().Bubblewrap == "" {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			sandbox.Without(v.without)
			defer sandbox.Without(nil)
			b := bounded(t, sandbox.Bounds{Strict: v.strict, Launcher: v.launcher, Hosts: []string{address}}, `
import socket, urllib.request
begin(1)
assert os.environ["https_proxy"] == "http://127.0.0.2:3128", os.environ
def get(address):
    request = urllib.request.Request("http://%s/" % address)
    request.set_proxy("127.0.0.2:3128", "http")
    try: return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=5).read()
    except Exception as e: return e
print(get("`+address+`"), get("127.0.0.1:1"))
try: print(socket.create_connection(("127.0.0.1", `+strings.Split(address, ":")[1]+`), 2))
except OSError as e: print(e)
end(1)
`)
			r := b.take(1)
			if err := b.Wait(); err != nil {
				t.Error(err)
			}
			want := "b'served' HTTP Error 403: Forbidden\n[Errno 13] Permission denied\n"
			got := strings.Replace(b.out.String(), "[Errno 111] Connection refused", "[Errno 13] Permission denied", 1)
			if got != want {
				t.Errorf("got %q, want %q; denied %v", got, want, r.Denied)
			}
			if v.observe == "" && (!slices.Contains(r.Sockets, "tcp:"+address) ||
				!slices.Contains(r.Denied, sandbox.Denial{Action: "connect", Target: "127.0.0.1:1",
					Rule: `network.hosts = ["127.0.0.1:1"]`})) {
				t.Errorf("sockets %v, denied %v", r.Sockets, r.Denied)
			}
		})
	}
}
