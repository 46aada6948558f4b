package checkers

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Each checker prints findings in a form of its own.

func readRuff(text string) (found []Finding, err error) {
	var printed []struct {
		Code, Message, Filename, Severity string
		Location                          struct{ Row, Column int }
	}
	err = json.Unmarshal([]byte(text), &printed)
	for _, p := range printed {
		severity := "warning"
		if p.Code == "" || p.Code == "invalid-syntax" {
			severity = "error"
		}
		found = append(found, Finding{Rule: p.Code, Severity: severity, Message: p.Message, File: p.Filename,
			Line: p.Location.Row, Column: p.Location.Column})
	}
	return found, err
}

// readMypy reads a document a line. Columns count from 0, and -1 is none.
func readMypy(text string) (found []Finding, err error) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "{") {
			continue // a summary, or what a plugin prints
		}
		var p struct {
			File, Message, Code, Severity, Hint string
			Line, Column                        int
		}
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			return nil, err
		}
		if p.Hint != "" {
			p.Message += "\n" + p.Hint
		}
		found = append(found, Finding{Rule: p.Code, Severity: p.Severity, Message: p.Message, File: p.File,
			Line: p.Line, Column: p.Column + 1})
	}
	return found, nil
}

// readTy reads a report of code quality, as GitLab defines it.
func readTy(text string) (found []Finding, err error) {
	var printed []struct {
		CheckName   string `json:"check_name"`
		Description string
		Severity    string
		Location    struct {
			Path      string
			Positions struct{ Begin struct{ Line, Column int } }
		}
	}
	err = json.Unmarshal([]byte(text), &printed)
	for _, p := range printed {
		severity := "error"
		switch p.Severity {
		case "info":
			severity = "note"
		case "minor":
			severity = "warning"
		}
		found = append(found, Finding{Rule: p.CheckName, Severity: severity,
			Message: strings.TrimPrefix(p.Description, p.CheckName+": "), File: p.Location.Path,
			Line: p.Location.Positions.Begin.Line, Column: p.Location.Positions.Begin.Column})
	}
	return found, err
}

// readPyright reads places that count from 0.
func readPyright(text string) (found []Finding, err error) {
	var printed struct {
		GeneralDiagnostics []struct {
			File, Severity, Message, Rule string
			Range                         struct{ Start struct{ Line, Character int } }
		}
	}
	if i := strings.Index(text, "{"); i > 0 {
		text = text[i:] // after what a wrapper prints about itself
	}
	err = json.Unmarshal([]byte(text), &printed)
	for _, p := range printed.GeneralDiagnostics {
		severity := p.Severity
		if severity == "information" {
			severity = "note"
		}
		found = append(found, Finding{Rule: p.Rule, Severity: severity, Message: p.Message, File: p.File,
			Line: p.Range.Start.Line + 1, Column: p.Range.Start.Character + 1})
	}
	return found, err
}

// readPylint reads columns that count from 0.
func readPylint(text string) (found []Finding, err error) {
	var printed []struct {
		Type, Path, Symbol, Message string
		Line, Column                int
	}
	err = json.Unmarshal([]byte(text), &printed)
	for _, p := range printed {
		severity := map[string]string{"fatal": "error", "error": "error", "warning": "warning"}[p.Type]
		if severity == "" {
			severity = "note" // convention, refactor, info
		}
		found = append(found, Finding{Rule: p.Symbol, Severity: severity, Message: p.Message, File: p.Path,
			Line: p.Line, Column: p.Column + 1})
	}
	return found, err
}

func readESLint(text string) (found []Finding, err error) {
	var printed []struct {
		FilePath string
		Messages []struct {
			RuleID                 *string `json:"ruleId"`
			Severity, Line, Column int
			Message                string
		}
	}
	err = json.Unmarshal([]byte(text), &printed)
	for _, file := range printed {
		for _, p := range file.Messages {
			f := Finding{Severity: "warning", Message: p.Message, File: file.FilePath, Line: p.Line, Column: p.Column}
			if p.Severity == 2 {
				f.Severity = "error"
			}
			if p.RuleID != nil {
				f.Rule = *p.RuleID
			}
			found = append(found, f)
		}
	}
	return found, err
}

// tscLine is a finding of tsc, which prints text alone. Lines that follow begin with a space.
var tscLine = regexp.MustCompile(`^(?:(.+)\((\d+),(\d+)\): )?(error|warning) (TS\d+): (.*)$`)

func readTSC(text string) (found []Finding, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		m := tscLine.FindStringSubmatch(line)
		switch {
		case m != nil && m[1] == "":
			return nil, fmt.Errorf("%s", line) // about the configuration
		case m != nil:
			f := Finding{Rule: m[5], Severity: m[4], Message: m[6], File: m[1]}
			f.Line, _ = strconv.Atoi(m[2])
			f.Column, _ = strconv.Atoi(m[3])
			found = append(found, f)
		case strings.HasPrefix(line, " ") && len(found) > 0:
			found[len(found)-1].Message += "\n" + line
		}
	}
	return found, nil
}

func readShellCheck(text string) (found []Finding, err error) {
	var printed []struct {
		File, Level, Message string
		Line, Column, Code   int
	}
	err = json.Unmarshal([]byte(text), &printed)
	for _, p := range printed {
		severity := p.Level
		if severity == "info" || severity == "style" {
			severity = "note"
		}
		found = append(found, Finding{Rule: fmt.Sprintf("SC%d", p.Code), Severity: severity, Message: p.Message,
			File: p.File, Line: p.Line, Column: p.Column})
	}
	return found, err
}
