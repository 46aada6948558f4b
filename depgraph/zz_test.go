package depgraph

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestZZ(t *testing.T) {
	src, _ := os.ReadFile(os.Getenv("DUMP"))
	if len(src) == 0 {
		t.Skip()
	}
	for _, part := range strings.Split(string(src), "\n#---\n") {
		f, err := Analyze([]byte(part), Python)
		fmt.Println("=====", part)
		if err != nil {
			fmt.Println("   ERR", err)
			continue
		}
		for _, n := range f.Nodes {
			tk := n.Tokens
			_ = tk
			b, _ := json.Marshal(n)
			m := map[string]any{}
			json.Unmarshal(b, &m)
			for k, v := range m {
				if v == nil || v == false || k == "End" || k == "Start" || k == "EndLine" || k == "Line" || k == "Tokens" {
					delete(m, k)
				}
			}
			b, _ = json.Marshal(m)
			fmt.Println("   ", string(b))
		}
	}
}
