// Package sampling chooses among tests by their names. The choice does not depend on the date, the machine, or which
// other tests there are, so the same commit gives the same tests everywhere.
package sampling
