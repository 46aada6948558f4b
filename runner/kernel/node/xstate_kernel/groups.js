'use strict'
// Which names share mutable objects.

/** @import {Levels} from './fast' */
/** @import {Places} from './identities' */
/** @import {Walk} from './walk' */
/** @typedef {[a: string, b: string, place: string]} Pair two names that share, and a digest of where they do */
/**
 * @typedef {object} Fingerprint
 * @property {string} digest
 * @property {string} opaque why the value cannot be looked into, or ''
 * @property {boolean} unsettled whoever reads the value may change it without a trace
 * @property {Int32Array} places of the objects that it reaches, by their numbers
 * @property {number[]} soft numbers of those that are functions or prototypes of the program
 * @property {Int32Array} hard places of the others, which are mutable
 * @property {Int32Array} more places of what an unsettled value may hold, and does not reach
 * @property {number} keepers how many names are bound to it or put aside
 * @property {number} size bytes
 * @property {Set<string>} deps names that its functions may load
 * @property {Set<string>} code names of its classes
 * @property {boolean} module it is, or reaches, a part of a module
 * @property {Set<string>} modules workspace modules of which it is, or may reach, a part
 * @property {Set<string>} homes those whose code it may run
 * @property {Set<string>} sets names by which its functions may set what a package holds
 * @property {Set<string>} packages those of which it is, or reaches, a part
 * @property {boolean} simple it is made of plain objects, arrays and primitives
 * @property {Function} [definition] itself, if it is a function or class of the program that shares nothing
 * @property {boolean} atom it shares nothing and cannot change
 * @property {Set<number>} [extra] places of all that an unsettled value may hold
 * @property {Levels | null} levels what it was made of, see levels.js
 */

const { createHash } = require('crypto')
const identities = require('./identities')
const { unchanged } = require('./levels')
const { sourceOf } = require('./sources')
const { walked } = require('./walk')

const { columns } = identities
const NONE = new Int32Array(0)

// fingerprint describes a value. A digest of an opaque value only says whether what can be seen of it changed.
/** @type {(value: unknown) => Fingerprint} */
function fingerprint(value) {
  const t = typeof value
  const w = walked((w) => w.value(value))
  const digest = w.end()
  const places = w.places()
  return {
    digest, opaque: w.opaque, unsettled: w.unsettled, places, soft: w.soft, hard: hardOf(places, w.soft), keepers: 0,
    size: w.size, deps: w.deps, code: w.code, module: w.module, modules: w.modules, homes: w.homes,
    packages: w.packages, sets: w.sets, simple: w.simple, definition: isDefinition(value, w) ? value : undefined,
    atom: t !== 'object' && t !== 'function' && t !== 'symbol' && w.count === 0,
    more: NONE, levels: w.opaque === '' ? w.levels : null,
  }
}

// hardOf returns the places that are not among the soft ones.
/** @type {(places: Int32Array, soft: number[]) => Int32Array} */
function hardOf(places, soft) {
  if (!soft.length) return places
  const hard = new Int32Array(places.length - soft.length)
  let n = 0
  let next = 0 // the next of the soft ones, which are in order
  for (let i = 0; i < places.length; i++) {
    if (i === soft[next]) next++
    else hard[n++] = places[i]
  }
  return hard
}

// isDefinition reports whether a value is a function or class of the program that shares nothing.
/** @type {(value: unknown, w: Walk) => value is Function} */
function isDefinition(value, w) {
  return typeof value === 'function' && w.opaque === '' && w.count === w.soft.length && sourceOf(value).own
}

// stays reports whether a value is known to be what it was when it got a fingerprint. If it is not, a new one decides.
/** @type {(value: unknown, fp: Fingerprint) => boolean} */
function stays(value, fp) {
  return fp.levels !== null && typeof value === 'object' && value !== null && fp.places.length > 0 &&
    unchanged(value, fp.levels, fp.places)
}

/** @type {(a: Fingerprint, b: Fingerprint) => boolean} */
const differs = (a, b) => a.digest !== b.digest || a.opaque !== b.opaque

class Groups {
  constructor() {
    /** @type {Map<string, Fingerprint>} */
    this.prints = new Map() // name → fingerprint
    /** @type {ReadonlySet<string>[]} */
    this.sets = [new Set()] // sets of names, by the number that the column owner has of them
    /** @type {Map<string, number>} */
    this.numbers = new Map([['', 0]]) // names, sorted and joined → the number of the set of them
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
    if (was === fp) return
    this.keep(fp)
    if (was !== undefined && sameReach(was, fp)) this.letGo(was)
    else {
      this.drop(name)
      this.move(name, fp, (names) => this.set([...names, name]))
    }
    this.prints.set(name, fp)
    if (fp.definition?.name === name && !this.kept.has(fp.digest)) this.kept.set(fp.digest, fp.definition)
  }

  // keep keeps the places of what a fingerprint reaches, until letGo was called as often.
  /** @type {(fp: Fingerprint) => void} */
  keep(fp) {
    if (fp.keepers++) return
    identities.keep(fp.places)
    identities.keep(fp.more)
  }

  /** @type {(fp: Fingerprint) => void} */
  letGo(fp) {
    if (--fp.keepers) return
    identities.letGo(fp.places)
    identities.letGo(fp.more)
  }

  // set returns the number of the set of some names.
  /** @type {(names: string[]) => number} */
  set(names) {
    const key = names.sort().join('\0')
    let found = this.numbers.get(key)
    if (found === undefined) {
      this.numbers.set(key, found = this.sets.length)
      this.sets.push(new Set(names))
    }
    return found
  }

  // move changes who reaches the objects of a fingerprint, and forgets the known neighbours of the names concerned.
  /** @type {(name: string, fp: Fingerprint, change: (names: ReadonlySet<string>) => number) => void} */
  move(name, fp, change) {
    const { owner } = columns
    /** @type {Map<number, number>} */
    const changes = new Map()
    let who = -1
    let then = 0
    for (const places of [fp.places, fp.more]) {
      for (let i = 0; i < places.length; i++) {
        const p = places[i]
        if (owner[p] !== who) {
          who = owner[p]
          const known = changes.get(who)
          then = known ?? change(this.sets[who])
          if (known === undefined) changes.set(who, then)
        }
        owner[p] = then
      }
    }
    this.near.delete(name)
    this.places.delete(name)
    for (const number of changes.keys()) {
      for (const n of this.sets[number]) {
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
    this.letGo(fp)
  }

  // neighbours returns the names that share a mutable object with a name; with soft, also a function or class.
  /** @type {(name: string, soft?: boolean) => Set<string>} */
  neighbours(name, soft = false) {
    const fp = this.prints.get(name)
    if (fp === undefined) return new Set()
    let found = this.near.get(name)
    if (found === undefined) {
      const hard = this.owning(reach(fp))
      const all = this.owning(fp.soft.map((n) => fp.places[n]))
      for (const n of hard) all.add(n)
      hard.delete(name)
      all.delete(name)
      this.near.set(name, found = { hard, all })
    }
    return soft ? found.all : found.hard
  }

  // owning returns the names that reach one of some objects.
  /** @type {(places: Places) => Set<string>} */
  owning(places) {
    const { owner } = columns
    /** @type {Set<number>} */
    const sets = new Set()
    let last = 0
    for (let i = 0; i < places.length; i++) {
      const who = owner[places[i]]
      if (who !== last) sets.add(last = who)
    }
    /** @type {Set<string>} */
    const found = new Set()
    for (const who of sets) for (const n of this.sets[who]) found.add(n)
    return found
  }

  // pairs returns [a, b, digest of the places that they share] for all pairs with a member in names.
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
    const digest = place(this.print(a), this.print(b))
    for (const [x, y] of [[a, b], [b, a]]) {
      const of = this.places.get(x) ?? new Map()
      this.places.set(x, of.set(y, digest))
    }
    return digest
  }
}

// reach returns the places of the mutable objects that a value reaches, or may hold.
/** @type {(fp: Fingerprint) => Places} */
function reach(fp) {
  return fp.more.length ? [...fp.hard, ...fp.more] : fp.hard
}

// numberOf returns the number of an object, given its place in reach.
/** @type {(fp: Fingerprint, at: number) => number} */
function numberOf(fp, at) {
  if (at >= fp.hard.length) return -1
  return fp.soft.length ? fp.places.indexOf(fp.hard[at]) : at
}

// place returns a digest of the numbers that objects have in both of two values.
/** @type {(x: Fingerprint, y: Fingerprint) => string} */
function place(x, y) {
  const both = identities.both(reach(x), reach(y))
  let sorted = true // what a walk met is in the order of the numbers, unlike what held added
  for (let i = 0; i < both.length; i += 2) {
    both[i] = numberOf(x, both[i])
    both[i + 1] = numberOf(y, both[i + 1])
    if (i && both[i] <= both[i - 2]) sorted = false
  }
  const h = createHash('sha256')
  if (sorted) h.update(both)
  else {
    /** @type {string[]} */
    const pairs = []
    for (let i = 0; i < both.length; i += 2) pairs.push(`${both[i]} ${both[i + 1]}`)
    h.update(pairs.sort().join('\n'))
  }
  return h.digest('hex').slice(0, 20)
}

// sameReach reports whether two fingerprints reach the same objects, with the same numbers.
/** @type {(a: Fingerprint, b: Fingerprint) => boolean} */
function sameReach(a, b) {
  return sameNumbers(a.places, b.places) && sameNumbers(a.soft, b.soft) && sameNumbers(a.more, b.more)
}

/** @type {(a: Places, b: Places) => boolean} */
function sameNumbers(a, b) {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

// shared returns the places of the objects that two fingerprints share.
/** @type {(x: Fingerprint | undefined, y: Fingerprint | undefined) => Places} */
function shared(x, y) {
  if (x === undefined || y === undefined) return NONE
  const of = reach(x)
  const both = identities.both(of, reach(y))
  const found = new Int32Array(both.length / 2)
  for (let i = 0; i < found.length; i++) found[i] = of[both[2 * i]]
  return found
}

module.exports = { Groups, fingerprint, hardOf, stays, differs, reach, shared }
