package turns

import (
	"flag"
	"hash/crc32"
	"os"
	"strconv"
	"strings"
	"time"
)

// parts is into how many parts a catalogue of sessions is divided.
const parts = 3

// Everything reports whether tests leave out nothing and share nothing: XSTATE_TEST_ALL=1.
func Everything() bool { return os.Getenv("XSTATE_TEST_ALL") != "" }

// Come reports whether the turn of a session of a catalogue has come. One part of the catalogue is tested on a day, so
// that a run of all tests takes less than an hour. XSTATE_TEST_DAY, a number, stands for the day. All sessions have
// their turn with XSTATE_TEST_ALL=1, and where -run names sessions.
func Come(name string) bool {
	return Everything() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") ||
		(Number(name)+day())%parts == 0
}

// Round returns how often all sessions have had their turn. From round to round a session changes its mode.
func Round() int { return day() / parts }

// Number returns a number of a session, which is the same whatever sessions come and go.
func Number(name string) int { return int(crc32.ChecksumIEEE([]byte(name))) }

// day counts days.
func day() int {
	if n, err := strconv.Atoi(os.Getenv("XSTATE_TEST_DAY")); err == nil {
		return n
	}
	return int(time.Now().Unix() / (24 * 60 * 60))
}
