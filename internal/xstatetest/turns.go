package xstatetest

import (
	"flag"
	"hash/crc32"
	"os"
	"strconv"
	"strings"
	"time"
)

// turns is into how many parts the catalogues of sessions are divided.
const turns = 3

// Everything reports whether tests leave out nothing and share nothing: XSTATE_TEST_ALL=1.
func Everything() bool { return os.Getenv("XSTATE_TEST_ALL") != "" }

// Turn reports whether it is the turn of a session of a catalogue. One part of the catalogue is tested on a day, so
// that a run of all tests takes half an hour. XSTATE_TEST_DAY, a number, stands for the day. All sessions have their
// turn with XSTATE_TEST_ALL=1, and where -run names sessions.
func Turn(name string) bool {
	return Everything() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") ||
		(Number(name)+day())%turns == 0
}

// Round returns how often all sessions have had their turn. From round to round a session changes its mode.
func Round() int { return day() / turns }

// Number returns a number of a session, which is the same whatever sessions come and go.
func Number(name string) int { return int(crc32.ChecksumIEEE([]byte(name))) }

// day counts days.
func day() int {
	if n, err := strconv.Atoi(os.Getenv("XSTATE_TEST_DAY")); err == nil {
		return n
	}
	return int(time.Now().Unix() / (24 * 60 * 60))
}
