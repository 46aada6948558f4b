package bash

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// elements reads the declaration of an array.
func elements(d declaration) (keys, values []string, why string) {
	unread := ": this " + kindOf(d)
	if d.value == "" {
		return nil, nil, ""
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader("x"+d.value), "")
	if err != nil || len(file.Stmts) != 1 {
		return nil, nil, unread
	}
	body := strings.TrimSuffix(strings.TrimPrefix(d.value, "=("), ")")
	for body = strings.TrimSpace(body); body != ""; body = strings.TrimSpace(body) {
		end := keyEnd(body)
		if end < 0 {
			return nil, nil, unread
		}
		key, is := unquote(body[1:end])
		if !is {
			return nil, nil, unread
		}
		rest := body[end+2:]
		n := wordEnd(rest)
		value, is := unquote(rest[:n])
		switch {
		case !is:
			return nil, nil, unread
		case !isText(key):
			return nil, nil, ": a key that is not UTF-8"
		case !isText(value):
			return nil, nil, "[" + key + "]" + notText
		}
		keys, values, body = append(keys, key), append(values, value), rest[n:]
	}
	return keys, values, ""
}

// keyEnd returns where the bracket after a key is.
func keyEnd(text string) int {
	if text == "" || text[0] != '[' {
		return -1
	}
	if strings.HasPrefix(text[1:], `"`) || strings.HasPrefix(text[1:], "$'") {
		i := 1 + quotedLength(text[1:])
		if strings.HasPrefix(text[i:], "]=") {
			return i
		}
		return -1
	}
	return strings.Index(text, "]=")
}

// quotedLength returns the length of a word in quotes.
func quotedLength(text string) int {
	i := strings.IndexAny(text, `"'`)
	quote := text[i]
	for i++; i < len(text) && text[i] != quote; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(text))
}

// wordEnd returns the length of the word that a text begins with.
func wordEnd(text string) int {
	if strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "$'") {
		return quotedLength(text)
	}
	if at := strings.IndexAny(text, " )"); at >= 0 {
		return at
	}
	return len(text)
}

const notText = ": text that is not UTF-8"

// isText reports whether a text has a form in JSON.
func isText(text string) bool { return strings.ToValidUTF8(text, "") == text }
