'use strict'
// Which names share mutable objects.

/** @import {Walk, Identity} from './walk' */
/** @typedef {[a: string, b: string, place: string]} Pair two names that share, and a digest of where they do */
/**
 * @typedef {object} Fingerprint
 * @property {string} digest
 * @property {string} opaque why the value cannot be looked into, or ''
 * @property {boolean} unsettled whoever reads the value may change it without a trace
 * @property {Map<Identity, number>} ids mutable object that it reaches → its number
 * @property {Map<object, number>} soft function or prototype of the program → its number
 * @property {number} size bytes
 * @property {Set<string>} deps names that its functions may load
 * @property {Set<string>} code names of its classes
 * @property {boolean} module it is, or reaches, a part of a workspace module
 * @property {boolean} simple it is made of plain objects, arrays and primitives
 * @property {Function} [definition] itself, if it is a function or class of the program that shares nothing
 * @property {boolean} atom it shares nothing and cannot change
 * @property {Map<Identity, number>} [extra] what an unsettled value may hold
 */

const { createHash } = require('crypto')
const { sourceOf } = require('./sources')
const { walked } = require('./walk')

// fingerprint describes a value. A digest of an opaque value only says whether what can be seen of it changed.
/** @type {(value: unknown) => Fingerprint} */
function fingerprint(value) {
  const t = typeof value
  const w = walked((w) => w.value(value))
  const digest = w.end()
  return {
    digest, opaque: w.opaque, unsettled: w.unsettled, ids: w.ids, soft: w.soft, size: w.size, deps: w.deps,
    code: w.code, module: w.module, simple: w.simple, definition: isDefinition(value, w) ? value : undefined,
    atom: t !== 'object' && t !== 'function' && t !== 'symbol' && w.ids.size === 0,
  }
}

// isDefinition reports whether a value is a function or class of the program that shares nothing.
/** @type {(value: unknown, w: Walk) => value is Function} */
function isDefinition(value, w) {
  return typeof value === 'function' && w.opaque === '' && w.ids.size === 0 && sourceOf(value).own
}

/** @type {(a: Fingerprint, b: Fingerprint) => boolean} */
const differs = (a, b) => a.digest !== b.digest || a.opaque !== b.opaque

class Groups {
  constructor() {
    /** @type {Map<string, Fingerprint>} */
    this.prints = new Map() // name → fingerprint
    /** @type {Map<Identity, string | Set<string>>} */
    this.owners = new Map() // object → the name that reaches it, or a set of names
    /** @type {Map<string, Function>} */
    this.kept = new Map() // digest → the function or class of the program that was bound to its own name
  }

  /** @type {(name: string, fp: Fingerprint) => void} */
  put(name, fp) {
    this.drop(name)
    this.prints.set(name, fp)
    if (fp.definition?.name === name && !this.kept.has(fp.digest)) this.kept.set(fp.digest, fp.definition)
    for (const ids of [fp.ids, fp.soft]) {
      for (const o of ids.keys()) {
        const who = this.owners.get(o)
        if (who === undefined) this.owners.set(o, name)
        else if (typeof who === 'string') this.owners.set(o, new Set([who, name]))
        else who.add(name)
      }
    }
  }

  // print returns the fingerprint of a name that has one.
  /** @type {(name: string) => Fingerprint} */
  print(name) {
    return /** @type {Fingerprint} */ (this.prints.get(name))
  }

  // same returns the function or class that has a digest, if there is one that was not changed.
  /** @type {(digest: string) => Function | undefined} */
  same(digest) {
    const kept = this.kept.get(digest)
    if (kept === undefined) return undefined
    if (fingerprint(kept).digest === digest) return kept
    this.kept.delete(digest)
    return undefined
  }

  /** @type {(name: string) => void} */
  drop(name) {
    const fp = this.prints.get(name)
    if (fp === undefined) return
    this.prints.delete(name)
    for (const ids of [fp.ids, fp.soft]) {
      for (const o of ids.keys()) {
        const who = this.owners.get(o)
        if (who === name) this.owners.delete(o)
        else if (typeof who === 'object') {
          who.delete(name)
          if (who.size === 1) this.owners.set(o, [...who][0])
        }
      }
    }
  }

  // neighbours returns the names that share a mutable object with a name; with soft, also a function or class.
  /** @type {(name: string, soft?: boolean) => Set<string>} */
  neighbours(name, soft = false) {
    /** @type {Set<string>} */
    const found = new Set()
    const fp = this.prints.get(name)
    if (fp === undefined) return found
    for (const ids of soft ? [fp.ids, fp.soft] : [fp.ids]) {
      for (const o of ids.keys()) {
        const who = this.owners.get(o)
        if (typeof who === 'object') for (const n of who) found.add(n)
      }
    }
    found.delete(name)
    return found
  }

  // pairs returns [a, b, digest of where they share] for all pairs with a member in names.
  /** @type {(names: Iterable<string>) => Pair[]} */
  pairs(names) {
    /** @type {Map<string, Pair>} */
    const found = new Map()
    for (const name of names) {
      for (const other of this.neighbours(name)) {
        const [a, b] = name < other ? [name, other] : [other, name]
        const key = a + '\0' + b
        if (!found.has(key)) found.set(key, [a, b, this.place(a, b)])
      }
    }
    return [...found.values()].sort((p, q) => (p[0] < q[0] || (p[0] === q[0] && p[1] < q[1]) ? -1 : 1))
  }

  /** @type {(a: string, b: string) => string} */
  place(a, b) {
    const x = this.print(a).ids
    const y = this.print(b).ids
    const [small, large] = x.size <= y.size ? [x, y] : [y, x]
    const found = []
    for (const o of small.keys()) if (large.has(o)) found.push(`${x.get(o)} ${y.get(o)}`)
    return createHash('sha256').update(found.sort().join('\n')).digest('hex').slice(0, 20)
  }
}

// shared returns the objects that two fingerprints share.
/** @type {(x: Fingerprint | undefined, y: Fingerprint | undefined) => Set<Identity>} */
function shared(x, y) {
  /** @type {Set<Identity>} */
  const found = new Set()
  if (x && y) for (const o of x.ids.keys()) if (y.ids.has(o)) found.add(o)
  return found
}

module.exports = { Groups, fingerprint, differs, shared }
