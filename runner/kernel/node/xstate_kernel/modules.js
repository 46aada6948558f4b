'use strict'
// Modules that the program imports: of Node, of packages, and of the workspace. Those of the workspace are compiled by
// the driver, so that they can be unloaded when their files are edited.

/** @import {Files} from './files' */
/** @import {Fingerprint} from './groups' */
/** @import {Kernel} from './kernel' */
/** @import {Marks, OnWorker} from './marks' */
/** @import {Options} from './messages' */
/** @import {Loader} from './node' */
/** @import {Own} from './module_states' */
/** @import {ValueOf} from './package_states' */
/** @typedef {Record<string, unknown>} Namespace */

const fs = require('fs')
const path = require('path')
const vm = require('vm')
const Module = require('module')
const { pathToFileURL, fileURLToPath } = require('url')
const events = require('events')
const { getDefaultHighWaterMark } = require('stream')
const intrinsics = require('./intrinsics')
const { chain } = require('./closures')
const { Packages, packageName } = require('./packages')
const { PackageStates } = require('./package_states')
const { Resolver, coded } = require('./resolver')
const { ModuleStates, hashOf } = require('./module_states')
const { know, walked } = require('./walk')

const loader = /** @type {Loader} */ (/** @type {unknown} */ (Module))
// owned is the property of a key that is known to be there.
const owned = /** @type {(o: object, k: PropertyKey) => PropertyDescriptor} */ (Reflect.getOwnPropertyDescriptor)
const { readFileSync } = fs
const PACKAGES = loader.globalPaths.map((p) => path.normalize(p)) // where packages are that belong to the machine
const NAMED = /\b(?:require|import)\s*\(\s*['"`]([^'"`]+)|\b(?:from|import)\s*['"]([^'"]+)/g // modules, in a text
/** @type {(p: string) => boolean} */
const isTyped = (p) => /\.[cm]?tsx?$/.test(p)

class Modules {
  /** @param {Options} options @param {Marks} marks @param {Files} files */
  constructor(options, marks, files) {
    this.marks = marks
    this.files = files
    this.folder = fs.realpathSync(options.imports || options.folder)
    this.file = options.file || path.join(this.folder, '[program]')
    /** @type {Map<string, Own>} */
    this.own = new Map() // path of a workspace module → what is known of it
    this.loading = 0 // loads of CommonJS modules that have begun and not ended
    /** @type {Map<string, string[]>} */
    this.libraries = new Map() // package → files that show its version, and those of the packages that it needs
    this.packages = new Packages(files)
    this.resolver = new Resolver(files)
    /** @type {Set<string>} */
    this.used = new Set() // files of the workspace that the node imported
    /** @type {Set<string>} */
    this.usedLibraries = new Set()
    /** @type {Set<string>} */
    this.loadedNow = new Set() // modules of the workspace that the node has loaded
    this.states = new ModuleStates(this.folder, this.own)
    this.packageStates = new PackageStates()
    /** @type {Set<string | undefined>} */
    this.pollution = new Set() // names of intrinsics that are not as they were
    this.pollutionDigest = ''
    /** @type {Set<string>} */
    this.accessors = new Set() // names of accessors that the program has put on the global object
    this.plainState = this.nodeState()
    this.require = Module.createRequire(this.file)
    this.meta = Object.assign(Object.create(null), {
      url: pathToFileURL(this.file).href, filename: this.file, dirname: path.dirname(this.file),
      resolve: (/** @type {unknown} */ s) => this.resolver.url(String(s), this.file),
    })
    this.hook()
    marks.worker = (file, o) => this.worker(file, o)
  }

  // commonjs returns the names that a CommonJS script has.
  commonjs() {
    const inner = this.require
    const modules = this
    /** @type {(id: string) => unknown} */
    const require = function require(id) { return modules.required(inner, id) }
    const { resolve, cache, main, extensions } = inner
    Object.assign(require, { resolve, cache, main, extensions })
    const filename = this.file
    const module_ = { exports: {}, id: '.', filename, loaded: false, children: [], paths: [], require }
    for (const [i, o] of [require, module_, this.meta].entries()) {
      intrinsics.nameOf.set(o, `module.${i}`)
      intrinsics.named.set(`module.${i}`, o)
    }
    const { exports } = module_
    return { require, module: module_, exports, __filename: filename, __dirname: path.dirname(filename) }
  }

  /** @type {(inner: NodeRequire, id: string) => unknown} */
  required(inner, id) {
    const found = inner(id)
    if (Module.isBuiltin(id)) this.builtin(id, found)
    else this.noteRequired(inner, id)
    return found
  }

  // builtin notes a module of Node that the program has loaded.
  /** @type {(id: string, found: unknown) => void} */
  builtin(id, found) {
    this.marks.loaded(id, /** @type {object} */ (found))
    if (!/^(node:)?process$/.test(id)) intrinsics.name(id, found) // it is one of the names that every program has
  }

  /** @type {(inner: NodeRequire, id: string) => void} */
  noteRequired(inner, id) {
    try {
      this.note(inner.resolve(id))
    } catch {}
  }

  // hook sees what CommonJS loads, however it is asked for.
  hook() {
    const load = loader._load
    const modules = this
    loader._load = function (request, parent, isMain) {
      const file = modules.located(request, parent, isMain)
      const own = file !== null && path.isAbsolute(file) && modules.isOwn(file)
      if (own) {
        const from = parent?.filename
        if (from) modules.own.get(from)?.uses.add(file)
        if (!modules.own.has(file) || !require.cache[file]) modules.begun(file)
      }
      if (file !== null && Module.isBuiltin(file)) modules.files.quietly(() => intrinsics.core(file))
      const begins = !own && file !== null && path.isAbsolute(file) && !require.cache[file]
      modules.loading++
      if (begins) modules.marks.timeless++
      let found
      try {
        found = Reflect.apply(load, this, arguments)
      } finally {
        modules.loading--
        if (begins) modules.marks.timeless--
      }
      if (file !== null) {
        if (Module.isBuiltin(file)) modules.builtin(file, found)
        else if (own) modules.known(file).exports = found
        else if (path.isAbsolute(file)) {
          const name = modules.library(file, found)
          if (!parent?.filename?.includes('/node_modules/')) modules.packageStates.asked(name)
        }
      }
      if (own) modules.settled()
      return found
    }
  }

  // located returns the file of a module that CommonJS is to load; null: there is none.
  /** @type {(...args: Parameters<Loader['_resolveFilename']>) => string | null} */
  located(request, parent, isMain) {
    try {
      return loader._resolveFilename(request, parent, isMain)
    } catch {
      this.resolver.missing(request, parent?.filename ?? this.file)
      return null
    }
  }

  // worker notes the file of a worker as read, and the modules that it names: what another thread reads, only the
  // sandbox sees.
  /** @type {OnWorker} */
  worker(file, o) {
    /** @type {Set<string>} */
    const todo = new Set()
    /** @type {(text: string, from: string) => void} */
    const add = (text, from) => {
      for (const [, called, from_] of text.matchAll(NAMED)) {
        const id = called ?? from_
        if (Module.isBuiltin(id)) continue
        try {
          const found = this.resolver.resolve(id, from)
          if (this.isOwn(found)) todo.add(found)
          else this.library(found)
        } catch {} // it was noted as missing
      }
    }
    if (o?.eval) add(String(file), path.resolve('[worker]'))
    else if (/^file:/.test(String(file))) todo.add(fileURLToPath(file))
    else if (!/^data:/.test(String(file))) todo.add(path.resolve(String(file)))
    for (const at of todo) {
      this.files.read(at)
      try {
        add(this.files.quietly(() => readFileSync(at, 'utf8')), at)
      } catch {}
    }
  }

  begin() {
    this.used = new Set()
    this.usedLibraries = new Set()
    this.loadedNow = new Set()
    this.packageStates.begin()
  }

  // isOwn reports whether a file is a module that its author edits: in the folder of the program, or beside it.
  /** @type {(file: string) => boolean} */
  isOwn(file) {
    /** @type {(folder: string) => boolean} */
    const within = (folder) => (file + path.sep).startsWith(folder + path.sep)
    return !file.includes('/node_modules/') && (within(this.folder) || !PACKAGES.some(within))
  }

  // known returns what is known of a module that was loaded.
  /** @type {(file: string) => Own} */
  known(file) {
    return /** @type {Own} */ (this.own.get(file))
  }

  /** @type {(file: string) => void} */
  begun(file) {
    /** @type {string | Buffer} */
    let text = ''
    try {
      text = this.files.quietly(() => readFileSync(file))
    } catch {}
    know(this.states.nameOf(file), String(text))
    this.packageStates.module(this.states.nameOf(file), String(text))
    this.own.set(file, {
      hash: hashOf(text), uses: new Set(), exports: undefined, module: null, state: undefined, shares: new Set(),
    })
    this.loadedNow.add(file)
  }

  /** @type {(file: string) => void} */
  note(file) {
    if (path.isAbsolute(file) && this.isOwn(file)) this.uses(file)
    else if (path.isAbsolute(file)) this.library(file)
  }

  // library notes the package that a file belongs to, and names what it exports.
  /** @type {(file: string, found?: unknown) => string} */
  library(file, found) {
    const at = file.lastIndexOf('/node_modules/')
    let name = path.basename(file)
    let folder = path.dirname(file)
    if (at >= 0) {
      name = packageName(file.slice(at + 14))
      folder = file.slice(0, at + 14) + name
    }
    this.libraries.set(name, at >= 0 ? this.packages.needed(folder) : [file])
    this.usedLibraries.add(name)
    const version = at >= 0 ? '@' + this.packages.version(folder) : ''
    const prefix = `npm:${name}${version}:${path.relative(folder, file)}`
    if (found !== undefined) intrinsics.name(prefix, found)
    return prefix
  }

  // import is the import of the program's texts.
  /** @type {(specifier: string) => Promise<any>} */
  async import(specifier) {
    if (Module.isBuiltin(specifier)) {
      this.files.quietly(() => intrinsics.core(specifier))
      const found = await import(specifier)
      this.builtin(specifier, found.default)
      return this.named('esm:node:' + specifier.replace(/^node:/, ''), found)
    }
    if (/^(data|https?):/.test(specifier)) return import(specifier)
    const file = this.resolver.resolve(specifier, this.file)
    this.note(file)
    if (!this.isOwn(file)) {
      const found = await this.foreign(file)
      return this.named('esm:' + this.library(file, found.default ?? found), found)
    }
    if (file.endsWith('.json')) return { default: this.require(file) }
    const m = await this.linked(file)
    if (m.status === 'linked') await m.evaluate()
    else if (m.status === 'errored') throw m.error
    else if (m.status === 'evaluating') await m.evaluate()
    this.settled()
    return m.namespace
  }

  /** @type {<T>(name: string, namespace: T) => T} */
  named(name, namespace) {
    intrinsics.name(name, namespace)
    this.packageStates.asked(name)
    return namespace
  }

  /** @type {(file: string) => Promise<Namespace>} */
  async foreign(file) {
    if (file.endsWith('.json')) return { default: require(file) }
    this.marks.timeless++
    try {
      return await import(pathToFileURL(file).href)
    } finally {
      this.marks.timeless--
    }
  }

  /** @type {(file: string) => 'esm' | 'cjs'} */
  kind(file) {
    if (/\.(mjs|mts)$/.test(file)) return 'esm'
    if (/\.(cjs|cts)$/.test(file)) return 'cjs'
    if (isTyped(file)) return 'esm'
    for (let d = path.dirname(file); ; d = path.dirname(d)) {
      const p = path.join(d, 'package.json')
      if (this.resolver.isFile(p)) {
        this.used.add(p)
        try {
          if (JSON.parse(this.files.quietly(() => readFileSync(p, 'utf8'))).type === 'module') return 'esm'
        } catch {}
        break
      }
      if (d === path.dirname(d)) break
    }
    const text = this.files.quietly(() => readFileSync(file, 'utf8'))
    return /^\s*(import\s*[\w{*'"]|export\s+[\w{*])/m.test(text) ? 'esm' : 'cjs'
  }

  // linked returns the module of a workspace file with all that it imports.
  /** @type {(file: string) => Promise<vm.Module>} */
  async linked(file) {
    const m = this.module(file)
    if (m.status === 'unlinked') await m.link((s, from) => this.dependency(s, fileOf(from)))
    return m
  }

  /** @type {(file: string) => vm.Module} */
  module(file) {
    const known = this.own.get(file)
    if (known?.module) {
      this.uses(file)
      return known.module
    }
    if (this.kind(file) === 'cjs') return this.wrapped(file, () => this.require(file))
    this.begun(file)
    this.used.add(file)
    let source = this.files.quietly(() => readFileSync(file, 'utf8'))
    if (isTyped(file)) {
      source = this.stripped(file, source)
      know(this.states.nameOf(file), source)
    }
    const m = new vm.SourceTextModule(source, {
      identifier: pathToFileURL(file).href,
      initializeImportMeta: (meta) => Object.assign(meta, {
        url: pathToFileURL(file).href, filename: file, dirname: path.dirname(file),
        resolve: (/** @type {string} */ s) => this.resolver.url(s, file),
      }),
      importModuleDynamically: async (s) => {
        const d = await this.dependency(s, file)
        if (d.status === 'unlinked') await d.link((x, from) => this.dependency(x, fileOf(from)))
        await d.evaluate()
        return d
      },
    })
    this.known(file).module = m
    return m
  }

  // uses notes a module and all that it imports as used by the node.
  /** @type {(file: string) => void} */
  uses(file) {
    if (this.used.has(file)) return
    this.used.add(file)
    for (const f of this.own.get(file)?.uses ?? []) this.uses(f)
  }

  /** @type {(file: string, source: string) => string} */
  stripped(file, source) {
    if (typeof Module.stripTypeScriptTypes !== 'function') {
      throw coded(`${file} has types, which Node ${process.version} cannot import; Node 22.13 and later can`,
        'ERR_UNKNOWN_FILE_EXTENSION')
    }
    return Module.stripTypeScriptTypes(source)
  }

  /** @type {(file: string, load: () => unknown) => vm.SyntheticModule} */
  wrapped(file, load) {
    const made = load()
    const members = /** @type {Namespace} */ (intrinsics.isObject(made) ? made : {})
    const names = [...new Set(['default', ...Object.keys(members)])]
    const m = new vm.SyntheticModule(names, function () {
      for (const n of names) this.setExport(n, n === 'default' ? made : members[n])
    }, { identifier: pathToFileURL(file).href })
    this.known(file).module = m
    this.used.add(file)
    return m
  }

  /** @type {(specifier: string, from: string) => Promise<vm.Module>} */
  async dependency(specifier, from) {
    if (Module.isBuiltin(specifier)) return synthetic(await this.import(specifier), specifier)
    const file = this.resolver.resolve(specifier, from)
    if (!this.isOwn(file)) {
      const found = await this.foreign(file)
      this.packageStates.asked(this.library(file, found.default ?? found))
      return synthetic(found, file)
    }
    this.own.get(from)?.uses.add(file)
    if (file.endsWith('.json')) {
      const found = this.require(file)
      this.used.add(file)
      return synthetic({ default: found }, file)
    }
    return this.module(file)
  }

  // edited returns the modules whose files have changed, and those that import them.
  /** @type {() => string[]} */
  edited() {
    const gone = []
    for (const [file, m] of this.own) {
      let hash
      try {
        hash = hashOf(this.files.quietly(() => readFileSync(file)))
      } catch {}
      if (hash !== m.hash) gone.push(file)
    }
    return this.importers(gone)
  }

  /** @type {(files: string[]) => string[]} */
  importers(files) {
    const found = new Set(files.filter((f) => this.own.has(f)))
    for (let before = -1; before !== found.size;) {
      before = found.size
      for (const [file, m] of this.own) for (const u of m.uses) if (found.has(u)) found.add(file)
    }
    return [...found].sort()
  }

  // unload forgets modules. It returns the names whose values may come from one.
  /** @type {(gone: string[], table: Map<string, unknown>) => string[]} */
  unload(gone, table) {
    if (!gone.length) return []
    for (const f of gone) {
      delete require.cache[f]
      this.own.delete(f)
      know(this.states.nameOf(f), null)
    }
    const dropped = []
    for (const [n, v] of table) {
      if (walked((w) => w.value(v)).opaque) dropped.push(n)
    }
    return dropped.sort()
  }

  /** @type {(kernel: Kernel) => { unloaded: string[], dropped: string[] }} */
  failed(kernel) {
    const gone = this.importers([...this.loadedNow])
    const dropped = this.unload(gone, kernel.names.table)
    for (const n of dropped) kernel.unbind(n)
    return { unloaded: gone.map((f) => this.states.nameOf(f)), dropped }
  }

  // imports returns what the node imported, or what its values come from.
  imports() {
    /** @type {Record<string, string[] | undefined>} */
    const libraries = {}
    for (const n of this.usedLibraries) libraries[n] = this.libraries.get(n)
    for (const f of this.loadedNow) this.uses(f)
    const held = [...this.states.reachedNames(), ...this.packageStates.reached].sort()
    return { libraries, loads: {}, files: [...this.used].sort(), held }
  }

  // nodeState describes the accessors that the program has put on the global object, and what it has set in CORE.
  /** @type {() => string} */
  nodeState() {
    /** @type {Record<string, string[]>} */
    const accessors = { '': [String(events.defaultMaxListeners), String(getDefaultHighWaterMark?.(false))] }
    for (const n of this.accessors) {
      const p = Object.getOwnPropertyDescriptor(globalThis, n)
      if (p?.get || p?.set) accessors[n] = [String(p.get), String(p.set)]
    }
    return JSON.stringify(accessors)
  }

  // changed says which intrinsics are others than when they were loaded, and which modules and packages that are not
  // among held.
  /** @type {(intrinsic: object[], held: object) => { names: string[], pristine: boolean, planted: string[] }} */
  changed(intrinsic, held) {
    const now = new Set(intrinsic.map((o) => intrinsics.nameOf.get(o)))
    /** @type {Set<string>} */
    const planted = new Set()
    for (const o of intrinsic) {
      const w = walked((w) => {
        for (const k of Reflect.ownKeys(o)) {
          const p = owned(o, k)
          for (const v of [p.value, p.get, p.set]) if (typeof v === 'function' && !intrinsics.nameOf.has(v)) w.value(v)
        }
      })
      for (const d of w.deps) planted.add(d)
    }
    const had = this.pollution
    const state = this.nodeState()
    const other_ = state === this.plainState ? '' : state
    if (other_) now.add('console')
    const digest = (intrinsic.length ? pollutionOf(intrinsic) : '') + other_
    const other = digest !== this.pollutionDigest
    this.pollutionDigest = digest
    this.pollution = now
    const names = other ? ['process'] : []
    names.push(...this.states.unnamed(held, this.packageStates.changed))
    const pristine = other && now.size === 0 && had.size > 0 && !this.states.lasting
    return { names, pristine, planted: other ? [...planted].sort() : [] }
  }

  // look finds what the node could reach and what it changed, given the values that it has read, and the names by which
  // its text may set what a package holds.
  /** @type {(reads: Iterable<string>, kernel: Kernel, valueOf: ValueOf, sets: string[]) => void} */
  look(reads, { groups }, valueOf, sets) {
    /** @type {Map<string, Fingerprint>} */
    const prints = new Map()
    for (const n of reads) {
      const fp = groups.prints.get(n)
      if (fp !== undefined) prints.set(n, fp)
    }
    this.states.look([...prints.values()], [...this.used, ...this.loadedNow], this.pollution.size > 0)
    this.packageStates.look(prints, valueOf, sets, this.states.reachedNames())
  }

  // held returns digests of what modules and packages hold that the node has changed.
  /** @type {(failed: boolean) => Record<string, string>} */
  held(failed) { return failed ? {} : { ...this.states.held(), ...this.packageStates.held() } }

  // settled notes the state of the modules that have just been loaded: what the node changes in them from now on is a
  // change. Within the load of another module they may not be complete.
  settled() {
    if (!this.loading) this.files.quietly(() => this.states.loaded(this.loadedNow))
  }
}

/** @type {(list: object[]) => string} */
function pollutionOf(list) {
  return walked((w) => {
    for (const o of list) {
      w.string(/** @type {string} */ (intrinsics.nameOf.get(o)))
      for (const k of Reflect.ownKeys(o)) {
        if (k === 'caller' || k === 'arguments') continue
        const p = owned(o, k)
        w.string(String(k))
        w.value(p.value)
        w.value(p.get)
        w.value(p.set)
      }
    }
  }).end()
}

/** @type {(namespace: Namespace, identifier: string) => vm.SyntheticModule} */
function synthetic(namespace, identifier) {
  const names = Object.keys(namespace)
  return new vm.SyntheticModule(names, function () {
    for (const n of names) this.setExport(n, namespace[n])
  }, { identifier: String(identifier) })
}

/** @type {(m: vm.Module) => string} */
const fileOf = (m) => fileURLToPath(m.identifier)

module.exports = { Modules }
