package state

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the store of the current format to testdata again")

// TestReleasedFormats opens a store of every released format and reads all of it. A format once released is not
// written again: -update makes only the one of the current version.
func TestReleasedFormats(t *testing.T) {
	if *update {
		makeFormat(t, filepath.Join("testdata", fmt.Sprintf("v%d", formatVersion)))
	}
	dirs, err := filepath.Glob("testdata/v*")
	if err != nil || len(dirs) < formatVersion {
		t.Fatalf("testdata has %d formats, %v, want %d", len(dirs), err, formatVersion)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join(dir, "dump.txt"))
			if err != nil {
				t.Fatal(err)
			}
			s := checkedOpen(t, copyStore(t, filepath.Join(dir, "store")), Options{})
			if diff := cmp.Diff(string(want), dump(t, s)); diff != "" {
				t.Errorf("dump: (-want +got)\n%s", diff)
			}
			commit(t, s, "fork", insert("new", "", "new")) // and it can be written
			if notices := s.Notices(); len(notices) > 0 {
				t.Errorf("Notices = %q, want none", notices)
			}
		})
	}
}

func makeFormat(t *testing.T, dir string) {
	t.Helper()
	store := filepath.Join(dir, "store")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s, err := Open(ctx, store, Options{Now: func() time.Time { now = now.Add(time.Second); return now }})
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, "main")
	for i := range 12 {
		commit(t, s, "main", insert(BlockID("b"+itoa(i)), "", strings.Repeat("x = 1\n", 20*i)))
	}
	full := fullBlock()
	full.ID, full.Version = "b3", DigestOf([]byte(strings.Repeat("x = 1\n", 60)))
	trace := fullTrace()
	if _, err := s.PutTrace(trace); err != nil {
		t.Fatal(err)
	}
	commit(
		t,
		s,
		"main",
		Draft{
			Kind:    KindMove,
			Origin:  Origin{Agent: "a", Labels: map[string]string{"k": "v"}},
			Changes: []Change{{Op: OpMove, ID: "b2", After: "b9"}},
		},
		Draft{Kind: KindDelete, Changes: []Change{{Op: OpDelete, ID: "b5"}}},
		Draft{
			Kind:    KindRun,
			Run:     &RunSummary{Nodes: Counts{Ran: 1}, Seconds: 0.5, Interpreter: "CPython 3.12"},
			Changes: []Change{{Op: OpUpdate, Block: &full}},
			Records: map[string]any{"files": []string{"out.csv"}},
		},
		Draft{Kind: KindRollback, To: 10},
	)
	if _, err := s.Fork(ctx, "fork", "main", 14, Origin{Agent: "forker"}); err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{[]byte("small"), noise(1, 5000)} {
		ref, err := s.PutBlob(content)
		if err != nil {
			t.Fatal(err)
		}
		value := Value{Group: DigestOf(content[:5]), Names: []string{"x"}, Blob: ref.Digest, Bytes: ref.Size}
		if err := s.PutValue(value); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutMemo("stat", "path", []byte("memo")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "dump.txt"), []byte(dump(t, s)))
	checkClose(t, s)
	// the first would keep the rest out of the repository
	for _, name := range []string{".gitignore", "history.lock", "history.sound", "results.lock", "results.sound"} {
		if err := os.Remove(filepath.Join(store, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// dump prints what a store made by makeFormat says.
func dump(t *testing.T, s *Store) string {
	t.Helper()
	var b strings.Builder
	sessions, err := s.Sessions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range sessions {
		session.Workspace = ""
		fmt.Fprintf(
			&b,
			"session %s seed %d created %v head %d %s\n",
			session.Name,
			session.Seed,
			session.Created,
			session.Head,
			session.Hash,
		)
		if session.From != nil {
			fmt.Fprintf(&b, "  from %+v\n", *session.From)
		}
		var files []string
		found, err := s.SessionRecord(ctx, session.Name, "files", &files)
		fmt.Fprintln(&b, "  files", found, files, err)
		for n := StepNumber(1); n <= session.Head; n++ {
			dumpStep(t, &b, s, session.Name, n)
		}
	}
	dumpResults(t, &b, s)
	return b.String()
}

// laterFields are those of a step and of a run, without a value, that came after format 1.
var laterFields = regexp.MustCompile(
	` (Verified:<nil>|Repeated:<nil>|Tested:<nil>|Applied:<nil>|Placement:<nil>|Declared:<nil>|Artifacts:0|Undoes:0|` +
		`Author:|Client:|Prompt:|Answers:|TraceParent:|TokensIn:0|TokensOut:0|Cost:0|Unknown:map\[\]|Nth:0|` +
		`Decided:<nil>|Waiting:0|NotReached:0|Sandbox:|Policy:|Unenforced:\[\]|Arguments:\[\]|` +
		`Text:<nil>|Stdin:|Observed:|Ended:<nil>|Interrupted:false)`,
)

func dumpStep(t *testing.T, w io.Writer, s *Store, session string, n StepNumber) {
	t.Helper()
	step, err := s.Step(ctx, session, n)
	if err != nil {
		t.Fatal(err)
	}
	changes, run := step.Changes, step.Run
	step.Changes, step.Run = nil, nil
	io.WriteString(w, laterFields.ReplaceAllString(fmt.Sprintf("step %+v\n", step), ""))
	if run != nil {
		io.WriteString(w, laterFields.ReplaceAllString(fmt.Sprintf("  run %+v\n", *run), ""))
	}
	for _, c := range changes {
		fmt.Fprintf(w, "  op %d %s after %q %s\n", c.Op, c.ID, c.After, DigestOf(encode(c.Block)))
	}
	program, err := s.ProgramAt(ctx, session, n)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range program {
		text, err := s.Source(ctx, block.Version)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(
			w,
			"  block %s of step %d, status %d of step %d, %d nodes, %d bytes\n",
			block.ID,
			block.Edited,
			block.Status,
			block.RanAt,
			len(block.Nodes),
			len(text),
		)
	}
}

func dumpResults(t *testing.T, w io.Writer, s *Store) {
	t.Helper()
	traces, err := s.Traces(fullTrace().Code)
	if err != nil {
		t.Fatal(err)
	}
	for _, trace := range traces {
		fmt.Fprintf(w, "trace %s, record %s\n", trace.Digest, DigestOf(encode(trace.Trace)))
	}
	for _, content := range [][]byte{[]byte("small"), noise(1, 5000)} {
		v, ok, err := s.Value(DigestOf(content[:5]))
		fmt.Fprintf(
			w,
			"value {Joint:%s Names:%v Blob:%s Bytes:%d Needs:%v Seconds:%v} %v %v\n",
			v.Group,
			v.Names,
			v.Blob,
			v.Bytes,
			v.Needs,
			v.Seconds,
			ok,
			err,
		)
		got, ok, err := s.Blob(v.Blob)
		fmt.Fprintf(w, "blob of %d bytes, %v %v\n", len(got), ok, err)
	}
	memo, ok := s.Memo("stat", "path")
	fmt.Fprintf(w, "memo %q %v\n", memo, ok)
}
