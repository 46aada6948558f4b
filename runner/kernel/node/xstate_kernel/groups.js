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

/** @typedef {ReadonlySet<string>} Names one set for all objects that the same names reach */

/** @type {Names} */
const NO_NAMES = new Set()

class Groups {
  constructor() {
    /** @type {Map<string, Fingerprint>} */
    this.prints = new Map() // name → fingerprint
    /** @type {Map<Identity, Names>} */
    this.owners = new Map() // object → the names that reach it
    /** @type {Map<string, Names>} */
    this.sets = new Map() // names, sorted and joined → the set of them
    /** @type {Map<string, { hard: Set<string>, all: Set<string> }>} */
    this.near = new Map() // name → the names that share with it, and those that share a function, too, once asked for
    /** @type {Map<string, Map<string, string>>} */
    this.places = new Map() // the same for where two names share: by the first, then by the other
    /** @type {Map<string, Function>} */
    this.kept = new Map() // digest → the function or class of the program that was bound to its own name
  }

  /** @type {(name: string, fp: Fingerprint) => void} */
  put(name, fp) {
    const was = this.prints.get(name)
    const same = was !== undefined && was !== fp && sameNumbers(was.ids, fp.ids) && sameNumbers(was.soft, fp.soft)
    if (!same) this.drop(name)
    this.prints.set(name, fp)
    if (fp.definition?.name === name && !this.kept.has(fp.digest)) this.kept.set(fp.digest, fp.definition)
    if (!same) this.move(name, fp, (names) => this.set([...names, name]))
  }

  // set returns the one set of some names.
  /** @type {(names: string[]) => Names} */
  set(names) {
    const key = names.sort().join('\0')
    let found = this.sets.get(key)
    if (found === undefined) this.sets.set(key, found = new Set(names))
    return found
  }

  // move changes who reaches the objects of a fingerprint, and forgets what was told of the names that this concerns.
  /** @type {(name: string, fp: Fingerprint, change: (names: Names) => Names) => void} */
  move(name, fp, change) {
    /** @type {Map<Names, Names>} */
    const changes = new Map()
    for (const ids of [fp.ids, fp.soft]) {
      for (const o of ids.keys()) {
        const who = this.owners.get(o) ?? NO_NAMES
        let then = changes.get(who)
        if (then === undefined) changes.set(who, then = change(who))
        if (then.size) this.owners.set(o, then)
        else this.owners.delete(o)
      }
    }
    this.near.delete(name)
    this.places.delete(name)
    for (const names of changes.keys()) {
      for (const n of names) {
        this.near.delete(n)
        this.places.get(n)?.delete(name)
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
    this.move(name, fp, (names) => this.set([...names].filter((n) => n !== name)))
  }

  // neighbours returns the names that share a mutable object with a name; with soft, also a function or class.
  /** @type {(name: string, soft?: boolean) => Set<string>} */
  neighbours(name, soft = false) {
    const fp = this.prints.get(name)
    if (fp === undefined) return new Set()
    let found = this.near.get(name)
    if (found === undefined) {
      const hard = this.owning(fp.ids)
      const all = this.owning(fp.soft)
      for (const n of hard) all.add(n)
      hard.delete(name)
      all.delete(name)
      this.near.set(name, found = { hard, all })
    }
    return soft ? found.all : found.hard
  }

  // owning returns the names that reach one of some objects.
  /** @type {(ids: Map<Identity, number>) => Set<string>} */
  owning(ids) {
    /** @type {Set<Names>} */
    const sets = new Set()
    for (const o of ids.keys()) sets.add(this.owners.get(o) ?? NO_NAMES)
    /** @type {Set<string>} */
    const found = new Set()
    for (const names of sets) for (const n of names) found.add(n)
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
    const known = this.places.get(a)?.get(b)
    if (known !== undefined) return known
    const digest = place(this.print(a).ids, this.print(b).ids)
    for (const [x, y] of [[a, b], [b, a]]) {
      const of = this.places.get(x) ?? new Map()
      this.places.set(x, of.set(y, digest))
    }
    return digest
  }
}

// place returns a digest of the numbers that objects have in both of two values.
/** @type {(x: Map<Identity, number>, y: Map<Identity, number>) => string} */
function place(x, y) {
  const both = new Int32Array(2 * Math.min(x.size, y.size))
  let n = 0
  let sorted = true // what a walk met is in the order of the numbers, unlike what held added
  for (const [o, i] of x) {
    const k = y.get(o)
    if (k === undefined) continue
    if (n && i <= both[n - 2]) sorted = false
    both[n++] = i
    both[n++] = k
  }
  const h = createHash('sha256')
  if (sorted) h.update(both.subarray(0, n))
  else {
    /** @type {string[]} */
    const pairs = []
    for (let i = 0; i < n; i += 2) pairs.push(`${both[i]} ${both[i + 1]}`)
    h.update(pairs.sort().join('\n'))
  }
  return h.digest('hex').slice(0, 20)
}

// sameNumbers reports whether the same objects have the same numbers, in the same order.
/** @type {(a: Map<Identity, number>, b: Map<Identity, number>) => boolean} */
function sameNumbers(a, b) {
  if (a.size !== b.size) return false
  const rest = b.entries()
  for (const [o, n] of a) {
    const [p, m] = /** @type {[Identity, number]} */ (rest.next().value)
    if (o !== p || n !== m) return false
  }
  return true
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
