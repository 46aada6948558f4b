package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// FileName is the name of a policy file.
const FileName = sandbox.PolicyName

// Options are what a policy is made of, beside files.
type Options struct {
	Asked   Level // set by the caller; "": files and Default decide
	Default Level // used if no level is set; "": Off
	// Folder is where the program's file lies. Every policy file there and above counts.
	Folder string
	// Workspace is the folder that the program runs in; "": Folder.
	Workspace string
	// Generated: the code was written by a program, such as an agent.
	Generated bool
	// Pass are variables that the program gets because the caller named them.
	Pass []string
	// User is the file of the user; "": there is none. See UserFile. Home is what ~ means.
	User, Home string
	// Store is the folder of the store, which the program must not reach; "": it is not in the workspace.
	Store string
	// Record says whether requests are recorded; nil: files decide, and before them Recorded, the last run.
	Record   *bool
	Recorded bool
	// Lacks says what of the bounds of a box this system cannot enforce; nil: sandbox.Enforceable.
	Lacks func(sandbox.Spec) []sandbox.Lack
}

// UserFile is the policy file of the user of an environment; "" if it has no folder for one.
func UserFile(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "xstate", FileName)
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, userConfig, "xstate", FileName)
	}
	return ""
}

// Read returns the policy for a program. The error of a file names its line and column.
func Read(o Options) (*Policy, error) {
	o.Workspace = real(cmp.Or(o.Workspace, o.Folder))
	m := merge{Options: o, policy: &Policy{user: o.User, Generated: o.Generated, RecordNetwork: o.Recorded}}
	if err := m.user(); err != nil {
		return nil, err
	}
	files, err := m.found()
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if err := m.folder(name); err != nil {
			return nil, err
		}
	}
	for _, name := range o.Pass {
		m.policy.Pass = addNew(m.policy.Pass, name)
	}
	m.level()
	m.ownKey()
	if o.Record != nil {
		m.policy.RecordNetwork = *o.Record
	}
	if p := m.policy; p.Bounds() != nil && o.Workspace == filepath.Dir(o.Workspace) {
		return nil, &state.Error{
			Code:    state.CodeRootFolder,
			Message: fmt.Sprintf("the level %s (%s) bounds nothing in the root folder", p.Level, p.LevelFrom),
			Hint:    "change to a folder of the program, or run it without bounds: `--sandbox off`",
		}
	}
	m.protect(files)
	return m.policy, m.enforceable()
}

// Check reads one file as that of its folder. asUser reads it as the user's own. The policy is the one that it makes if
// it is trusted.
func Check(name string, asUser bool, o Options) (*Policy, error) {
	o.Workspace = real(cmp.Or(o.Workspace, o.Folder))
	m := merge{Options: o, policy: &Policy{user: o.User}}
	m.User = ""
	var err error
	if asUser {
		m.User = name
		err = m.user()
	} else {
		m.trusted = []string{real(filepath.Dir(name))}
		err = m.folder(name)
	}
	if err != nil {
		return nil, err
	}
	m.level()
	return m.policy, m.enforceable()
}

// merge makes a policy of files, from the widest in scope to the nearest.
type merge struct {
	Options
	policy  *Policy
	trusted []string // folders whose files may allow what the user's may
	base    *Setting // the level that a file sets and may set
	raised  *Setting // the strictest level that another file asks for

	launcherFrom string // the file that names the launcher
}

// user reads the file of the user.
func (m *merge) user() error {
	if m.User == "" {
		return nil
	}
	found, there, err := m.read(m.User, "")
	if err != nil || !there {
		return err
	}
	for i := range found {
		if s := &found[i]; s.Field == fieldTrust {
			m.trusted = append(m.trusted, s.path)
		}
	}
	m.apply(found, true)
	return nil
}

// found returns the policy files at and above the program, the uppermost first.
func (m *merge) found() (files []string, err error) {
	for folder := range parents.Up(real(m.Folder)) {
		name := filepath.Join(folder, FileName)
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil || !info.Mode().IsRegular():
			return nil, &state.Error{
				Code: CodeInvalid, Message: "the policy " + name + " cannot be read: it is no regular file",
				Hint: "remove it, or write a file there", Err: err,
			}
		default:
			if own, err := os.Stat(m.User); m.User == "" || err != nil || !os.SameFile(own, info) {
				files = append(files, name)
			}
		}
	}
	slices.Reverse(files)
	return files, nil
}

// folder reads the file of a folder.
func (m *merge) folder(name string) error {
	folder := real(filepath.Dir(name))
	found, _, err := m.read(name, folder)
	if err != nil {
		return err
	}
	for i := range found {
		if s := &found[i]; s.Field == fieldTrust {
			return s.refuse(CodeInvalid, "write it into the file of the user: ~/"+userConfig+"/xstate/"+FileName,
				"sandbox.trust: a folder cannot trust itself")
		}
	}
	m.apply(found, slices.Contains(m.trusted, folder))
	return nil
}

// read reads a file. Relative paths in it begin at folder.
func (m *merge) read(name, folder string) (found []Setting, there bool, err error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, &state.Error{
			Code: CodeInvalid, Message: "the policy " + name + " cannot be read", Hint: "check its permissions",
			Err: err,
		}
	}
	if found, err = settings(name, data); err != nil {
		return nil, true, err
	}
	for i := range found {
		s := &found[i]
		path := resolve
		switch s.field {
		case fieldRemoteCache: // a disk of others may hang
			if strings.Contains(s.Value, "://") {
				continue
			}
			path = absolute
		case fieldOpenAPIDocument:
			if isURL(s.Value) {
				continue
			}
		case fieldRead, fieldWrite, fieldDeny, fieldTrust, fieldModelScript, fieldRemoteKey, fieldRemoteTrust,
			fieldRemoteCA, fieldRemoteCert, fieldRemoteCertKey:
		default:
			continue
		}
		if s.path, err = path(s.Value, folder, m.Home); err != nil {
			return nil, true, s.refuse(CodeInvalid, "write an absolute path, or one that begins with ~/",
				"%s %q: %v", s.Field, s.Value, err)
		}
	}
	if err := cmp.Or(checkGroups(found), checkRules(found)); err != nil {
		return nil, true, err
	}
	return found, true, contradiction(found, m.Workspace)
}

// apply adds the settings of a file. A file that may not allow anything only narrows.
func (m *merge) apply(found []Setting, mayAllow bool) {
	p := m.policy
	if len(found) > 0 {
		p.Files = append(p.Files, found[0].File)
	}
	first := len(p.Settings)
	p.Settings = append(p.Settings, found...)
	p.addCalls(p.Settings[first:], mayAllow)
	rules, budgets := rulesOf(p.Settings[first:], m.rank(found, mayAllow))
	p.Rules, p.Budgets = append(p.Rules, rules...), append(p.Budgets, budgets...)
	for i := first; i < len(p.Settings); i++ {
		s := &p.Settings[i]
		switch s.Field {
		case fieldLevel:
			if mayAllow {
				m.base, m.raised = s, nil
			} else if m.raised == nil || Stricter(Level(s.Value), Level(m.raised.Value)) != Level(m.raised.Value) {
				m.raised = s
			}
		case fieldLauncher:
			p.Launcher = s.Value
		case fieldDeny:
			p.Deny = addNew(p.Deny, s.path)
		case fieldRead:
			m.allow(s, &p.Read, s.path, mayAllow || inAny(s.path, slices.Concat(p.Read, p.Write,
				[]string{m.Workspace})))
		case fieldWrite:
			m.allow(s, &p.Write, s.path, mayAllow || inAny(s.path, append([]string{m.Workspace}, p.Write...)))
		case fieldHosts:
			m.allow(s, &p.Hosts, s.Value, mayAllow || slices.Contains(p.Hosts, s.Value))
		case fieldRecord: // to record takes nothing from anybody, and not to may
			if s.Value == "true" || mayAllow {
				p.RecordNetwork = s.Value == "true"
			} else {
				s.Ignored = s.untrusted()
			}
		case fieldPass:
			m.allow(s, &p.Pass, s.Value, mayAllow || matches(slices.Concat(usual, p.Pass), s.Value))
		case fieldSecrets:
			m.allow(s, &p.Secrets, s.Value, mayAllow || slices.Contains(p.Secrets, s.Value))
		case fieldRemoteCache, fieldRemoteKey, fieldRemoteTrust, fieldRemoteReadOnly, fieldRemoteWait,
			fieldRemoteToken, fieldRemoteCA, fieldRemoteCert, fieldRemoteCertKey, fieldRemoteExecutor,
			fieldRemoteLauncher, fieldRemotePlatform:
			m.share(s, mayAllow)
		case fieldTrust:
		default:
			if len(s.parts) > 2 || s.parts[0] == "budget" { // see addCalls and rulesOf
				continue
			}
			if !setLimit(&p.Limits, s.Field, s.Value, !mayAllow) {
				s.Ignored = "the limit is lower already"
			}
		}
	}
}

// rank is that of a file.
func (m *merge) rank(found []Setting, mayAllow bool) Rank {
	switch {
	case len(found) > 0 && found[0].File == m.User:
		return Own
	case mayAllow:
		return Trusted
	}
	return Stranger
}

// allow adds a value to a list, where its file may do that.
func (m *merge) allow(s *Setting, list *[]string, value string, may bool) {
	if !may {
		s.Ignored = s.untrusted()
		return
	}
	*list = addNew(*list, value)
}

// share applies a setting of the table remote. A stranger's file has no say in whom to believe, and in who gets
// results.
func (m *merge) share(s *Setting, mayAllow bool) {
	if !mayAllow {
		s.Ignored = s.untrusted()
		return
	}
	r := &m.policy.Remote
	switch s.Field {
	case fieldRemoteCache:
		r.Address = cmp.Or(s.path, s.Value)
	case fieldRemoteKey:
		r.Key = s.path
	case fieldRemoteTrust:
		r.Trusted = addNew(r.Trusted, s.path)
	case fieldRemoteReadOnly:
		r.ReadOnly = s.Value == "true"
	case fieldRemoteToken:
		r.Server.Token = s.Value
	case fieldRemoteCA:
		r.Server.Authorities = s.path
	case fieldRemoteCert:
		r.Server.Certificate = s.path
	case fieldRemoteCertKey:
		r.Server.Key = s.path
	case fieldRemoteExecutor:
		r.Executor, r.Launcher = s.Value, nil
	case fieldRemoteLauncher:
		if m.launcherFrom != s.File {
			r.Executor, r.Launcher, m.launcherFrom = "", nil, s.File
		}
		r.Launcher = append(r.Launcher, s.Value)
	case fieldRemotePlatform:
		if r.Platform == nil {
			r.Platform = map[string]string{}
		}
		name, value, _ := strings.Cut(s.Value, "=")
		r.Platform[name] = value
	case fieldRemoteWait:
		r.Wait = must(parseDuration(s.Value))
	}
}

// ownKey makes the key of the user sign, unless another is named.
func (m *merge) ownKey() {
	if r := &m.policy.Remote; r.Address != "" && r.Key == "" && m.User != "" {
		r.Key, r.OwnKey = filepath.Join(filepath.Dir(m.User), "key.pem"), true
	}
}

func addNew(list []string, value string) []string {
	if slices.Contains(list, value) {
		return list
	}
	return append(list, value)
}

// level decides about the level.
func (m *merge) level() {
	p := m.policy
	p.Level, p.LevelFrom = cmp.Or(m.Default, Off), "default"
	if m.base != nil {
		p.Level, p.LevelFrom = Level(m.base.Value), m.base.Place()
	}
	if m.raised != nil {
		if l := Level(m.raised.Value); l != p.Level && Stricter(l, p.Level) == l {
			p.Level, p.LevelFrom = l, m.raised.Place()
		}
	}
	if m.Asked != "" {
		p.Level, p.LevelFrom = m.Asked, "--sandbox"
	}
	for i := range p.Settings {
		if s := &p.Settings[i]; s.Field == fieldLevel && s.Place() != p.LevelFrom && Level(s.Value) != p.Level {
			s.Ignored = "the level is " + string(p.Level) + ": " + p.LevelFrom
			if p.LevelFrom == "default" {
				s.Ignored = s.untrusted()
			}
		}
	}
}

// protect keeps a bounded program from the files that bound its next run: those there are, and those that it could
// create. Others above the workspace it cannot write anyway.
func (m *merge) protect(files []string) {
	p := m.policy
	written := append([]string{m.Workspace}, p.Write...)
	names := slices.Clone(files)
	for folder := range parents.Up(real(m.Folder)) {
		names = append(names, filepath.Join(folder, FileName)) // those of them that it can write are kept below
	}
	for _, folder := range append([]string{m.Workspace}, m.trusted...) {
		names = append(names, filepath.Join(folder, FileName))
	}
	for _, name := range names {
		if inAny(name, written) {
			p.readOnly = addNew(p.readOnly, name)
		}
	}
	if m.User == "" {
		return
	}
	if config := real(filepath.Dir(m.User)); inAny(config, slices.Concat(written, p.Read)) {
		p.hidden = append(p.hidden, config)
	}
}

// enforceable finds out what of the policy this system cannot enforce.
func (m *merge) enforceable() error {
	p := m.policy
	bounds := p.Bounds()
	if bounds == nil {
		return nil
	}
	lacks := m.Lacks
	if lacks == nil {
		lacks = sandbox.Enforceable
	}
	p.Lacks = lacks(sandbox.Spec{Folder: m.Workspace, Store: m.Store, Bounds: bounds})
	if p.Level != Strict || len(p.Lacks) == 0 {
		return nil
	}
	lack := p.Lacks[max(0, slices.IndexFunc(p.Lacks, func(l sandbox.Lack) bool {
		return m.last(l.Field) != nil // a field that was set by name
	}))]
	place := "the level strict (" + p.LevelFrom + ")"
	if s := m.last(lack.Field); s != nil {
		place = s.Place() + ": " + s.Field
	} else if p.LevelFrom != "--sandbox" && p.LevelFrom != "default" {
		place = p.LevelFrom + ": the level strict"
	}
	p.Lacks = nil
	return &state.Error{
		Code:    CodeUnenforceable,
		Message: fmt.Sprintf("%s cannot be enforced on this system: %s", place, lack.Message),
		Hint:    "`xstate doctor` shows what is missing; `--sandbox workspace` runs without it",
	}
}

// last is the last setting of a field that has an effect; nil if there is none.
func (m *merge) last(field string) *Setting {
	for i := len(m.policy.Settings) - 1; i >= 0; i-- {
		if s := &m.policy.Settings[i]; s.Field == field && s.Ignored == "" {
			return s
		}
	}
	return nil
}

// Remarks are what a user should know of a policy before something runs under it.
func (p *Policy) Remarks() (remarks []string) {
	if p == nil {
		return nil
	}
	said := map[string]bool{}
	var folders []string
	for i := range p.Settings {
		s := &p.Settings[i]
		if !strings.HasSuffix(s.Ignored, "is not trusted") {
			continue
		}
		what := fmt.Sprintf("%s %q", s.Field, s.Value)
		if len(s.parts) > 2 && s.parts[0] != "tools" { // one remark for each table
			what = "[" + keyText(s.parts[:2]) + "]"
			if said[s.File+what] {
				continue
			}
			said[s.File+what] = true
		}
		remarks = append(remarks, fmt.Sprintf("%s: %s has no effect: %s", s.Place(), what, s.Ignored))
		folders = addNew(folders, filepath.Dir(s.File))
	}
	for _, folder := range folders {
		remarks = append(remarks, strings.ReplaceAll(TrustHint(folder), "`", ""))
	}
	for _, l := range p.Lacks {
		remarks = append(remarks, fmt.Sprintf("the level %s is not complete on this system: %s", p.Level, l))
	}
	return remarks
}
