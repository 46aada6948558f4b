package runner

import (
	"encoding/json"
	"os"

	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox/secret"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// The program may use secrets, and no record may hold one (Config.Secrets). Texts of records are scrubbed. A content
// that holds a secret is not stored, and counts as collected: what needs it is computed again. A key whose digest would
// reveal a secret to guesses has a digest that depends on a key of the user's.

// withholds reports whether a content must not be stored.
func (e *Engine) withholds(content []byte) bool { return e.cfg.Secrets.Has(content) }

// withholdsFile is withholds for an open file. One that cannot be read is left to its reader.
func (e *Engine) withholdsFile(f *os.File) bool {
	if e.cfg.Secrets == nil {
		return false
	}
	found, _ := e.cfg.Secrets.HasFrom(f)
	return found
}

// withholdsNamed is withholdsFile for a file that the kernel names.
func (e *Engine) withholdsNamed(path string) bool {
	f, err := openIn(e.spool, path)
	if err != nil {
		return false
	}
	defer f.Close()
	return e.withholdsFile(f)
}

// withholdsValue is withholds for what the kernel made of a group.
func (e *Engine) withholdsValue(v *kernel.Stored) bool {
	if e.cfg.Secrets == nil {
		return false
	}
	if e.withholds(v.Data) || v.Path != "" && e.withholdsNamed(v.Path) {
		return true
	}
	var before []byte // the end of the part before: a secret may lie across
	for _, p := range v.Parts {
		if p.Path != "" && e.withholdsNamed(p.Path) || e.withholds(p.Data) {
			return true
		}
		if len(p.Data) > 0 {
			if e.withholds(append(before, p.Data[:min(len(p.Data), seam)]...)) {
				return true
			}
			before = append([]byte{}, p.Data[max(0, len(p.Data)-seam):]...)
		}
	}
	return false
}

// seam is how much of two neighbouring parts is looked at together, in bytes.
const seam = 16 << 10

// dropValue gives up what the kernel made of a group that is not stored.
func (e *Engine) dropValue(v *kernel.Stored) {
	if v.Path != "" {
		discardFrom(e.spool, v.Path)
	}
	for i := range v.Parts {
		p := &v.Parts[i]
		if p.Path != "" {
			discardFrom(e.spool, p.Path)
		}
		p.Release()
		e.parts.Delete(p.Digest)
	}
}

// putOutputs stores outputs without secrets.
func (e *Engine) putOutputs(outputs []output.Output) (state.Digest, error) {
	if e.cfg.Secrets != nil {
		for i := range outputs {
			scrubOutput(e.cfg.Secrets, &outputs[i])
		}
	}
	return e.cfg.Store.PutOutputs(outputs)
}

func scrubOutput(s *secret.Set, o *output.Output) {
	o.Text = s.Scrub(o.Text)
	for media, data := range o.Data {
		o.Data[media] = s.Scrub(data)
	}
}

// scrubTrace takes secrets out of a trace. It reports false if a secret cannot be taken out, such as from the name of a
// file.
func (e *Engine) scrubTrace(t *state.Trace) (clean bool) {
	s := e.cfg.Secrets
	if s == nil {
		return true
	}
	for k, info := range t.Info {
		info.Repr = s.ScrubClipped(info.Repr)
		t.Info[k] = info
	}
	scrubError(s, t.Err)
	if t.Ending != nil {
		scrubError(s, t.Ending.Err)
	}
	text, err := json.Marshal(t)
	return err == nil && !s.Has(text)
}

func scrubError(s *secret.Set, e *state.ExecError) {
	if e != nil {
		e.Message = s.Scrub(e.Message)
		s.ScrubAll(e.Traceback)
	}
}

// scrubbed makes a sink show no secret. A text that may be the beginning of one is shown with what follows it.
func (e *Engine) scrubbed(sink kernel.Sink) kernel.Sink {
	s, show, end := e.cfg.Secrets, sink.Show, sink.End
	if s == nil || show == nil {
		return sink
	}
	held := map[string]string{}
	sink.Show = func(o output.Output) {
		if o.Data != nil {
			scrubOutput(s, &o)
			show(o)
			return
		}
		text := s.Scrub(held[o.Kind] + o.Text)
		n := len(text) - s.Held(text)
		if held[o.Kind] = text[n:]; n > 0 {
			o.Text = text[:n]
			show(o)
		}
	}
	if end != nil {
		sink.End = func(r kernel.Result) {
			for kind, text := range held {
				if text != "" {
					show(output.Output{Kind: kind, Text: text})
				}
			}
			clear(held)
			end(r)
		}
	}
	return sink
}

// environDigest is the digest of the value of a variable.
func (e *Engine) environDigest(value *string) state.Digest {
	if value == nil {
		return state.Absent
	}
	if d, ok := e.cfg.Secrets.Digest(*value); ok {
		return state.Digest(d)
	}
	return basestate.EnvironDigest(*value)
}
