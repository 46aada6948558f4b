package nesting

const (
	maxDepth = 2000    // brackets
	maxText  = 1 << 20 // bytes
)

// TooDeep returns where a text may be nested deeper than a parser should go, and why; at is -1 if it is not.
func TooDeep(source []byte) (at int, why string) {
	if len(source) > maxText {
		return maxText, "the text is too long: keep large data in a file"
	}
	depth := 0
	for i, c := range source {
		switch c {
		case '(', '{', '[':
			if depth++; depth > maxDepth {
				return i, "the brackets are nested too deep"
			}
		case ')', '}', ']':
			depth = max(0, depth-1)
		}
	}
	return -1, ""
}
