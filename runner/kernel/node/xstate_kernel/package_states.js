'use strict'
// What packages hold, as state of the program: which packages a node can reach, and which it may have set. See doc.go.

/** @import {Fingerprint} from './groups' */

const { createHash } = require('crypto')
const { nameOf, packageOf } = require('./intrinsics')
const { ANY } = require('./walk')

// A statement that sets something of a package which it has imported, in the text of a workspace module.
const IMPORTED = /(?:\b(?:const|let|var)\s+([\w$]+)\s*=\s*require\(|\bimport\s+(?:\*\s*as\s+)?([\w$]+)\s+from\s+)['"]([^.'"][^'"]*)['"]/g

class PackageStates {
  constructor() {
    /** @type {Set<string>} */
    this.known = new Set() // packages that the program or a workspace module has asked for
    /** @type {Map<string, string>} */
    this.states = new Map() // package → digest of all that has set it
    /** @type {Set<string>} */
    this.reached = new Set() // packages that the node could reach
    /** @type {Set<string>} */
    this.changed = new Set() // those that it may have set
    /** @type {Set<string>} */
    this.loaded = new Set() // those that a module which it has loaded sets
    this.lasting = false // one was set by what is not known
  }

  begin() { this.loaded = new Set() }

  // asked notes that the program, or a workspace module, has asked for a package.
  /** @type {(name: string) => void} */
  asked(name) {
    const found = packageOf(name)
    if (found !== '') this.known.add(found)
  }

  // module notes the packages that the text of a workspace module sets while it is loaded.
  /** @type {(text: string) => void} */
  module(text) {
    for (const [, required, imported, id] of text.matchAll(IMPORTED)) {
      const name = (required ?? imported).replaceAll('$', '\\$')
      const sets = new RegExp(`^${name}\\s*(\\.[\\w$.\\s]*)?(\\(|=[^=>])`, 'm')
      const parts = id.split('/')
      if (sets.test(text)) this.loaded.add('npm:' + parts.slice(0, id.startsWith('@') ? 2 : 1).join('/'))
    }
  }

  // look finds which packages a node could reach, and which it may have set. prints are of the values that it has read,
  // values these values, sets the names by which its text may set something. inModules: it could reach workspace modules.
  /** @type {(prints: Fingerprint[], values: Map<string, unknown>, sets: string[], inModules: boolean) => void} */
  look(prints, values, sets, inModules) {
    this.changed = new Set([...this.loaded].filter((n) => this.known.has(n)))
    const all = inModules || prints.some((p) => p.homes.has(ANY))
    this.reached = all ? new Set(this.known) : new Set(prints.flatMap((p) => [...p.packages]))
    for (const n of new Set([...sets, ...prints.flatMap((p) => [...p.sets])])) {
      const value = values.get(n)
      const from = packageOf(nameOf.get(/** @type {object} */ (value)) ?? '')
      if (from !== '') this.changed.add(from)
    }
    for (const n of this.changed) this.reached.add(n)
  }

  // held returns digests of what the packages hold that the node may have set, given all that it depends on; null: that
  // is not known.
  /** @type {(inputs: string[] | null) => Record<string, string>} */
  held(inputs) {
    /** @type {Record<string, string>} */
    const found = {}
    for (const n of this.changed) {
      if (inputs === null) {
        this.states.set(n, 'unknown')
        continue
      }
      const hash = createHash('sha256')
      for (const text of [this.states.get(n) ?? '', ...inputs]) hash.update(`${text.length} ${text}`)
      found[n] = hash.digest('hex')
      this.states.set(n, found[n])
    }
    return found
  }

  // unnamed returns the packages that the node may have set and that are not among held.
  /** @type {(held: object) => string[]} */
  unnamed(held) {
    const found = [...this.changed].filter((n) => !(n in held))
    this.lasting ||= found.length > 0
    return found
  }
}

module.exports = { PackageStates }
