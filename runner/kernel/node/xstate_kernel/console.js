'use strict'
// State of console, util.inspect and process that outlives a node: indentation, counters, timers, default options,
// arguments.

/** @import {Marks} from './marks' */

const util = require('util')
const v8 = require('v8')
const intrinsics = require('./intrinsics')
const { inspect } = util
const { isObject } = intrinsics
const { parse, stringify } = JSON

// Setting is state that a key names. text says what a program can see of it, bytes restore it.
class Setting {
  /**
   * @param {string} key
   * @param {() => string} text
   * @param {() => Buffer} bytes
   * @param {(data: Buffer | null) => void} put restores; null: what it was at first
   */
  constructor(key, text, bytes, put) {
    this.key = key
    this.text = text
    this.bytes = bytes
    this.put = put
    this.touched = false
    this.plain = this.was = text()
  }

  start() {
    this.touched = false
    this.was = this.text()
  }
}

// settings observes console and util.inspect from now on.
/** @type {(marks: Marks) => Setting[]} */
function settings(marks) {
  /** @type {{ value: string }} */
  const group = watched(symbolOf('kGroupIndent', 'kGroupIndentationString'), () => { found[0].touched = true })
  /** @type {{ value: Map<string, number> }} */
  const counts = watched(symbolOf('counts'), () => { found[1].touched = true })
  /** @type {{ value: Map<string, unknown> }} */
  const timers = watched('_times', () => {
    found[2].touched = true
    marks.add('clock')
  })
  const options = inspect.defaultOptions
  const { argv } = process
  /** @type {{ value: unknown }} */
  const given = watched('argv', () => { found[4].touched = true }, process)
  /** @type {Setting[]} */
  const found = [
    new Setting('conf:console.group', () => group.value, () => Buffer.from(group.value),
      (data) => { group.value = data === null ? '' : data.toString() }),
    new Setting('conf:console.counts', () => stringify([...counts.value]), () => Buffer.from(found[1].text()),
      (data) => fill(counts.value, data === null ? [] : parse(data.toString()))),
    new Setting('conf:console.timers', () => stringify([...timers.value.keys()]),
      () => v8.serialize([...timers.value]), (data) => fill(timers.value, data === null ? [] : v8.deserialize(data))),
    new Setting('conf:inspect', () => optionsText(options), () => Buffer.from(optionsText(options)),
      (data) => { Object.assign(options, optionsOf(data === null ? found[3].plain : data.toString())) }),
    new Setting('conf:arguments', () => stringify(given.value), () => Buffer.from(found[4].text()), (data) => {
      given.value = argv
      argv.splice(0, Infinity, ...parse(data === null ? found[4].plain : data.toString()))
    }),
  ]
  watchInspect( () => { found[3].touched = true }, (text) => {
    if (NUMBERED.test(text)) marks.add('process')
    return text
  })
  return found
}

// NUMBERED is in the text of a timer, a socket and the like: Node numbers them as it makes them.
const NUMBERED = /Symbol\((?:asyncId|async_id_symbol)\)\]?: \d/

// symbolOf returns the first symbol of console that has one of some names: versions of Node differ in them.
/** @type {(...names: string[]) => symbol} */
function symbolOf(...names) {
  const own = Object.getOwnPropertySymbols(console)
  const found = names.map((name) => own.find((s) => s.description === name)).find((s) => s !== undefined)
  if (found === undefined) throw new Error(`console has no symbol ${names.join(' or ')}`)
  return found
}

/**
 * watched puts an accessor in the place of a property. It returns where the value is from now on.
 * @template T
 * @param {PropertyKey} key
 * @param {() => void} touch is called when the program reads or sets the property
 * @param {object} o
 * @returns {{ value: T }}
 */
function watched(key, touch, o = console) {
  const { value, enumerable } = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(o, key))
  const slot = { value }
  Object.defineProperty(o, key, {
    get() { touch(); return slot.value },
    set(v) { touch(); slot.value = v },
    enumerable, configurable: true,
  })
  return slot
}

/** @type {<K, V>(map: Map<K, V>, entries: Iterable<[K, V]>) => void} */
function fill(map, entries) {
  map.clear()
  for (const [k, v] of entries) map.set(k, v)
}

/** @type {(o: object) => string} */
const optionsText = (o) => stringify(o, (k, v) => (v === Infinity ? 'Infinity' : v))
/** @type {(text: string) => object} */
const optionsOf = (text) => parse(text, (k, v) => (v === 'Infinity' ? Infinity : v))

// watchInspect notes where objects are shown, since their text depends on the default options, and looks at the text.
/** @type {(touch: () => void, look: (text: string) => string) => void} */
function watchInspect(touch, look) {
  let formatting = false
  for (const o of [console, console.Console.prototype]) {
    const inner = /** @type {Record<symbol, Function>} */ (/** @type {unknown} */ (o))
    for (const key of [symbolOf('kFormatForStdout'), symbolOf('kFormatForStderr')]) {
      const format = inner[key]
      define(o, key, /** @type {(this: unknown, args: unknown[]) => string} */ (function (args) {
        const outer = formatting
        formatting = true
        try {
          if (!args.some(isObject)) return Reflect.apply(format, this, [args])
          touch()
          return look(Reflect.apply(format, this, [args]))
        } finally {
          formatting = outer
        }
      }))
    }
    const key = symbolOf('kGetInspectOptions')
    const options = inner[key]
    define(o, key, /** @type {(this: unknown, stream: unknown) => unknown} */ (function (stream) {
      if (!formatting) touch()
      return Reflect.apply(options, this, [stream])
    }))
  }
  const members = /** @type {Record<PropertyKey, unknown>} */ (/** @type {unknown} */ (inspect))
  util.inspect = new Proxy(inspect, {
    apply(target, self, args) { touch(); return look(Reflect.apply(target, self, args)) },
    get(target, k) { if (k === 'defaultOptions') touch(); return members[k] },
    set(target, k, v) { if (k === 'defaultOptions') touch(); members[k] = v; return true },
  })
  for (const name of /** @type {const} */ (['format', 'formatWithOptions'])) {
    const inner = util[name]
    util[name] = new Proxy(inner, {
      apply(target, self, args) {
        if (!args.some(isObject)) return Reflect.apply(target, self, args)
        touch()
        return look(Reflect.apply(target, self, args))
      },
    })
  }
}

/** @type {(o: object, key: PropertyKey, value: unknown) => void} */
function define(o, key, value) {
  Object.defineProperty(o, key, { value, writable: true, enumerable: false, configurable: true })
}

// begin gives the default options a name: a value that is these options is them in another process as well.
function begin() {
  intrinsics.nameOf.set(inspect.defaultOptions, 'inspect.defaultOptions')
  intrinsics.named.set('inspect.defaultOptions', inspect.defaultOptions)
}

module.exports = { begin, settings, Setting }
