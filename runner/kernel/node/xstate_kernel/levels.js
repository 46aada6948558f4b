'use strict'
// Whether a value is what it was when a walk met it: by a look at each object that the walk met, without bytes and
// without a search for identities.
//
// The output of a walk follows from the levels of the objects that it meets: what each object is, and the values that
// it holds itself. Where each object has the level that it had, a walk from the same root goes the same way, meets the
// same objects in the same order, and writes the same bytes. So they are compared in that order, each with its level
// then. Other things that a walk looks at are counted: the objects that have names (intrinsics.js), the parts of
// workspace modules, and numbers of open files. Where one of these has changed, a value is walked.

const descriptors = require('./descriptors').open
const { objects } = require('./identities')
const { nameOf } = require('./intrinsics')
const { HOLE, NUMBER, DATE, Copy, Slow, sizeOf } = require('./fast')
const { Shape, isList, isMap, isSet, isDate } = require('./shapes')
const { Walk, parts } = require('./walk')

/** @import {Kind, Levels} from './fast' */

const { apply } = Reflect
const mapForEach = Map.prototype.forEach
const setForEach = Set.prototype.forEach
const { getTime } = Date.prototype
const mapSize = sizeOf(Map.prototype)
const setSize = sizeOf(Set.prototype)

// unchanged reports whether a value is what it was. places are those of the objects that the walk met.
/** @type {(value: object, levels: Levels, places: Int32Array) => boolean} */
function unchanged(value, levels, places) {
  if (objects[places[0]] !== value || levels.named !== nameOf.size || levels.parts !== parts.changes ||
    descriptors.size !== 0) return false
  const look = new Look(levels)
  let same = true
  for (let i = 0; same && i < places.length; i++) {
    const kind = levels.kinds[i]
    same = kind === null || look.same(/** @type {object} */ (objects[places[i]]), kind)
  }
  look.walk?.end()
  return same
}

// Look compares objects with their levels, one after the other.
class Look {
  /** @param {Levels} levels */
  constructor(levels) {
    this.chunks = levels.chunks
    this.chunk = 0
    this.slots = levels.chunks[0]
    this.at = 0
    this.numbers = levels.numbers
    this.count = 0
    /** @type {Walk | undefined} */
    this.walk = undefined // writes objects that have no other level than their bytes
    /** @type {Set<Shape>} */
    this.asked = new Set() // shapes whose models are known to have them still
    /** @type {Shape | undefined} */
    this.last = undefined // the last of these
  }

  /** @type {(o: object, kind: NonNullable<Kind>) => boolean} */
  same(o, kind) {
    if (kind instanceof Shape) return this.shape(o, kind)
    if (typeof kind === 'number' && kind !== DATE) return isList(o) && this.list(o, kind)
    if (kind instanceof Float64Array) return isList(o) && sameNumbers(o, kind)
    if (kind instanceof Copy) return this.copy(o, kind)
    if (kind === DATE) return isDate(o) && this.is(this.take(1), apply(getTime, o, []))
    return kind instanceof Slow && this.slow(o, kind)
  }

  // take returns the first of n slots, see Levels.
  /** @type {(n: number) => number} */
  take(n) {
    if (this.at + n > this.slots.length) {
      this.slots = this.chunks[++this.chunk]
      this.at = 0
    }
    const at = this.at
    this.at += n
    return at
  }

  // is reports whether a value is what was noted in a slot.
  /** @type {(at: number, v: unknown) => boolean} */
  is(at, v) {
    const was = this.slots[at]
    return was === NUMBER ? isSame(this.numbers[this.count++], v) : isSame(was, v)
  }

  /** @type {(o: object, shape: Shape) => boolean} */
  shape(o, shape) {
    if (this.last !== shape) {
      if (!this.asked.has(shape)) {
        if (!shape.renew()) return false
        this.asked.add(shape)
      }
      this.last = shape
    }
    if (!shape.still(o)) return false
    const { keys } = shape
    const from = /** @type {Record<string, unknown>} */ (o)
    const n = keys.length
    const at = this.take(n)
    for (let i = 0; i < n; i++) if (!this.is(at + i, from[keys[i]])) return false
    return true
  }

  // list compares a list with the next n slots.
  /** @type {(v: unknown[], n: number) => boolean} */
  list(v, n) {
    if (v.length !== n) return false
    const at = this.take(n)
    for (let i = 0; i < n; i++) {
      const x = v[i]
      if (!this.is(at + i, x === undefined && !(i in v) ? HOLE : x)) return false
    }
    return true
  }

  /** @type {(o: object, { of, values }: Copy) => boolean} */
  copy(o, { of, values }) {
    if (of === 'list') return isList(o) && sameList(o, values)
    let same = true
    let at = 0
    if (of === 'set') {
      if (!isSet(o) || apply(setSize, o, []) !== values.length) return false
      apply(setForEach, o, [(/** @type {unknown} */ x) => { same = same && isSame(values[at++], x) }])
    } else {
      if (!isMap(o) || 2 * apply(mapSize, o, []) !== values.length) return false
      apply(mapForEach, o, [(/** @type {unknown} */ x, /** @type {unknown} */ k) => {
        same = same && isSame(values[at++], k) && isSame(values[at++], x)
      }])
    }
    return same
  }

  // slow compares what is written of an object, and what is left to do then.
  /** @type {(o: object, was: Slow) => boolean} */
  slow(o, was) {
    const w = this.walk ??= new Walk()
    w.at = 0
    const { flushed } = w
    /** @type {unknown[]} */
    const pushed = []
    try {
      w.object(o, pushed)
    } catch {
      return false // it is walked: more intrinsics have names now
    }
    return w.flushed === flushed && w.opaque === '' && pushed.length === was.pushed.length &&
      was.bytes.equals(w.buffer.subarray(0, w.at)) && pushed.every((x, i) => isSame(was.pushed[i], x))
  }
}

// isSame reports whether two values are the same, and not only equal.
/** @type {(a: unknown, b: unknown) => boolean} */
function isSame(a, b) {
  return a === b ? a !== 0 || 1 / a === 1 / /** @type {number} */ (b) : a !== a && b !== b
}

/** @type {(v: unknown[], values: unknown[]) => boolean} */
function sameList(v, values) {
  const n = v.length
  if (n !== values.length) return false
  for (let i = 0; i < n; i++) {
    const x = v[i]
    if (!isSame(values[i], x === undefined && !(i in v) ? HOLE : x)) return false
  }
  return true
}

/** @type {(v: unknown[], data: Float64Array) => boolean} */
function sameNumbers(v, data) {
  const n = data.length
  if (v.length !== n) return false
  for (let i = 0; i < n; i++) {
    const x = v[i]
    if (x !== data[i] || x === 0 && 1 / x !== 1 / data[i]) return false
  }
  return true
}

module.exports = { unchanged }
