package bench

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// resultsName is the file in a bench's folder to which results are appended, one per line.
const resultsName = "results.jsonl"

// SavedResults are the results in a folder, so that a bench that was stopped can continue.
type SavedResults struct {
	Dir     string
	Results []Result
	cut     bool // the last line is incomplete
}

// OpenSavedResults reads the results in a folder, which need not exist. It skips an incomplete last line: a bench was
// killed while it wrote it.
func OpenSavedResults(dir string) (*SavedResults, error) {
	r := &SavedResults{Dir: dir}
	f, err := os.Open(filepath.Join(dir, resultsName))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			r.cut = len(line) > 0
			return r, nil
		}
		var one Result
		if json.Unmarshal(line, &one) == nil {
			r.Results = append(r.Results, one)
		}
	}
}

// Add appends a result to the file.
func (r *SavedResults) Add(one Result) error {
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(r.Dir, resultsName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	data, err := json.Marshal(one)
	if r.cut {
		data, r.cut = append([]byte{'\n'}, data...), false
	}
	if err == nil {
		_, err = f.Write(append(data, '\n'))
	}
	return errors.Join(err, f.Close())
}

// resultKey identifies what a result measures: program, edits, strategies and interpreter. An earlier result with the
// same key need not be measured again.
func resultKey(p *Program, o *Options) string {
	h := sha256.New()
	fmt.Fprintf(h, "bench 2\n%q %q\n%s\n%v\n", p.Name, p.File, o.Python, o.Strategies)
	for _, version := range o.Peers {
		fmt.Fprintf(h, "peer %s\n", version)
	}
	for _, v := range p.Versions {
		fmt.Fprintf(h, "version %s %d\n", v.Edit, len(v.Blocks))
		for _, b := range v.Blocks {
			fmt.Fprintf(h, "%q %q %q\n", b.ID, b.Dialect, b.Source)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}
