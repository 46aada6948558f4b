package state

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
)

func declare(a Artifact) Draft { return Draft{Kind: KindDeclare, Artifact: &a} }

// declared renders which artifacts there are after a step: each with the step that declared it.
func declared(t *testing.T, s *Store, session string, n StepNumber) map[string]StepNumber {
	t.Helper()
	d, err := s.Artifacts(ctx, session, n)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]StepNumber{}
	if d != nil {
		for _, a := range d.All {
			found[a.Name] = a.Declared
		}
	}
	return found
}

func TestArtifactsInTime(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	create(t, s, "main")
	commit(t, s, "main", insert("b", "", "x = 1"))                                                    // 1
	commit(t, s, "main", declare(Artifact{Name: "code", Kind: ArtifactCode, Blocks: []BlockID{"b"}})) // 2
	commit(t, s, "main", insert("c", "b", "y = 1"))                                                   // 3
	commit(t, s, "main", declare(Artifact{Name: "all", Kind: ArtifactCode, Parts: []string{"code"}}), // 4
		declare(Artifact{Name: "code", Kind: ArtifactExample})) // 5
	commit(t, s, "main", Draft{Kind: KindDeclare, Drop: "all"})         // 6
	commit(t, s, "main", Draft{Kind: KindRollback, To: 4})              // 7
	commit(t, s, "main", Draft{Kind: KindRollback, To: 1})              // 8
	commit(t, s, "main", Draft{Kind: KindRun, Run: &RunSummary{}})      // 9
	if _, err := s.Fork(ctx, "fork", "main", 5, Origin{}); err != nil { // 6 of the fork
		t.Fatal(err)
	}
	commit(t, s, "fork", Draft{Kind: KindDeclare, Drop: "all"}) // 7 of the fork
	for n, want := range []map[string]StepNumber{
		{}, {}, {"code": 2}, {"code": 2}, {"code": 2, "all": 4}, {"code": 5, "all": 4}, {"code": 5},
		{"code": 2, "all": 4}, {}, {},
	} {
		if diff := cmp.Diff(want, declared(t, s, "main", StepNumber(n))); diff != "" {
			t.Errorf("Artifacts(main, %d): (-want +got)\n%s", n, diff)
		}
	}
	for n, want := range map[StepNumber]map[string]StepNumber{
		5: {"code": 5, "all": 4}, 6: {"code": 5, "all": 4}, 7: {"code": 5},
	} {
		if diff := cmp.Diff(want, declared(t, s, "fork", n)); diff != "" {
			t.Errorf("Artifacts(fork, %d): (-want +got)\n%s", n, diff)
		}
	}
	if _, err := s.Artifacts(ctx, "main", 10); CodeOf(err) != CodeNoStep {
		t.Errorf("Artifacts(10) = %v, want %s", err, CodeNoStep)
	}
	d, err := s.Artifacts(ctx, "main", 4)
	if err != nil || d.Name != "all" || len(d.Artifact("code").Blocks) != 1 || d.Artifact("none") != nil {
		t.Errorf("Artifacts(4) = %+v, %v", d, err)
	}
}

// TestArtifactsRefused commits declarations that cannot be; none leaves a step.
func TestArtifactsRefused(t *testing.T) {
	s := checkedOpen(t, storeDir(t), Options{})
	create(t, s, "main")
	commit(
		t,
		s,
		"main",
		declare(Artifact{Name: "a", Kind: ArtifactCode}),
		declare(Artifact{Name: "b", Kind: ArtifactDocs, Needs: []string{"a"}}),
		declare(Artifact{Name: "c", Kind: ArtifactCode, Parts: []string{"b"}}),
	)
	for name, test := range map[string]struct {
		draft Draft
		code  Code
	}{
		"itself": {declare(Artifact{Name: "n", Kind: ArtifactCode, Needs: []string{"n"}}),
			CodeArtifactCycle},
		"contains itself": {declare(Artifact{Name: "n", Kind: ArtifactCode, Parts: []string{"n"}}),
			CodeArtifactCycle},
		"in turn": {declare(Artifact{Name: "a", Kind: ArtifactCode, Needs: []string{"c"}}),
			CodeArtifactCycle},
		"kind":                   {declare(Artifact{Name: "n", Kind: "poem"}), CodeInvalid},
		"no name":                {declare(Artifact{Kind: ArtifactCode}), CodeInvalid},
		"unknown need":           {declare(Artifact{Name: "n", Kind: ArtifactCode, Needs: []string{"x"}}), CodeInvalid},
		"drop of what is not":    {Draft{Kind: KindDeclare, Drop: "x"}, CodeInvalid},
		"drop of what is needed": {Draft{Kind: KindDeclare, Drop: "a"}, CodeInvalid},
		"both": {
			Draft{Kind: KindDeclare, Drop: "c", Artifact: &Artifact{Name: "n", Kind: ArtifactCode}}, CodeInvalid,
		},
		"no declaration": {Draft{Kind: KindRun, Run: &RunSummary{}, Drop: "c"}, CodeInvalid},
	} {
		if _, err := s.Commit(ctx, "main", 3, []Draft{test.draft}); CodeOf(err) != test.code {
			t.Errorf("%s: Commit = %v, want %s", name, err, test.code)
		}
	}
}

// TestArtifactsTampered writes other declarations into history, each with a chain that fits.
func TestArtifactsTampered(t *testing.T) {
	const session = sessionID(1)
	for name, change := range map[string]func(h map[StepNumber]*stepHeader){
		"another declaration": func(h map[StepNumber]*stepHeader) { h[4].Artifacts = 1 },
		"none":                func(h map[StepNumber]*stepHeader) { h[4].Artifacts = 0 },
		"of itself":           func(h map[StepNumber]*stepHeader) { h[3].Declared.All[1].Needs = []string{"code"} },
		"unknown kind":        func(h map[StepNumber]*stepHeader) { h[3].Declared.All[0].Kind = "poem" },
	} {
		t.Run(name, func(t *testing.T) {
			dir := storeDir(t)
			s, err := Open(ctx, dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			create(t, s, "s")
			commit(t, s, "s", declare(Artifact{Name: "all", Kind: ArtifactData}), insert("b", "", "x = 1"),
				declare(Artifact{Name: "code", Kind: ArtifactCode}), insert("c", "b", "x = 1"))
			checkClose(t, s)
			edit(t, filepath.Join(dir, historyFile), func(tx *bbolt.Tx) error {
				headers, bodies := map[StepNumber]*stepHeader{}, map[StepNumber]body{}
				for n := StepNumber(1); n <= 4; n++ {
					h, p, _, err := openStep(
						stepKey(session, n),
						n,
						append([]byte(nil), tx.Bucket(bucketSteps).Get(stepKey(session, n))...),
					)
					if err != nil {
						return err
					}
					headers[n], bodies[n] = &h, p.body
				}
				change(headers)
				prev := headers[1].Prev
				for n := StepNumber(1); n <= 4; n++ {
					headers[n].Prev = prev
					header := encode(*headers[n])
					prev = DigestOf(header)
					key := stepKey(session, n)
					if err := tx.Bucket(bucketSteps).Put(key, packStep(key, header, bodies[n])); err != nil {
						return err
					}
				}
				var head headRecord
				if err := getRecord(tx, bucketHeads, session.key(), &head); err != nil {
					return err
				}
				head.Hash = prev
				return putRecord(tx, bucketHeads, session.key(), head)
			})
			if s, err = Open(ctx, dir, Options{}); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			problems, err := s.Check(ctx)
			if err != nil || len(problems) != 1 || problems[0].Invariant != 13 {
				t.Errorf("Check = %v, %v, want one problem with invariant 13", problems, err)
			}
		})
	}
}
