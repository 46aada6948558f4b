'use strict'
// Work that a script leaves for its end: the statements of a script are executed in one turn of Node's loop, as Node
// does, and callbacks run after the last one. Such work is in the interpreter alone, so that only a new one is without
// it.

const { AsyncResource } = require('async_hooks')
const { promiseHooks } = require('v8')
const { Script } = require('vm')
const now = performance.now.bind(performance)
const getActive = process.getActiveResourcesInfo.bind(process)

const LONG = 10 // milliseconds

/** @typedef {NodeJS.Timeout & { _destroyed: boolean, _idleTimeout: number, _repeat: number | null }} Timer */

class Turn {
  constructor() {
    /** @type {boolean | null} */
    this.module = null // the script is a module; null: it is not known
    this.left = false // the node has left something
    this.pending = false // so has it, or a node before
    /** @type {{ timer: Timer, due: number }[]} */
    this.timers = [] // by when they are due, in time that nodes took
    this.took = 0 // milliseconds, of nodes
    this.began = 0
    this.resources = 0
    /** @type {number | null} */
    this.own = null // things that call back which Node itself makes for a script; null: not known yet
    this.signals = 0
    /** @type {unknown} */
    this.code = undefined // with which the script exits
    /** @type {Function | null} */
    this.stop = null // ends what looks at promises while a node is executed
    /** @type {Function[]} */
    this.listeners = []
  }

  // begin notes from now on whether the program makes a promise, a timer or something else that calls back.
  begin() {
    this.own ??= ownResources()
    this.signals = process.listenerCount('SIGINT')
    this.code = process.exitCode
    this.listeners = registered()
    this.stop = promiseHooks.onInit(() => { this.left = true })
    this.resources = nextResource()
    this.began = now()
  }

  // timer notes a timer.
  /** @type {(timer: NodeJS.Timeout) => void} */
  timer(timer) {
    if (this.stop !== null) {
      this.timers.push({ timer: /** @type {Timer} */ (timer), due: this.took + since(this.began) })
    }
  }

  // resume lets time pass for the timers of a script again. It has not passed since their node ended: else their order
  // would depend on the engine.
  resume() {
    const { took } = this
    const timers = this.timers.filter(({ timer }) => !timer._destroyed && timer._idleTimeout > 0)
    for (const t of timers) t.due += t.timer._idleTimeout
    timers.sort((a, b) => a.due - b.due)
    for (const { timer, due } of timers) {
      const { _idleTimeout } = timer
      timer._idleTimeout = Math.max(1, Math.round(due - took))
      timer.refresh()
      if (timer._repeat) timer._repeat = _idleTimeout
    }
    this.timers = []
  }

  end() {
    if (this.stop === null) return
    this.took += since(this.began)
    if (nextResource() > this.resources + 1 + (this.own ?? 0)) this.left = true
    if (process.listenerCount('SIGINT') !== this.signals || process.exitCode !== this.code) this.left = true
    this.stop()
    this.stop = null
    const all = registered()
    if (all.length !== this.listeners.length || all.some((f, i) => f !== this.listeners[i])) this.left = true
  }

  // settle reports whether the node has left something, and forgets that.
  settle() {
    const { left } = this
    this.left = false
    this.pending ||= left
    return left
  }

  // waits returns the kinds of what Node's loop waits for, and active those without what it does at once.
  waits() { return getActive().filter((k) => k !== 'TTYWrap') }

  active() { return this.waits().filter((k) => k !== 'Immediate') }

  // idleness returns a function that counts how often in a row it was called without a new thing that calls back, in a
  // turn of Node's loop each time. own is how many the caller makes between two calls.
  /** @type {(own: number) => () => number} */
  idleness(own) {
    let last = nextResource()
    let turns = 0
    return () => {
      const next = nextResource()
      turns = next > last + own + 1 ? 0 : turns + 1
      last = next
      return turns
    }
  }
}

// nextResource returns the number that Node gives the next thing that calls back: it counts all but promises. A hook
// for them would show in what a promise looks like.
function nextResource() {
  return new AsyncResource('xstate', { requireManualDestroy: true }).asyncId()
}

// ownResources returns how many such numbers Node gives for a script that an interrupt may end: around it, Node takes
// away the listeners of that signal, and adds them again.
function ownResources() {
  const before = nextResource()
  new Script('0').runInThisContext({ breakOnSigint: true })
  return nextResource() - before - 1
}

// since returns how long a node has run, if that is more than what it takes to observe it.
/** @type {(began: number) => number} */
function since(began) {
  const took = now() - began
  return took > LONG ? took : 0
}

// registered returns what listens to the process. An interrupt has other listeners while a script runs.
function registered() {
  const names = /** @type {'exit'[]} */ (process.eventNames().filter((name) => name !== 'SIGINT'))
  return names.flatMap((name) => process.listeners(name))
}

// Left is the setting that says that something is left, see hidden.js.
class Left {
  /** @param {() => boolean} pending */
  constructor(pending) {
    this.key = 'conf:exit'
    this.plain = this.was = ''
    this.touched = false
    this.text = () => pending() ? 'left' : ''
  }

  start() { this.was = this.text() }

  put() {}

  bytes() { return Buffer.alloc(0) }
}

module.exports = { Turn, Left }
