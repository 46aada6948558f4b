package sampling

import (
	"flag"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// All reports whether tests leave out nothing and share nothing: XSTATE_TEST_ALL=1, which make test-all sets.
func All() bool { return os.Getenv("XSTATE_TEST_ALL") != "" }

// Of returns a number from 0 to n-1 that belongs to the name.
func Of(name string, n int) int { return int(crc32.ChecksumIEEE([]byte(name))) % n }

// Sampled reports whether a name is in the sample of about one in n. All names are with XSTATE_TEST_ALL=1, and where
// -run names a subtest.
func Sampled(name string, n int) bool {
	return All() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") || Of(name, n) == 0
}

// Seed returns the seed of a random test, and logs it: the test's own, XSTATE_TEST_SEED, or with XSTATE_TEST_ALL=1 a
// new one each time. A fault that a seed finds is kept as a separate test.
func Seed(t testing.TB) (seed uint64) {
	t.Helper()
	switch text := os.Getenv("XSTATE_TEST_SEED"); {
	case text != "":
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("XSTATE_TEST_SEED: %v", err)
		}
	case All():
		seed = rand.Uint64()
	default:
		seed = uint64(crc32.ChecksumIEEE([]byte(t.Name())))
	}
	t.Logf("XSTATE_TEST_SEED=%d", seed)
	return seed
}
