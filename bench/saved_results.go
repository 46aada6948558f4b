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

// recordsName is the file of a bench's folder that results are added to as they come, one a line.
const resultsName = "results.jsonl"

// Records are the results in a folder.
type SavedResults struct {
	Dir     string
	Results []Result
	cut     bool // the last line has no end
}

// OpenRecords reads the results of a folder, which need not be there. A last line that was cut short is left out.
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

// Add keeps a result.
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

// key names what a result is of.
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
