package sampling

import (
	"flag"
	"hash/crc32"
	"os"
	"strings"
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
