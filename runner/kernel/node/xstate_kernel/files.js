'use strict'
// Observes what a node does with files by functions of Node. The sandbox observes native code and child processes.

/** @import {Marks} from './marks' */
/** @import {Options, Run} from './messages' */
/** @typedef {null | 'presence'} Read null: the content was read; else only whether the file is there */
/** @typedef {{ copy: string, mode: number, time: number }} Before a file before the node: its copy, or its kind */
/** @typedef {(...args: any[]) => void} Hook is given the arguments of a function of fs before it is called */

const fs = require('fs')
const path = require('path')
const { fileURLToPath } = require('url')
const { syncBuiltinESMExports } = require('module')
const descriptors = require('./descriptors').open
const { Listings } = require('./listings')
const { lstatSync, statSync, copyFileSync, readlinkSync, realpathSync, readdirSync, existsSync } = fs
const DRIVER = path.resolve(__dirname, '..')
const INPUT = /^\/(dev\/stdin|proc\/self\/fd\/0|dev\/fd\/0)$/ // paths of the standard input

class Files {
  /** @param {Options} options @param {Marks} marks */
  constructor(options, marks) {
    this.marks = marks
    this.folder = options.folder
    this.aside = [options.spool, options.store, DRIVER].filter(Boolean).map((p) => safeReal(p) + path.sep)
    this.spool = options.spool
    this.copies = 0
    this.active = false
    this.silent = 0
    this.cwd = process.cwd
    /** @type {Record<string, Read>} */
    this.reads = {}
    /** @type {Set<string>} */
    this.listings = new Set()
    /** @type {Record<string, Before | null>} */
    this.writes = {}
    /** @type {Set<string>} */
    this.modes = new Set()
    /** @type {Set<string>} */
    this.times = new Set()
    /** @type {Record<string, number>} */
    this.chmods = {}
    this.observed = 0
    this.inputUsed = false // it may have read the standard input
    this.listed = new Listings(safeReal(options.store), (p) => this.quietly(() => safeReal(p)))
    this.watch()
  }

  reset() {
    this.reads = {}
    this.listings = new Set()
    this.writes = {}
    this.modes = new Set()
    this.times = new Set()
    this.chmods = {}
    this.observed = 0
    this.inputUsed = false
  }

  /** @type {(request: Run) => void} */
  begin(request) {
    this.reset()
    this.active = true
    this.marks.observed = Boolean(request.observed)
  }

  /** @type {(request: Run) => void} */
  end(request) {
    this.active = false
    this.observed = request.observed ?? 0
  }

  report() {
    return {
      reads: this.reads, listings: [...this.listings].sort(), writes: this.writes, modes: [...this.modes].sort(),
      chmods: this.chmods, times: [...this.times].sort(), open: {}, used: [], disregarded: [], observed: this.observed,
    }
  }

  // quietly calls a function whose effects belong to no node.
  /** @type {<T>(f: () => T) => T} */
  quietly(f) {
    this.silent++
    try {
      return f()
    } finally {
      this.silent--
    }
  }

  // of returns the absolute path of an argument if it belongs to the program, else null.
  /** @type {(p: unknown, follow?: boolean) => string | null} */
  of(p, follow = true) {
    if (!this.active || this.silent) return null
    if (p === 0 || INPUT.test(/** @type {string} */ (p))) this.inputUsed = true
    if (typeof p === 'number' || p === undefined || p === null) return null
    /** @type {string} */
    let text
    try {
      if (p instanceof URL) text = fileURLToPath(p)
      else text = typeof p === 'string' ? p : Buffer.from(/** @type {Buffer} */ (p)).toString()
    } catch {
      return null
    }
    return this.quietly(() => {
      let p = path.normalize(path.isAbsolute(text) ? text : path.join(this.cwd(), text))
      if (p.length > 1 && p.endsWith(path.sep)) p = p.slice(0, -1)
      if (/^\/(proc|dev|sys)\//.test(p) && !p.startsWith('/dev/shm/')) return null
      const head = follow ? p : path.dirname(p)
      const real = safeReal(head)
      if (real !== head) {
        this.links(head)
        p = follow ? real : path.join(real, path.basename(p))
      }
      if (this.aside.some((a) => (p + path.sep).startsWith(a)) || p.includes('/node_modules/')) return null
      return p
    })
  }

  // links notes the symbolic links in a path as read.
  /** @type {(p: string) => void} */
  links(p) {
    /** @type {string} */
    let at = path.sep
    for (const part of p.split(path.sep).filter(Boolean)) {
      at = path.join(at, part)
      try {
        if (lstatSync(at).isSymbolicLink()) this.reads[at] = null
      } catch {
        return
      }
    }
  }

  /** @type {(p: unknown, follow?: boolean) => void} */
  read(p, follow) {
    const at = this.of(p, follow)
    if (at !== null && !(at in this.writes)) this.reads[at] = null
  }

  /** @type {(p: unknown, follow?: boolean) => void} */
  look(p, follow) {
    const at = this.of(p, follow)
    if (at !== null && !(at in this.reads) && !(at in this.writes)) this.reads[at] = 'presence'
  }

  // missed notes that a module was looked for at a path and was not there, in node_modules as well.
  /** @type {(p: string) => void} */
  missed(p) {
    if (this.active) this.reads[p] ??= 'presence'
  }

  // status notes that the state of a file was asked for: its size and content time depend on its content.
  /** @type {(p: unknown, follow?: boolean) => void} */
  status(p, follow) {
    const at = this.of(p, follow)
    if (at === null) return
    if (!(at in this.writes)) {
      const s = this.quietly(() => statOf(at))
      if (s === null || s.isDirectory()) this.reads[at] ??= 'presence'
      else this.reads[at] = null
    }
    this.modes.add(at)
  }

  /** @type {(p: unknown) => void} */
  list(p) {
    const at = this.of(p)
    if (at === null) return
    this.listings.add(at)
    const s = this.quietly(() => statOf(at))
    if (s === null || !s.isDirectory()) this.reads[at] ??= 'presence'
  }

  // write keeps what was at a path before it changes.
  /** @type {(p: unknown, follow?: boolean) => void} */
  write(p, follow = true) {
    const at = this.of(p, follow)
    if (at === null || at in this.writes) return
    this.writes[at] = this.quietly(() => this.before(at))
    const folder = path.dirname(at)
    if (folder !== this.folder && !(folder in this.writes)) this.reads[folder] ??= 'presence'
  }

  /** @type {(at: string) => Before | null} */
  before(at) {
    let s
    try {
      s = lstatSync(at, { bigint: true })
    } catch {
      return null
    }
    let copy = 'special'
    if (s.isDirectory()) copy = 'directory'
    else if (s.isSymbolicLink()) copy = 'symlink:' + readlinkSync(at)
    else if (s.isFile()) {
      copy = path.join(this.spool, `before-${++this.copies}`)
      copyFileSync(at, copy)
    }
    return { copy, mode: Number(s.mode & 0o7777n), time: Number(s.mtimeNs) }
  }

  // tree keeps what a folder holds, before all of it changes.
  /** @type {(p: unknown) => void} */
  tree(p) {
    const at = this.of(p, false)
    if (at === null) return
    this.write(at, false)
    const s = this.quietly(() => statOf(at, true))
    if (s?.isDirectory()) {
      for (const n of this.quietly(() => readdirSync(at))) this.tree(path.join(at, n))
    }
  }

  /** @type {(p: unknown, flags?: unknown) => void} */
  opened(p, flags = 'r') {
    const text = typeof flags === 'number' ? '' : String(flags)
    const number = typeof flags === 'number' ? flags : 0
    const { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND, O_EXCL } = fs.constants
    const writes = /[wa+]/.test(text) || (number & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)) !== 0
    const reads = /^r|^a|\+/.test(text) || text === '' && (number & O_WRONLY) === 0 || (number & O_APPEND) !== 0 ||
      text === '' && (number & (O_WRONLY | O_TRUNC)) === O_WRONLY
    if (reads) this.read(p)
    if (/x/.test(text) || number & O_EXCL) this.look(p)
    if (writes) this.write(p)
  }

  watch() {
    const hooks = hooksOf(this)
    for (const [name, hook] of Object.entries(hooks)) {
      for (const n of [name, name + 'Sync']) this.wrap(fs, n, hook)
      this.wrap(fs.promises, name, hook)
    }
    for (const o of [fs.realpath, fs.realpathSync]) this.wrap(o, 'native', hooks.realpath)
    this.listed.watch()
    syncBuiltinESMExports()
  }

  // wrap puts a function that calls a hook in the place of a function of fs.
  /** @type {(o: object, name: string, hook: Hook) => void} */
  wrap(o, name, hook) {
    const p = Object.getOwnPropertyDescriptor(o, name)
    if (typeof p?.value !== 'function') return
    const f = this
    const inner = p.value
    const outer = {
      /** @type {(this: unknown, ...args: unknown[]) => unknown} */
      [name](...args) {
        const counts = f.active && !f.silent
        if (counts) hook(...args)
        if (counts && name === 'open' && o === fs) args.push(noted(args.pop()))
        if (counts && name === 'readdir' && o === fs) args.push(f.listed.then(args[0], args.pop()))
        const found = Reflect.apply(inner, this, args)
        if (counts && name.startsWith('readdir')) return f.listed.shown(args[0], found)
        if (counts && name === 'openSync') descriptors.set(/** @type {number} */ (found), {})
        return found
      },
    }[name]
    for (const k of Reflect.ownKeys(inner)) {
      if (k === 'prototype' || Reflect.getOwnPropertyDescriptor(outer, k)?.configurable === false) continue
      const own = /** @type {PropertyDescriptor} */ (Reflect.getOwnPropertyDescriptor(inner, k))
      Reflect.defineProperty(outer, k, own)
    }
    Object.defineProperty(o, name, { ...p, value: outer })
  }

  /** @type {(p: unknown) => void} */
  permissions(p) {
    const at = this.of(p)
    if (at === null) return
    this.look(p)
    this.modes.add(at)
    const s = this.quietly(() => statOf(at))
    if (s !== null && !(at in this.chmods)) this.chmods[at] = s.mode & 0o7777
  }

  // folders notes what mkdir -p makes.
  /** @type {(p: unknown) => void} */
  folders(p) {
    let at = this.of(p)
    while (at !== null && at !== path.dirname(at)) {
      const here = at
      this.look(here)
      if (this.quietly(() => statOf(here)) !== null) return
      this.write(here)
      at = path.dirname(here)
    }
  }

  // below notes all that a folder holds as read.
  /** @type {(p: unknown) => void} */
  below(p) {
    const at = this.of(p)
    if (at === null) return
    const s = this.quietly(() => statOf(at))
    if (!s?.isDirectory()) {
      this.read(at)
      return
    }
    this.list(at)
    for (const n of this.quietly(() => readdirSync(at))) this.below(path.join(at, n))
  }

  /** @type {(p: unknown) => void} */
  moved(p) {
    this.below(p)
  }

  // target notes the files that a copy or move of a folder makes.
  /** @type {(a: unknown, b: unknown) => void} */
  target(a, b) {
    const from = this.of(a, false)
    if (from === null) return
    const s = this.quietly(() => statOf(from, true))
    if (!s?.isDirectory()) return
    for (const n of this.quietly(() => readdirSync(from))) {
      this.write(path.join(String(b), n), false)
      this.target(path.join(from, n), path.join(String(b), n))
    }
  }
}

// hooksOf returns what the functions of fs do to files, by name. It is also of those that end in Sync.
/** @type {(f: Files) => Record<string, Hook>} */
function hooksOf(f) {
  return {
    open: (p, flags) => f.opened(p, typeof flags === 'function' ? 'r' : flags),
    readFile: (p, o) => f.opened(p, o?.flag ?? 'r'),
    openAsBlob: (p) => f.read(p),
    createReadStream: (p) => f.read(p),
    createWriteStream: (p, o) => f.opened(p, o?.flags ?? 'w'),
    writeFile: (p, d, o) => f.opened(p, o?.flag ?? 'w'),
    appendFile: (p, d, o) => f.opened(p, o?.flag ?? 'a'),
    truncate: (p) => { f.read(p); f.write(p) },
    read: (fd) => { if (fd === 0) f.inputUsed = true },
    close: (fd) => descriptors.delete(fd),
    exists: (p) => f.look(p),
    access: (p) => { f.look(p); const at = f.of(p); if (at) f.modes.add(at) },
    stat: (p) => f.status(p),
    lstat: (p) => f.status(p, false),
    statfs: () => f.marks.add('process'),
    readdir: (p, o) => { f.list(p); if (o?.recursive) f.below(p) },
    opendir: (p) => f.list(p),
    scandir: (p) => f.list(p),
    glob: () => f.marks.add('unobserved glob'),
    readlink: (p) => f.read(p, false),
    realpath: (p) => f.look(p),
    mkdir: (p, o) => { if (o?.recursive) f.folders(p); else { f.look(p); f.write(p) } },
    mkdtemp: (p) => { f.marks.add('entropy') },
    rmdir: (p, o) => { f.list(p); if (o?.recursive) f.tree(p); else f.write(p, false) },
    rm: (p, o) => { f.look(p, false); if (o?.recursive) f.tree(p); else f.write(p, false) },
    unlink: (p) => { f.look(p, false); f.write(p, false) },
    rename: (a, b) => { f.moved(a); f.tree(a); f.tree(b); f.target(a, b) },
    copyFile: (a, b) => { f.read(a); f.write(b) },
    cp: (a, b) => { f.below(a); f.tree(b); f.target(a, b) },
    link: (a, b) => { f.read(a); f.look(b, false); f.write(b, false) },
    symlink: (a, b) => { f.look(b, false); f.write(b, false) },
    chmod: (p) => f.permissions(p),
    lchmod: (p) => f.permissions(p),
    chown: (p) => f.permissions(p),
    utimes: (p) => { f.look(p); f.write(p) },
    lutimes: (p) => { f.look(p, false); f.write(p, false) },
    watch: () => f.marks.add('unobserved watch'),
    watchFile: () => f.marks.add('unobserved watch'),
  }
}

// noted returns a callback of open that notes the descriptor first.
/** @type {(then: unknown) => unknown} */
function noted(then) {
  if (typeof then !== 'function') return then
  return /** @type {(this: unknown, e: unknown, fd: number) => unknown} */ (function (e, fd) {
    if (!e) descriptors.set(fd, {})
    return Reflect.apply(then, this, arguments)
  })
}

/** @type {(p: string) => string} */
function safeReal(p) {
  try {
    return realpathSync.native(p)
  } catch {
    const up = path.dirname(p)
    return up === p ? p : path.join(safeReal(up), path.basename(p))
  }
}

/** @type {(p: string, link?: boolean) => fs.Stats | null} */
function statOf(p, link = false) {
  try {
    return link ? lstatSync(p) : statSync(p)
  } catch {
    return null
  }
}

module.exports = { Files }
