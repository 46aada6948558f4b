'use strict'
// Writes the objects that most data is made of: plain objects, instances of classes, arrays, and Map, Set and Date, to
// which nothing unusual was done. Others are written by Walk.object. It would write the same bytes of these, too, as
// TestWalks holds.

/** @import {Walk} from './walk' */

const { isList, isMap, isSet, isDate, quick, shapeOf } = require('./shapes')
const { nameOf } = require('./intrinsics')
const { privates } = require('./privates')
const { Scope } = require('./closures')
const { types } = require('util')

/** @typedef {import('./shapes').Shape} Shape */
/** @typedef {Shape | Float64Array | Copy | Slow | number | null} Kind a number: DATE, or the length of a short list */

const DATE = -1 // its time is in a slot
const HOLE = { hole: true }
const NUMBER = { number: true } // in a slot: the next of the numbers
const FEW = 32 // numbers that are written one by one
const SHORT = 16 // elements of a list that are noted in slots
const MANY = 1 << 23 // values that are noted
const SHAPES = 1 << 14 // shapes that a walk keeps
const TRIED = 4 // shapes that an object is compared with before it is asked for its keys
const CHUNK = 1 << 12 // slots that are made at once, at most

const mapForEach = Map.prototype.forEach
const setForEach = Set.prototype.forEach
const mapSize = sizeOf(Map.prototype)
const setSize = sizeOf(Set.prototype)
const { getTime } = Date.prototype
const { apply, getPrototypeOf: prototype } = Reflect
const OBJECT = Object.prototype
const Object_keys = Object.keys
const Array_isArray = Array.isArray
const ArrayBuffer_isView = ArrayBuffer.isView // such an object may have millions of keys
const Math_max = Math.max
const Math_min = Math.min

/** @type {(p: object) => () => number} */
function sizeOf(p) {
  return /** @type {() => number} */ (Object.getOwnPropertyDescriptor(p, 'size')?.get)
}

// Slow is what Walk.object made of an object: the bytes that it wrote, and what is to be written after them.
class Slow {
  /** @param {Buffer} bytes @param {unknown[]} pushed */
  constructor(bytes, pushed) {
    this.bytes = bytes
    this.pushed = pushed
  }
}

// Copy is what a list, a Map or a Set held.
class Copy {
  /** @param {'list' | 'map' | 'set'} of @param {number} n */
  constructor(of, n) {
    this.of = of
    /** @type {unknown[]} */
    this.values = new Array(n)
    this.at = 0 // the index of the next value
  }
}

// Levels is what a walk met: of each object its kind, in the order of their numbers, and what the objects held. That is
// in slots, as far as no kind has it, one object after the other. Numbers that are not small integers are in numbers:
// V8 would make an object of each.
class Levels {
  /** @param {number} parts how often it has changed which objects are parts of workspace modules */
  constructor(parts) {
    /** @type {Kind[]} */
    this.kinds = []
    /** @type {unknown[][]} */
    this.chunks = [new Array(16)] // what an object holds is in one of them
    this.slots = this.chunks[0] // the last of the chunks
    this.at = 0 // the next of its slots
    this.numbers = new Float64Array(16)
    this.count = 0 // how many numbers are used
    this.held = 0 // values that are noted
    this.slow = 0 // objects that Walk.object wrote
    this.named = nameOf.size
    this.parts = parts
  }

  // take returns the first of n slots.
  /** @type {(n: number) => number} */
  take(n) {
    if (this.at + n > this.slots.length) {
      this.slots = new Array(Math_max(n, Math_min(CHUNK, 4 * this.slots.length)))
      this.chunks.push(this.slots)
      this.at = 0
    }
    if (this.count + n > this.numbers.length) {
      const more = new Float64Array(2 * (this.count + n))
      more.set(this.numbers)
      this.numbers = more
    }
    const at = this.at
    this.at += n
    return at
  }

  // put notes a value in a slot.
  /** @type {(at: number, x: unknown) => void} */
  put(at, x) {
    if (typeof x === 'number' && (x | 0) !== x) {
      this.numbers[this.count++] = x
      this.slots[at] = NUMBER
    } else this.slots[at] = x
  }
}

// fast writes an object and what it reaches. It reports whether it could.
/** @type {(w: Walk, o: object, place: number | undefined, depth: number) => boolean} */
function fast(w, o, place, depth) {
  if (typeof o === 'function') return false
  const { last } = w
  if (last !== undefined && last.has(o)) { writeShape(w, o, place, last, depth); return true }
  if (isArray(o)) {
    if (!isList(o)) return false
    w.meet(o, place)
    writeList(w, o, depth)
    return true
  }
  const shape = shapeIn(w, o)
  if (shape === undefined) return writeCollection(w, o, place, depth)
  w.last = shape
  writeShape(w, o, place, shape, depth)
  return true
}

// isArray reports whether an object is an array, or a Proxy of one.
/** @type {(o: object) => boolean} */
function isArray(o) {
  try {
    return Array_isArray(o)
  } catch { // a Proxy that was revoked
    return false
  }
}

// shapeIn returns the shape of an object, if it has one.
/** @type {(w: Walk, o: object) => Shape | undefined} */
function shapeIn(w, o) {
  const { shapes } = w
  for (let i = 0; i < shapes.length && i < TRIED; i++) {
    const s = shapes[i]
    if (!s.has(o)) continue
    if (i) { // the next one is often of the same shape
      shapes[i] = shapes[i - 1]
      shapes[i - 1] = s
    }
    return s
  }
  if (types.isProxy(o) || !quick(o) || ArrayBuffer_isView(o) || isMap(o) || isSet(o) || isDate(o)) return undefined
  const keys = Object_keys(o)
  const last = keys[keys.length - 1]
  let alike = w.byKey.get(last)
  if (alike !== undefined) for (let i = 0; i < alike.length && i < TRIED; i++) if (alike[i].has(o)) return alike[i]
  if (shapes.length === SHAPES) return undefined
  const made = shapeOf(o, isClear)
  if (made === undefined) return undefined
  shapes.push(made)
  w.byKey.set(last, [made, ...alike ?? []])
  return made
}

// isClear reports whether the prototype of an object says of it that there is nothing but its properties.
/** @type {(p: object) => boolean} */
function isClear(p) {
  const name = nameOf.get(p)
  return !privates.has(p) && p !== Scope.prototype && (name === undefined || /^(Object|Function|Iterator)\b/.test(name))
}

/** @type {(w: Walk, o: object, place: number | undefined, shape: Shape, depth: number) => void} */
function writeShape(w, o, place, shape, depth) {
  w.meet(o, place)
  const { keys, written } = shape
  const n = keys.length
  if (shape.p === OBJECT) w.tagged(42, n)
  else {
    w.simple = false
    w.tagged(44, n)
  }
  const levels = roomIn(w, n)
  if (levels === null) {
    for (let i = 0; i < n; i++) {
      writeKey(w, shape, i)
      w.one(valueOf(o, keys[i]), depth + 1)
    }
  } else {
    levels.kinds.push(shape)
    const from = levels.take(n)
    let { count } = levels
    for (let i = 0; i < n; i++) levels.put(from + i, valueOf(o, keys[i]))
    const { slots, numbers } = levels
    for (let i = 0; i < n; i++) {
      if (written[i] >= 0) w.tagged(2, written[i])
      else writeKey(w, shape, i)
      const x = slots[from + i]
      if (x === NUMBER) w.number(numbers[count++])
      else w.one(x, depth + 1)
    }
  }
  if (shape.p !== OBJECT) w.one(shape.p, depth + 1)
}

/** @type {(o: object, k: string) => unknown} */
const valueOf = (o, k) => /** @type {Record<string, unknown>} */ (o)[k]

/** @type {(w: Walk, shape: Shape, i: number) => void} */
function writeKey(w, shape, i) {
  shape.written[i] = w.key(shape.keys[i])
}

/** @type {(w: Walk, v: unknown[], depth: number) => void} */
function writeList(w, v, depth) {
  const n = v.length
  if (n > FEW && writeNumbers(w, v, n)) return
  w.tagged(31, n)
  const levels = roomIn(w, n)
  if (levels !== null) noteList(levels, v, n)
  for (let i = 0; i < n; i++) {
    const x = v[i]
    if (x === undefined && !(i in v)) w.tag(6)
    else w.one(x, depth + 1)
  }
}

/** @type {(levels: Levels, v: unknown[], n: number) => void} */
function noteList(levels, v, n) {
  if (n > SHORT) {
    const { values } = note(levels, 'list', n)
    for (let i = 0; i < n; i++) {
      const x = v[i]
      values[i] = x === undefined && !(i in v) ? HOLE : x
    }
    return
  }
  levels.kinds.push(n)
  const from = levels.take(n)
  for (let i = 0; i < n; i++) {
    const x = v[i]
    levels.put(from + i, x === undefined && !(i in v) ? HOLE : x)
  }
}

// note returns a copy of n values that is to be filled.
/** @type {(levels: Levels, of: Copy['of'], n: number) => Copy} */
function note(levels, of, n) {
  const copy = new Copy(of, n)
  levels.kinds.push(copy)
  return copy
}

// roomIn returns the levels of a walk, if they have room for some values.
/** @type {(w: Walk, n: number) => Levels | null} */
function roomIn(w, n) {
  if (w.levels !== null && (w.levels.held += n) > MANY) w.levels = null
  return w.levels
}

/** @type {(w: Walk, v: unknown[], n: number) => boolean} */
function writeNumbers(w, v, n) {
  for (let i = 0; i < n; i++) {
    const x = v[i]
    if (typeof x !== 'number' || x !== x) return false
  }
  w.tagged(30, n)
  const data = new Float64Array(n)
  for (let i = 0; i < n; i++) data[i] = /** @type {number} */ (v[i])
  w.bytes(new Uint8Array(data.buffer))
  w.levels?.kinds.push(data)
  return true
}

/** @type {(w: Walk, o: object, place: number | undefined, depth: number) => boolean} */
function writeCollection(w, o, place, depth) {
  if (isMap(o)) {
    w.meet(o, place)
    const n = apply(mapSize, o, [])
    w.tagged(33, n)
    const levels = roomIn(w, 2 * n)
    const copy = levels && note(levels, 'map', 2 * n)
    if (copy !== null) apply(mapForEach, o, [(/** @type {unknown} */ x, /** @type {unknown} */ k) => {
      copy.values[copy.at++] = k
      copy.values[copy.at++] = x
    }])
    writeNoProperties(w, o, depth)
    apply(mapForEach, o, [(/** @type {unknown} */ x, /** @type {unknown} */ k) => {
      w.one(k, depth + 1)
      w.one(x, depth + 1)
    }])
  } else if (isSet(o)) {
    w.meet(o, place)
    const n = apply(setSize, o, [])
    w.tagged(34, n)
    const levels = roomIn(w, n)
    const copy = levels && note(levels, 'set', n)
    if (copy !== null) apply(setForEach, o, [(/** @type {unknown} */ x) => { copy.values[copy.at++] = x }])
    writeNoProperties(w, o, depth)
    apply(setForEach, o, [(/** @type {unknown} */ x) => w.one(x, depth + 1)])
  } else if (isDate(o)) {
    w.meet(o, place)
    const time = apply(getTime, o, [])
    w.tag(35)
    w.float(time)
    const levels = roomIn(w, 1)
    levels?.kinds.push(DATE)
    levels?.put(levels.take(1), time)
    writeNoProperties(w, o, depth)
  } else return false
  return true
}

// writeNoProperties writes that an object has none, and its prototype.
/** @type {(w: Walk, o: object, depth: number) => void} */
function writeNoProperties(w, o, depth) {
  w.simple = false
  w.int(0)
  w.one(prototype(o), depth + 1)
}

module.exports = { fast, Levels, Slow, Copy, HOLE, NUMBER, DATE, sizeOf }
