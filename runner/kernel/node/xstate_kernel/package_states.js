'use strict'
// The contents of packages, as state of the program: which packages a node can reach, and which it may have set. See
// doc.go.

/** @import {Fingerprint} from './groups' */
/** @typedef {Map<string, Fingerprint>} Prints name → fingerprint of its value */
/** @typedef {(name: string) => unknown} ValueOf the value of a name after the node, or before it where it has none */

const { isBuiltin } = require('module')
const { types } = require('util')
const { nameOf, packageOf } = require('./intrinsics')
const { packageName } = require('./packages')
const { ANY } = require('./walk')

// The imports of packages in the text of a workspace module.
const IMPORTED = new RegExp(String.raw`(?:\b(?:const|let|var)\s+([\w$]+)\s*=\s*require\(|` +
  String.raw`\bimport\s+(?:\*\s*as\s+)?([\w$]+)\s+from\s+)['"]([^.'"][^'"]*)['"]`, 'g')
// The loads whose result is not used, among them.
const BARE = /^\s*(?:await\s+)?(?:require\s*\(|import\s*\(?)\s*['"]([^.'"][^'"]*)['"]/gm
// The names of functions that set something, as in sets.go.
const SETS = '(?:set|locale|use|extend|mixin|plugin|install|' +
  '(?:config|init|register|define|enable|disable|default|change|override)\\w*|(?:set|add|load)[A-Z]\\w*)'
const ONLY_ITSELF = '='
const ANY_READ = '?'
const LOADED = '+'
const UNDIGESTED = '?' // kernel.Undigested of the engine

class PackageStates {
  constructor() {
    /** @type {Set<string>} */
    this.known = new Set() // packages that the program or a workspace module has asked for
    /** @type {Set<string>} */
    this.reached = new Set() // packages that the node could reach
    /** @type {Set<string>} */
    this.changed = new Set() // those that it may have set
    /** @type {Set<string>} */
    this.loaded = new Set() // those that a module which it has loaded may set
    /** @type {Map<string, Set<string>>} */
    this.bySource = new Map() // workspace module → packages that its functions may set
  }

  begin() { this.loaded = new Set() }

  // asked notes that the program, or a workspace module, has asked for a package.
  /** @type {(name: string) => void} */
  asked(name) {
    const found = packageOf(name)
    if (found !== '') this.known.add(found)
  }

  // module notes the packages that the text of a workspace module may set, now or when its functions are called.
  /** @type {(name: string, text: string) => void} */
  module(name, text) {
    const called = new Set()
    for (const [, required, imported, id] of text.matchAll(IMPORTED)) {
      const n = (required ?? imported).replaceAll('$', '\\$')
      const sets = `\\b${n}\\.(?:${SETS}\\(\\s*[^\\s)]|[\\w$.]+\\s*=[^=>])`
      const from = packageIn(id)
      if (new RegExp(`^${n}\\s*(?:\\.[\\w$.\\s]*)?\\(|${sets}`, 'm').test(text)) this.loaded.add(from)
      if (new RegExp(`^(?!${n}\\b).*${sets}`, 'm').test(text)) called.add(from)
    }
    for (const [, id] of text.matchAll(BARE)) this.loaded.add(packageIn(id))
    this.bySource.set(name, called)
  }

  // look finds which packages a node could reach, and which it may have set. prints are of the values that it has read,
  // sets is what its text may set (sets.go); modules are the workspace modules that it could reach.
  /** @type {(prints: Prints, valueOf: ValueOf, sets: string[], modules: string[]) => void} */
  look(prints, valueOf, sets, modules) {
    const all = [...prints.values()]
    this.changed = new Set([...this.loaded, ...modules.flatMap((m) => [...this.bySource.get(m) ?? []])]
      .filter((n) => this.known.has(n)))
    const reached = new Set(all.flatMap((p) => [...p.packages]))
    const anything = modules.length > 0 || all.some((p) => p.homes.has(ANY))
    this.reached = anything ? new Set(this.known) : reached
    for (const n of new Set([...sets, ...all.flatMap((p) => [...p.sets])])) {
      if (n === ANY_READ) for (const p of reached) this.changed.add(p)
      else if (n.startsWith(LOADED)) this.changed.add(packageIn(n.slice(1)))
      else for (const p of this.partsOf(n, prints, valueOf) ?? reached) this.changed.add(p)
    }
    this.changed.delete('')
    for (const n of this.changed) this.reached.add(n)
  }

  // partsOf returns the packages that an expression which begins with a name may set; undefined: the node has made the
  // value, of what it has read.
  /** @type {(name: string, prints: Prints, valueOf: ValueOf) => Iterable<string> | undefined} */
  partsOf(name, prints, valueOf) {
    const itself = name.startsWith(ONLY_ITSELF)
    if (itself) name = name.slice(1)
    const value = valueOf(name)
    const from = packageOf(nameOf.get(/** @type {object} */ (value)) ?? '')
    if (from !== '') return [from]
    if (itself || value === undefined || Array.isArray(value) || types.isMap(value) || types.isSet(value)) return []
    return prints.get(name)?.packages
  }

  // held returns the packages that the node may have set, as parts of a module are reported: no digest says what they
  // hold.
  held() { return Object.fromEntries([...this.changed].map((n) => [n, UNDIGESTED])) }
}

// packageIn returns the package that a specifier names; '': it names a module of Node or a file.
/** @type {(id: string) => string} */
function packageIn(id) {
  if (/^[./]|^(node|file|data|https?):/.test(id) || isBuiltin(id)) return ''
  return 'npm:' + packageName(id)
}

module.exports = { PackageStates }
