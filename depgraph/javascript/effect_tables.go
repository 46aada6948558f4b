package javascript

import (
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
)

// These tables serve only to predict order and to plan; an execution observes what really happened. A missing library
// costs a prediction, never a wrong result.

// effectCalls maps the dotted names of functions and classes to their effect.
var effectCalls = depgraph.EffectsByName(map[depgraph.EffectKind]string{
	depgraph.EffectCwd: `process.cwd process.chdir path.resolve`,
	depgraph.EffectRandom: `Math.random crypto.randomUUID crypto.randomBytes crypto.randomInt crypto.randomFillSync
		crypto.getRandomValues crypto.webcrypto.getRandomValues`,
	depgraph.EffectClock: `Date.now performance.now process.hrtime process.hrtime.bigint process.uptime
		perf_hooks.performance.now`,
	depgraph.EffectNetwork: `fetch WebSocket EventSource XMLHttpRequest`,
	depgraph.EffectInput:   `prompt readline.createInterface readline/promises.createInterface`,
})

// effectModules maps modules to the effect of every call into them.
var effectModules = depgraph.EffectsByName(map[depgraph.EffectKind]string{
	depgraph.EffectFile:       `fs fs/promises fs-extra graceful-fs`,
	depgraph.EffectSubprocess: `child_process worker_threads cluster execa zx`,
	depgraph.EffectNetwork: `http https http2 net dgram tls dns dns/promises axios undici node-fetch got ws
		superagent`,
})

// effectValues maps dotted names that have an effect without a call.
var effectValues = depgraph.EffectsByName(map[depgraph.EffectKind]string{
	depgraph.EffectEnviron: `process.env`,
	depgraph.EffectInput:   `process.stdin`,
})

// commonModules are names that usually hold a module, even if the block does not import it.
var commonModules = map[string]string{
	"fs": "fs", "fsp": "fs/promises", "path": "path", "crypto": "crypto", "child_process": "child_process",
	"http": "http", "https": "https", "axios": "axios",
}

// dynamicCalls are functions that read or bind names that the text does not show.
var dynamicCalls = map[string]string{
	"eval": "eval", "Function": "Function", "vm.runInThisContext": "vm", "vm.runInContext": "vm", "vm.Script": "vm",
}

// standard holds the language's own names. Their methods change no such value.
var standard = set(`console Math JSON Object Array Number String Boolean Symbol BigInt Promise Reflect Date RegExp Error
	Map Set WeakMap WeakSet ArrayBuffer SharedArrayBuffer DataView Uint8Array Int8Array Uint16Array Int16Array
	Uint32Array Int32Array Float32Array Float64Array BigInt64Array BigUint64Array Uint8ClampedArray Intl Atomics Proxy
	Buffer process performance crypto URL globalThis global path fs os util assert Iterator AbortSignal Response
	Temporal`)

// builtins are the modules that Node itself has.
var builtins = set(`assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram
	diagnostics_channel dns dns/promises domain events fs fs/promises http http2 https inspector module net os path
	path/posix path/win32 perf_hooks process punycode querystring readline readline/promises repl stream
	stream/consumers stream/promises stream/web string_decoder sys test timers timers/promises tls tty url util
	util/types v8 vm wasi worker_threads zlib`)

func set(names string) map[string]bool {
	m := make(map[string]bool)
	for _, name := range strings.Fields(names) {
		m[name] = true
	}
	return m
}

func isGlobalObject(name string) bool { return name == "globalThis" || name == "global" }

// bareModule returns the name of a module without the prefix of Node's own.
func bareModule(module string) string { return strings.TrimPrefix(module, "node:") }

func isBuiltin(module string) bool { return builtins[bareModule(module)] }

// changesArgument reports whether a function of the language changes its first argument.
func changesArgument(dotted string) bool {
	switch dotted {
	case "Object.assign", "Object.defineProperty", "Object.defineProperties", "Object.setPrototypeOf", "Object.freeze",
		"Object.seal", "Object.preventExtensions", "Reflect.set", "Reflect.defineProperty", "Reflect.deleteProperty",
		"Reflect.setPrototypeOf", "Reflect.preventExtensions":
		return true
	}
	return strings.HasPrefix(dotted, "Atomics.") || strings.HasPrefix(dotted, "Array.prototype.") ||
		dotted == "crypto.getRandomValues"
}
