package serve

import (
	"runtime"
	"testing"
)

// TestAllowance leaves interpreters what they take while the machine has memory, and never more than the budget.
func TestAllowance(t *testing.T) {
	free, all, ok := freeMemory()
	if runtime.GOOS == "linux" && (!ok || free <= 0 || free > all || all < 64<<20) {
		t.Fatalf("free, all, ok = %d, %d, %v", free, all, ok)
	}
	const much = 1 << 60
	if got := allowance(1000, much); got != 1000 {
		t.Errorf("allowance of a budget of 1000 = %d", got)
	}
	if ok && allowance(much, 0) > all {
		t.Errorf("allowance of a large budget = %d, more than the machine has, %d", allowance(much, 0), all)
	}
	if got := machineMemory(); got <= 0 || ok && got > 2*all {
		t.Errorf("machineMemory() = %d of %d", got, all)
	}
}
