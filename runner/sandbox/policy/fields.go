package policy

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/remote"
)

// kind is what a field of a policy file holds.
type kind int

const (
	words    kind = iota // a list of strings
	word                 // a string
	duration             // a string such as "60s"
	size                 // a string such as "4GiB"
	count                // a whole number above 0
	money                // a number, 0 or above
	flag                 // true or false
)

// String names a kind as messages do.
func (k kind) String() string {
	return [...]string{"a list of strings", "a string", "a duration in quotes", "a size in quotes", "a whole number",
		"a number", "true or false"}[k]
}

// example is a value of a kind, as a file has it.
func (k kind) example() string {
	return [...]string{`["…"]`, `"…"`, `"60s"`, `"4GiB"`, `64`, `0.25`, `true`}[k]
}

// field is one key that a policy file may have.
type field struct {
	kind  kind
	check func(text string) error // for each string; nil: any will do
	hint  string                  // what would work instead of what check refuses
}

// Names of fields. A part that is * is a name that the file's author chose, as in [mcp.NAME]. A part that is # numbers
// tables of one name, as [[NAME]] has them.
const (
	fieldLevel    = "sandbox.level"
	fieldLauncher = "sandbox.launcher"
	fieldTrust    = "sandbox.trust"
	fieldRead     = "files.read"
	fieldWrite    = "files.write"
	fieldDeny     = "files.deny"
	fieldHosts    = "network.hosts"
	fieldRecord   = "network.record"
	fieldPass     = "environment.pass"
	fieldSecrets  = "environment.secrets"
	fieldCPU      = "limits.cpu"
	fieldWall     = "limits.wall"
	fieldMemory   = "limits.memory"
	fieldProcs    = "limits.processes"
	fieldFileSize = "limits.file_size"
	fieldFiles    = "limits.files"
	fieldOutput   = "limits.output"

	fieldRemoteCache    = "remote.cache"
	fieldRemoteKey      = "remote.key"
	fieldRemoteTrust    = "remote.trust"
	fieldRemoteReadOnly = "remote.read_only"
	fieldRemoteWait     = "remote.wait"
	fieldRemoteToken    = "remote.token"
	fieldRemoteCA       = "remote.authorities"
	fieldRemoteCert     = "remote.certificate"
	fieldRemoteCertKey  = "remote.certificate_key"
	fieldRemoteExecutor = "remote.executor"
	fieldRemoteLauncher = "remote.launcher"
	fieldRemotePlatform = "remote.platform"

	fieldMCPCommand = "mcp.*.command"
	fieldMCPURL     = "mcp.*.url"
	fieldMCPEnv     = "mcp.*.env"
	fieldMCPHeader  = "mcp.*.headers.*"
	fieldMCPTimeout = "mcp.*.timeout"

	fieldOpenAPIDocument = "openapi.*.document"
	fieldOpenAPIBase     = "openapi.*.base"
	fieldOpenAPIHeader   = "openapi.*.headers.*"
	fieldOpenAPITimeout  = "openapi.*.timeout"

	fieldModelAPI     = "models.*.api"
	fieldModelURL     = "models.*.url"
	fieldModelModel   = "models.*.model"
	fieldModelKey     = "models.*.key"
	fieldModelInput   = "models.*.price.input"
	fieldModelOutput  = "models.*.price.output"
	fieldModelScript  = "models.*.script"
	fieldModelTimeout = "models.*.timeout"

	fieldToolClass    = "tools.*.class"
	fieldToolScope    = "tools.*.scope"
	fieldToolLifetime = "tools.*.lifetime"
	fieldToolUndo     = "tools.*.undo"
	fieldToolIdentity = "tools.*.identity"
	fieldToolPrice    = "tools.*.price"
	fieldToolTimeout  = "tools.*.timeout"

	fieldRuleWhen   = "rule.#.when"
	fieldRuleThen   = "rule.#.then"
	fieldRuleOn     = "rule.#.on"
	fieldRuleReason = "rule.#.reason"
)

const (
	timeHint   = "write a time above 0 with its unit, such as \"60s\" or \"5m\""
	urlHint    = "write an address that begins with http:// or https://"
	headerHint = "name the variable of the environment that holds the secret, as in \"Bearer $TOKEN\""
)

const cacheHint = "write the path of a folder that others use, too, grpc://HOST:PORT, or s3://BUCKET/PREFIX"

const launcherHint = "write a command that calls xstate execute, " +
	"such as [\"srun\", \"xstate\", \"execute\", \"{action}\", \"--cas\", \"{cache}\"]"

const pathHint = "write a path such as \"data\", \"/srv/data\" or \"~/data\"; a folder stands for all that is in it"

// fields are all that a policy file may have.
var fields = withBudgets(map[string]field{
	fieldLevel:    {word, checkLevel, "write one of " + Levels()},
	fieldLauncher: {word, checkLauncher, "write \"bwrap\", or leave it out"},
	fieldTrust:    {words, checkPath, "write the path of a folder, such as \"~/analysis\""},
	fieldRead:     {words, checkPath, pathHint},
	fieldWrite:    {words, checkPath, pathHint},
	fieldDeny:     {words, checkPath, pathHint},
	fieldHosts:    {words, checkHost, "write a name such as \"pypi.org\", \"*.example.com\" or \"10.0.0.1:8080\""},
	fieldRecord:   {kind: flag},
	fieldPass:     {words, checkVariable, "write a name such as \"LANG\", or the beginning of names: \"HF_*\""},
	fieldSecrets:  {words, checkSecret, "write the name of the variable that holds it, such as \"OPENAI_API_KEY\""},
	fieldCPU:      {duration, checkDuration, timeHint},
	fieldWall:     {duration, checkDuration, timeHint},
	fieldMemory:   {size, checkSize, "write a size above 0 with its unit, such as \"500MB\" or \"4GiB\""},
	fieldProcs:    {kind: count},
	fieldFileSize: {size, checkSize, "write a size above 0 with its unit, such as \"500MB\" or \"4GiB\""},
	fieldFiles:    {kind: count},
	fieldOutput:   {size, checkSize, "write a size above 0 with its unit, such as \"500MB\" or \"4GiB\""},

	fieldRemoteCache:    {word, checkCache, cacheHint},
	fieldRemoteKey:      {word, checkPath, "write the path of a private key"},
	fieldRemoteTrust:    {words, checkPath, "write the paths of public keys, such as \"~/keys/ci.pub\""},
	fieldRemoteReadOnly: {kind: flag},
	fieldRemoteWait:     {duration, checkDuration, timeHint},
	fieldRemoteToken:    {word, checkSecret, "write the name of the variable that holds it, such as \"CACHE_TOKEN\""},
	fieldRemoteCA:       {word, checkPath, "write the path of a file with certificates in PEM"},
	fieldRemoteCert:     {word, checkPath, "write the path of a file with a certificate in PEM"},
	fieldRemoteCertKey:  {word, checkPath, "write the path of a file with a key in PEM"},
	fieldRemoteExecutor: {word, checkExecutor, "write grpc://HOST:PORT, with a path for an instance"},
	fieldRemoteLauncher: {words, checkSome, launcherHint},
	fieldRemotePlatform: {words, checkProperty, "write properties as NAME=VALUE, such as [\"OSFamily=linux\"]"},

	fieldMCPCommand: {words, checkSome, "write a program and its arguments, such as [\"npx\", \"-y\", \"…\"]"},
	fieldMCPURL:     {word, checkURL, urlHint},
	fieldMCPEnv:     {words, checkVariable, "write a name such as \"LANG\", or the beginning of names: \"HF_*\""},
	fieldMCPHeader:  {word, checkHeader, headerHint},
	fieldMCPTimeout: {duration, checkDuration, timeHint},

	fieldOpenAPIDocument: {word, checkSome, "write the path or the address of an OpenAPI document"},
	fieldOpenAPIBase:     {word, checkURL, urlHint},
	fieldOpenAPIHeader:   {word, checkHeader, headerHint},
	fieldOpenAPITimeout:  {duration, checkDuration, timeHint},

	fieldModelAPI:     {word, oneOf(APIs), "write one of " + strings.Join(APIs, ", ")},
	fieldModelURL:     {word, checkURL, urlHint},
	fieldModelModel:   {word, checkSome, "write the name that the interface has for the model"},
	fieldModelKey:     {word, checkSecret, "write the name of the variable that holds it, such as \"OPENAI_API_KEY\""},
	fieldModelInput:   {money, checkMoney, "write US dollars for a million tokens, such as 2.5"},
	fieldModelOutput:  {money, checkMoney, "write US dollars for a million tokens, such as 10"},
	fieldModelScript:  {word, checkPath, "write the path of a file with a JSON object in each line"},
	fieldModelTimeout: {duration, checkDuration, timeHint},

	fieldRuleWhen:   {word, checkSome, "write an expression, such as \"call.tool == 'order'\""},
	fieldRuleThen:   {word, oneOf([]string{"allow", "ask", "deny"}), "write allow, ask or deny"},
	fieldRuleOn:     {word, oneOf([]string{"call", "program"}), "write call or program"},
	fieldRuleReason: {word, checkSome, "say why, for people"},

	fieldToolClass:    {word, oneOf(Classes), "write one of " + strings.Join(Classes, ", ")},
	fieldToolScope:    {word, checkSome, "write a name; calls of one scope see what its others change"},
	fieldToolLifetime: {duration, checkDuration, timeHint},
	fieldToolUndo:     {word, checkSome, "write the name of the tool that takes the effect back"},
	fieldToolIdentity: {words, checkSome, "write the arguments that tell calls apart, such as [\"order\", \"amount\"]"},
	fieldToolPrice:    {money, checkMoney, "write US dollars for a call, such as 0.01"},
	fieldToolTimeout:  {duration, checkDuration, timeHint},
})

// The amounts that budgets count. CallsOf is the beginning of those of one tool: "calls.search".
const (
	BudgetUSD        = "usd" // in millionths of a US dollar
	BudgetTokens     = "tokens"
	BudgetCalls      = "calls"
	BudgetCallsOf    = "calls."
	BudgetWall       = "wall" // in nanoseconds, as CPU
	BudgetCPU        = "cpu"
	BudgetExecutions = "executions"
)

const budgetHint = `write such as usd = 1.50, tokens = 100000, calls = 50, "calls.search" = 10, wall = "10m", ` +
	`cpu = "5m", ` +
	`executions = 200; in [budget.soft] what only warns`

// withBudgets adds the fields of budgets. Time and executions are those of a run alone.
func withBudgets(all map[string]field) map[string]field {
	calls := map[string]field{
		BudgetUSD: {money, checkMoney, budgetHint}, BudgetTokens: {kind: count}, BudgetCalls: {kind: count},
		"*": {kind: count}, // "calls.search"
	}
	run := maps.Clone(calls)
	maps.Copy(run, map[string]field{
		BudgetWall: {duration, checkDuration, timeHint}, BudgetCPU: {duration, checkDuration, timeHint},
		BudgetExecutions: {kind: count},
	})
	tables := map[string]map[string]field{"budget": run, "budget.session": calls, "budget.agent.*": calls}
	for table, limits := range tables {
		for name, f := range limits {
			all[table+"."+name], all[table+".soft."+name] = f, f
		}
	}
	return all
}

// tables are the names of the tables of a policy file, as fields are named.
var tables = func() []string {
	names := map[string]bool{}
	for name := range fields {
		for i := strings.LastIndexByte(name, '.'); i >= 0; i = strings.LastIndexByte(name, '.') {
			name = name[:i]
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}()

// named finds what has the parts of a key among names of fields or tables; "" if nothing does. Of several the one that
// has more of them literally.
func named(names iter.Seq[string], parts []string) (found string) {
	for name := range names {
		if slices.EqualFunc(strings.Split(name, "."), parts, func(want, part string) bool {
			_, err := strconv.Atoi(part)
			return want == part || want == "*" && part != "" || want == "#" && err == nil
		}) && (found == "" || strings.Count(name, "*") < strings.Count(found, "*")) {
			found = name
		}
	}
	return found
}

func checkLevel(text string) error {
	if _, ok := ParseLevel(text); !ok {
		return errors.New("there is no such level")
	}
	return nil
}

func checkLauncher(text string) error {
	if text != "" && text != "bwrap" {
		return errors.New("there is no such launcher")
	}
	return nil
}

func checkCache(text string) error {
	if !strings.Contains(text, "://") {
		return checkPath(text)
	}
	if remote.IsBucket(text) {
		return remote.CheckBucket(text)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "grpc" && u.Scheme != "grpcs" || u.Hostname() == "" || u.Port() == "" {
		return errors.New("there is no such kind of cache")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("an address has a host, a port and a path alone")
	}
	return nil
}

func checkExecutor(text string) error {
	if !strings.Contains(text, "://") {
		return errors.New("there is no such kind of executor")
	}
	return checkCache(text)
}

func checkProperty(text string) error {
	if name, _, ok := strings.Cut(text, "="); !ok || name == "" {
		return errors.New("a property has a name and a value")
	}
	return nil
}

func checkPath(text string) error {
	switch {
	case text == "":
		return errors.New("the path is empty")
	case strings.ContainsAny(text, "*?["):
		return errors.New("patterns are not understood here")
	case strings.ContainsRune(text, 0):
		return errors.New("a path has no zero byte")
	}
	return nil
}

// label is a part of the name of a host, between dots.
const label = `[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?`

var hostName = regexp.MustCompile(`^(\*\.)?` + label + `(\.` + label + `)*$`)

func checkHost(text string) error {
	host, port := text, ""
	if i := strings.LastIndexByte(text, ':'); i >= 0 && (strings.Count(text, ":") == 1 || strings.Contains(text,
		"]:")) {
		host, port = text[:i], text[i+1:]
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return errors.New("the port is no number from 1 to 65535")
		}
	}
	switch {
	case strings.Contains(text, "/"):
		return errors.New("this is no name of a host")
	case host == "*":
		return errors.New("all hosts at once cannot be allowed")
	case net.ParseIP(strings.Trim(host, "[]")) == nil && !hostName.MatchString(host):
		return errors.New("this is no name of a host")
	}
	return nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\*?$`)

func checkVariable(text string) error {
	if !variableName.MatchString(text) {
		return errors.New("this is no name of a variable")
	}
	return nil
}

func checkSecret(text string) error {
	if err := checkVariable(text); err != nil || strings.HasSuffix(text, "*") {
		return errors.New("this is no name of one variable")
	}
	return nil
}

func checkDuration(text string) error { _, err := parseDuration(text); return err }
func checkSize(text string) error     { _, err := parseSize(text); return err }

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("this is no time")
	}
	return d, nil
}

// units are those of sizes: the decimal ones, and the powers of 1024.
var units = map[string]float64{"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}

func parseSize(text string) (int64, error) {
	number := strings.TrimRight(text, "kKMGTiIbB ")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	unit, known := units[strings.ToUpper(strings.TrimSpace(text[len(number):]))]
	if err != nil || !known || n <= 0 || n*unit >= math.MaxInt64 || n*unit < 1 {
		return 0, errors.New("this is no size")
	}
	return int64(n * unit), nil
}

// resolve returns the path that a setting means: absolute, and without symbolic links as far as it exists. A relative
// path begins at folder; "": it may not be relative.
func resolve(text, folder, home string) (string, error) {
	path, err := absolute(text, folder, home)
	if err != nil {
		return "", err
	}
	return real(path), nil
}

// absolute is resolve without a look at the disk.
func absolute(text, folder, home string) (string, error) {
	switch {
	case text == "~" || strings.HasPrefix(text, "~/"):
		if home == "" {
			return "", errors.New("the user's home is not known")
		}
		text = filepath.Join(home, text[1:])
	case strings.HasPrefix(text, "~"):
		return "", errors.New("the home of another user is not looked up")
	case filepath.IsAbs(text):
	case folder == "":
		return "", errors.New("a relative path has no meaning in the file of the user")
	case !filepath.IsLocal(text):
		return "", fmt.Errorf("the path leaves the folder %s", folder)
	default:
		text = filepath.Join(folder, text)
	}
	return filepath.Clean(text), nil
}

// real resolves the symbolic links of a path, of which the end need not exist.
func real(path string) string {
	rest := ""
	for at := range parents.Up(path) {
		if found, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(found, rest)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
	return filepath.Clean(path)
}

func parseCount(text string) (int, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 32)
	return int(n), err
}
