'use strict'
// Layouts of objects. To ask an object for its prototype, its keys, their attributes and its inside takes longer than
// to read what it holds. Objects of one layout have all of that in common, so one of them is asked, and the others are
// compared with it.
//
// V8 gives each object a map (its hidden class). The map has the kind of object, with all that a program cannot reach,
// the prototype, whether it can be extended, and, unless the map is that of a dictionary, the keys in their order with
// their attributes, getters and setters, also those of symbols and private fields. It has the kind of elements (the
// properties whose keys are indices), and that kind says when one is not an ordinary property. The map has neither the
// values nor the number of elements. So two objects of one map differ in nothing else. Where a map changes though the
// object does not (V8 generalizes it), two objects only seem to differ, and are asked one by one.
//
// The maps of two objects are compared by a function of V8's own tests. The flag that lets a text call it is set while
// that text is compiled, and not while any other is. V8 throws the compiled code of a function away that was not called
// for long: then it is compiled again. A Node that lacks the function has no layouts: each object is asked.

const v8 = require('v8')
const vm = require('vm')
const { types } = require('util')
const { nameOf } = require('./intrinsics')

const { getOwnPropertyDescriptor: property, ownKeys, getPrototypeOf: prototype, isExtensible } = Reflect
const { setFlagsFromString } = v8
const { Script } = vm
const { runInThisContext } = Script.prototype
const { apply } = Reflect
const OBJECT = Object.prototype
const INDEX = /^\d+$/

/** @typedef {{ same: (a: object, b: object) => boolean, quick: (o: object) => boolean }} Layouts */

/** @type {Layouts} */
const UNKNOWN = { same: () => false, quick: () => false }
let layouts = UNKNOWN

// compile makes the functions that know layouts.
function compile() {
  layouts = UNKNOWN
  try {
    setFlagsFromString('--allow-natives-syntax')
    try {
      const text = '({ same: (a, b) => %HaveSameMap(a, b), quick: (o) => %HasFastProperties(o) })'
      const made = /** @type {Layouts} */ (apply(runInThisContext, new Script(text), []))
      if (made.quick({}) && made.same([], []) && !made.same({}, []) && !made.same({ a: 1 }, { b: 1 })) layouts = made
    } finally {
      setFlagsFromString('--no-allow-natives-syntax')
    }
  } catch {}
}
compile()

// alike reports whether two objects have one layout. Unlike ones may seem to have two.
/** @type {(a: object, b: object) => boolean} */
function alike(a, b) {
  try {
    return layouts.same(a, b)
  } catch {
    compile()
    return layouts.same(a, b)
  }
}

// quick reports whether the layout of an object has its keys.
/** @type {(o: object) => boolean} */
function quick(o) {
  try {
    return layouts.quick(o)
  } catch {
    compile()
    return layouts.quick(o)
  }
}

// Lists that nothing was done to: each is an ordinary array, with elements of one kind.
/** @type {unknown[][]} */
const LISTS = [[1, 2], ['a', {}], [1.5, 2.5], [, 1], [, 'a'], [, 1.5]] // eslint-disable-line no-sparse-arrays

// isList reports whether an object is an array of Array.prototype without other properties than its elements, which
// are ordinary ones or holes.
/** @type {(o: object) => o is unknown[]} */
function isList(o) {
  for (let i = 0; i < LISTS.length; i++) {
    if (!alike(o, LISTS[i])) continue
    if (i) { // the next one is often of the same kind
      const found = LISTS[i]
      LISTS[i] = LISTS[i - 1]
      LISTS[i - 1] = found
    }
    return true
  }
  return false
}

const MAP = new Map()
const SET = new Set()
const DATE = new Date(0)
// isMap, isSet and isDate report whether an object is an ordinary one of its kind, without properties.
/** @type {(o: object) => o is Map<unknown, unknown>} */
const isMap = (o) => alike(o, MAP)
/** @type {(o: object) => o is Set<unknown>} */
const isSet = (o) => alike(o, SET)
/** @type {(o: object) => o is Date} */
const isDate = (o) => alike(o, DATE)

// Shape is the layout of objects with nothing but ordinary properties, whose keys are texts and no indices.
class Shape {
  /** @param {object} model one that has it @param {string[]} keys @param {object | null} p their prototype */
  constructor(model, keys, p) {
    this.model = model
    this.keys = keys
    this.p = p
    /** @type {object | undefined} */
    this.other = model // the last that was asked and has it
    this.written = new Int32Array(keys.length).fill(-1) // numbers of the keys in a walk, once they are written
  }

  // has reports whether an object has this shape. Unlike has by itself, it may answer no where yes is right.
  /** @type {(o: object) => boolean} */
  has(o) {
    return alike(o, this.model) && Object_keys(o).length === this.keys.length
  }

  // renew reports whether the model still has this shape.
  renew() {
    this.other = undefined
    return this.still(this.model)
  }

  // still reports whether an object that had this shape has it, too, at another time.
  /** @type {(o: object) => boolean} */
  still(o) {
    if (this.other !== undefined && alike(o, this.other)) return Object_keys(o).length === this.keys.length
    if (!isExtensible(o) || prototype(o) !== this.p) return false
    const keys = ownKeys(o)
    if (keys.length !== this.keys.length) return false
    for (let i = 0; i < keys.length; i++) if (keys[i] !== this.keys[i] || !isOrdinary(o, keys[i])) return false
    this.other = o
    return true
  }
}

const Object_keys = Object.keys

/** @type {(o: object, k: PropertyKey) => boolean} */
function isOrdinary(o, k) {
  const d = property(o, k)
  return d !== undefined && d.writable === true && d.enumerable === true && d.configurable === true
}

// shapeOf returns the shape of an object that is quick, and no function and no Proxy; undefined: it has none.
/** @type {(o: object, isClear: (p: object) => boolean) => Shape | undefined} */
function shapeOf(o, isClear) {
  if (!isExtensible(o)) return undefined
  const keys = ownKeys(o)
  for (const k of keys) {
    if (typeof k === 'symbol' || k === 'constructor' || INDEX.test(k) || !isOrdinary(o, k)) return undefined
  }
  const p = prototype(o)
  for (let q = p; q !== null; q = prototype(q)) if (types.isProxy(q) || q !== OBJECT && !isClear(q)) return undefined
  return isOrdinaryObject(o) ? new Shape(o, /** @type {string[]} */ (keys), p) : undefined
}

// isOrdinaryObject reports whether an object has no inside.
/** @type {(o: object) => boolean} */
function isOrdinaryObject(o) {
  return !(Array.isArray(o) || ArrayBuffer.isView(o) || types.isDate(o) || types.isMap(o) || types.isSet(o) ||
    types.isRegExp(o) || types.isArgumentsObject(o) || types.isNativeError(o) || types.isPromise(o) ||
    types.isBoxedPrimitive(o) || types.isAnyArrayBuffer(o) || types.isWeakMap(o) || types.isWeakSet(o) ||
    types.isGeneratorObject(o) || types.isExternal(o) || types.isMapIterator(o) || types.isSetIterator(o) ||
    types.isModuleNamespaceObject(o))
}

module.exports = { quick, isList, isMap, isSet, isDate, Shape, shapeOf }
