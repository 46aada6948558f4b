package term

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// leastColumn is the width below which a column of a table is not narrowed.
const leastColumn = 8

// Table prints rows under each other. On a terminal the widest columns are narrowed until the table fits.
func (u *UI) Table(rows [][]string) {
	if !u.OutTerminal {
		u.Write(Columns(rows))
		return
	}
	width := WidthOf(u.Out)
	u.Write(CutLines(Columns(narrowed(rows, width)), width))
}

// narrowed cuts the cells of the widest columns until rows fit a width, if that is possible.
func narrowed(rows [][]string, width int) [][]string {
	var widths []int
	total := 0
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
				total += 2
			}
			if n := visible(cell) - widths[i]; n > 0 {
				widths[i] += n
				total += n
			}
		}
	}
	for total -= 2; total > width; total-- {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= leastColumn {
			break
		}
		widths[widest]--
	}
	var out [][]string
	for _, row := range rows {
		fit := make([]string, len(row))
		for i, cell := range row {
			fit[i] = Cut(cell, widths[i])
		}
		out = append(out, fit)
	}
	return out
}

// CutLines cuts every line of a text at a width.
func CutLines(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Cut(line, width)
	}
	return strings.Join(lines, "\n")
}

// styles match what changes the style of a terminal and takes no place on it.
var styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Cut cuts a line at a width, with a mark. Styles in it are kept.
func Cut(line string, width int) string {
	if visible(line) <= width {
		return line
	}
	var out strings.Builder
	used, last := 0, "" // the last style
	for line != "" {
		if at := styles.FindStringIndex(line); at != nil && at[0] == 0 {
			out.WriteString(line[:at[1]])
			last, line = line[:at[1]], line[at[1]:]
			continue
		}
		r, n := utf8.DecodeRuneInString(line)
		if used += runeWidth(r); used >= width {
			break
		}
		out.WriteString(line[:n])
		line = line[n:]
	}
	out.WriteString("…")
	switch {
	case strings.Contains(last, ownMark()):
		out.WriteString(styled("0"))
	case last != "":
		out.WriteString("\x1b[0m")
	}
	return out.String()
}

// visible is the number of columns that a line takes on a terminal.
func visible(line string) int {
	if strings.Contains(line, "\x1b") {
		line = styles.ReplaceAllString(line, "")
	}
	n := 0
	for _, r := range line {
		n += runeWidth(r)
	}
	return n
}

// wide are the characters that take two columns (East Asian wide, and pictographs).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f900, 0x1f9ff, 1}, {0x20000, 0x3fffd, 1}},
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// Columns lays rows out under each other; the last column is as it is.
func Columns(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(row)-1 {
				widths[i] = max(widths[i], visible(cell))
			}
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += cell
			if i < len(row)-1 {
				line += strings.Repeat(" ", widths[i]-visible(cell)+2)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
