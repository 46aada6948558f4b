'use strict'
// State of console, util.inspect and process that outlives a node: indentation, counters, timers, default options,
// arguments.

const util = require('util')
const v8 = require('v8')
const intrinsics = require('./intrinsics')
const { inspect } = util
const { isObject } = intrinsics
const { parse, stringify } = JSON

// Setting is state that a key names. text says what a program can see of it, bytes restore it.
class Setting {
  constructor(key, text, bytes, put) {
    Object.assign(this, { key, text, bytes, put, touched: false })
    this.plain = this.was = text()
  }

  start() {
    this.touched = false
    this.was = this.text()
  }
}

// settings observes console and util.inspect from now on.
function settings(marks) {
  const symbol = (name) => Object.getOwnPropertySymbols(console).find((s) => s.description === name)
  const group = watched(symbol('kGroupIndent') ?? symbol('kGroupIndentationString'), () => { found[0].touched = true })
  const counts = watched(symbol('counts'), () => { found[1].touched = true })
  const timers = watched('_times', () => {
    found[2].touched = true
    marks.add('clock')
  })
  const options = inspect.defaultOptions
  const { argv } = process
  const given = watched('argv', () => { found[4].touched = true }, process)
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
  watchInspect(symbol, () => { found[3].touched = true }, (text) => {
    if (NUMBERED.test(text)) marks.add('process')
    return text
  })
  return found
}

// NUMBERED is in the text of a timer, a socket and the like: Node numbers them as it makes them.
const NUMBERED = /Symbol\((?:asyncId|async_id_symbol)\)\]?: \d/

// watched puts an accessor in the place of a property.
function watched(key, touch, o = console) {
  const { value, enumerable } = Object.getOwnPropertyDescriptor(o, key)
  const slot = { value }
  Object.defineProperty(o, key, {
    get() { touch(); return slot.value },
    set(v) { touch(); slot.value = v },
    enumerable, configurable: true,
  })
  return slot
}

function fill(map, entries) {
  map.clear()
  for (const [k, v] of entries) map.set(k, v)
}

const optionsText = (o) => stringify(o, (k, v) => (v === Infinity ? 'Infinity' : v))
const optionsOf = (text) => parse(text, (k, v) => (v === 'Infinity' ? Infinity : v))

// watchInspect notes where objects are shown, since their text depends on the default options, and looks at the text.
function watchInspect(symbol, touch, look) {
  let formatting = false
  for (const o of [console, console.Console.prototype]) {
    for (const name of ['kFormatForStdout', 'kFormatForStderr']) {
      const format = o[symbol(name)]
      define(o, symbol(name), function (args) {
        const outer = formatting
        formatting = true
        try {
          if (!args.some(isObject)) return Reflect.apply(format, this, [args])
          touch()
          return look(Reflect.apply(format, this, [args]))
        } finally {
          formatting = outer
        }
      })
    }
    const options = o[symbol('kGetInspectOptions')]
    define(o, symbol('kGetInspectOptions'), function (stream) {
      if (!formatting) touch()
      return Reflect.apply(options, this, [stream])
    })
  }
  util.inspect = new Proxy(inspect, {
    apply(target, self, args) { touch(); return look(Reflect.apply(target, self, args)) },
    get(target, k) { if (k === 'defaultOptions') touch(); return target[k] },
    set(target, k, v) { if (k === 'defaultOptions') touch(); target[k] = v; return true },
  })
  for (const name of ['format', 'formatWithOptions']) {
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

function define(o, key, value) {
  Object.defineProperty(o, key, { value, writable: true, enumerable: false, configurable: true })
}

// begin gives the default options a name: a value that is these options is them in another process as well.
function begin() {
  intrinsics.nameOf.set(inspect.defaultOptions, 'inspect.defaultOptions')
  intrinsics.named.set('inspect.defaultOptions', inspect.defaultOptions)
}

module.exports = { begin, settings }
