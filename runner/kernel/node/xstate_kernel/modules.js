'use strict'
// Modules that the program imports: of Node, of packages, and of the workspace. Those of the workspace are compiled by
// the driver, so that they can be unloaded when their files are edited.

const fs = require('fs')
const path = require('path')
const vm = require('vm')
const Module = require('module')
const { createHash } = require('crypto')
const { pathToFileURL, fileURLToPath } = require('url')
const events = require('events')
const { getDefaultHighWaterMark } = require('stream')
const intrinsics = require('./intrinsics')
const { chain } = require('./closures')
const { Packages } = require('./packages')
const { moduleTexts, parts, untracked, walked } = require('./walk')

const { readFileSync, statSync } = fs
const ENDINGS = ['', '.js', '.json', '.node', '.mjs', '.cjs', '.ts', '/index.js', '/index.ts']
const PACKAGES = Module.globalPaths.map((p) => path.normalize(p)) // where packages are that belong to the machine
const NAMED = /\b(?:require|import)\s*\(\s*['"`]([^'"`]+)|\b(?:from|import)\s*['"]([^'"]+)/g // modules, in a text
const isTyped = (p) => /\.[cm]?tsx?$/.test(p)

class Modules {
  constructor(options, marks, files) {
    this.marks = marks
    this.files = files
    this.folder = fs.realpathSync(options.imports || options.folder)
    this.file = options.file || path.join(this.folder, '[program]')
    this.own = new Map() // path of a workspace module → { hash, uses, made, values }
    this.loading = 0 // loads of CommonJS modules that have begun and not ended
    this.libraries = new Map() // package → files that tell its version, and those of the packages that it needs
    this.packages = new Packages(files)
    this.used = new Set() // files of the workspace that the node imported
    this.usedLibraries = new Set()
    this.pollution = new Set()
    this.accessors = new Set() // names of accessors that the program has put on the global object
    this.plainState = this.nodeState()
    this.require = Module.createRequire(this.file)
    this.meta = Object.assign(Object.create(null), {
      url: pathToFileURL(this.file).href, filename: this.file, dirname: path.dirname(this.file),
      resolve: (s) => this.url(String(s), this.file),
    })
    this.hook()
    marks.worker = (file, o) => this.worker(file, o)
  }

  // commonjs returns the names that a CommonJS script has.
  commonjs() {
    const inner = this.require
    const modules = this
    const require = function require(id) { return modules.required(inner, id) }
    for (const k of ['resolve', 'cache', 'main', 'extensions']) require[k] = inner[k]
    const module_ = { exports: {}, id: '.', filename: this.file, loaded: false, children: [], paths: [], require }
    for (const o of [require, module_, this.meta]) intrinsics.nameOf.set(o, 'module.' + [require, module_, this.meta].indexOf(o))
    for (const o of [require, module_, this.meta]) intrinsics.named.set(intrinsics.nameOf.get(o), o)
    return { require, module: module_, exports: module_.exports, __filename: this.file, __dirname: path.dirname(this.file) }
  }

  required(inner, id) {
    const found = inner(id)
    if (Module.isBuiltin(id)) this.marks.loaded(id, found)
    else this.noteRequired(inner, id)
    return found
  }

  noteRequired(inner, id) {
    try {
      this.note(inner.resolve(id))
    } catch {}
  }

  // hook sees what CommonJS loads, however it is asked for.
  hook() {
    const load = Module._load
    const modules = this
    const stack = this.stack = []
    Module._load = function (request, parent, isMain) {
      let file = null
      try {
        file = Module._resolveFilename(request, parent, isMain)
      } catch {
        modules.missing(request, parent?.filename ?? modules.file)
      }
      const own = file !== null && path.isAbsolute(file) && modules.isOwn(file)
      if (own) {
        const from = parent?.filename
        if (from && modules.own.has(from)) modules.own.get(from).uses.add(file)
        if (!modules.own.has(file) || !require.cache[file]) modules.begun(file)
      }
      if (file !== null && Module.isBuiltin(file)) modules.files.quietly(() => intrinsics.core(file))
      const begins = !own && file !== null && path.isAbsolute(file) && !require.cache[file]
      modules.loading++
      if (begins) modules.marks.timeless++
      let found
      try {
        found = load.apply(this, arguments)
      } finally {
        modules.loading--
        if (begins) modules.marks.timeless--
      }
      if (file !== null) {
        if (Module.isBuiltin(file)) modules.marks.loaded(file, found)
        else if (own) modules.own.get(file).exports = found
        else if (path.isAbsolute(file)) modules.library(file, found)
      }
      if (own) modules.settled()
      return found
    }
  }

  // worker notes the file of a worker as read, and the modules that it names: what another thread reads, only the
  // sandbox sees.
  worker(file, o) {
    const todo = new Set()
    const add = (text, from) => {
      for (const [, called, from_] of text.matchAll(NAMED)) {
        const id = called ?? from_
        if (Module.isBuiltin(id)) continue
        try {
          const found = this.resolve(id, from)
          if (this.isOwn(found)) todo.add(found)
          else this.library(found)
        } catch {} // it was noted as missing
      }
    }
    if (o?.eval) add(String(file), path.resolve('[worker]'))
    else if (!/^data:/.test(file)) todo.add(/^file:/.test(file) ? fileURLToPath(file) : path.resolve(String(file)))
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
  }

  // isOwn reports whether a file is a module that its author edits: in the folder of the program, or beside it.
  isOwn(file) {
    const within = (folder) => (file + path.sep).startsWith(folder + path.sep)
    return !file.includes('/node_modules/') && (within(this.folder) || !PACKAGES.some(within))
  }

  begun(file) {
    let text = ''
    try {
      text = this.files.quietly(() => readFileSync(file))
    } catch {}
    moduleTexts.set(file, String(text))
    this.own.set(file, { hash: hashOf(text), uses: new Set(), exports: undefined, module: null, state: undefined })
    this.loadedNow?.add(file)
  }

  note(file) {
    if (path.isAbsolute(file) && this.isOwn(file)) this.uses(file)
    else if (path.isAbsolute(file)) this.library(file)
  }

  // library notes the package that a file belongs to, and names what it exports.
  library(file, found) {
    const at = file.lastIndexOf('/node_modules/')
    let name = path.basename(file)
    let folder = path.dirname(file)
    if (at >= 0) {
      const parts = file.slice(at + 14).split('/')
      name = parts.slice(0, parts[0].startsWith('@') ? 2 : 1).join('/')
      folder = file.slice(0, at + 14) + name
    }
    this.libraries.set(name, at >= 0 ? this.packages.needed(folder) : [file])
    this.usedLibraries.add(name)
    const version = at >= 0 ? '@' + this.packages.version(folder) : ''
    const prefix = `npm:${name}${version}:${path.relative(folder, file)}`
    if (found !== undefined) intrinsics.name(prefix, found)
    return prefix
  }

  url(specifier, from) {
    if (/^(node|data|https?|file):/.test(specifier)) return specifier
    if (Module.isBuiltin(specifier)) return 'node:' + specifier
    return pathToFileURL(this.resolve(specifier, from)).href
  }

  // resolve finds the file of an import.
  resolve(specifier, from) {
    if (specifier.startsWith('file:')) return fileURLToPath(specifier)
    specifier = specifier.replace(/^npm:\/?((?:@[^/@]+\/)?[^/@]+)(@[^/]*)?/, '$1') // as Deno names packages
    if (/^\.{0,2}\//.test(specifier) || specifier === '.' || specifier === '..') {
      const p = path.resolve(path.dirname(from), specifier)
      for (const e of ENDINGS) if (this.isFile(p + e)) return this.files.quietly(() => fs.realpathSync(p + e))
      if (/\.[cm]?js$/.test(p) && this.isFile(p.replace(/js$/, 'ts'))) return p.replace(/js$/, 'ts')
      this.missing(specifier, from)
      throw coded(`Cannot find module '${p}' imported from ${from}`, 'ERR_MODULE_NOT_FOUND')
    }
    return this.files.quietly(() => this.packaged(specifier, from))
  }

  isFile(p) {
    try {
      return this.files.quietly(() => statSync(p).isFile())
    } catch {
      return false
    }
  }

  // packaged finds the file of a package as import does.
  packaged(specifier, from) {
    const parts = specifier.split('/')
    const name = parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
    const sub = '.' + specifier.slice(name.length)
    for (let d = path.dirname(from); ; d = path.dirname(d)) {
      const folder = path.join(d, 'node_modules', name)
      if (this.isFile(path.join(folder, 'package.json')) || fs.existsSync(folder)) {
        let p = {}
        try {
          p = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
        } catch {}
        if (p.exports !== undefined) {
          const found = exported(p.exports, sub)
          if (!found) throw coded(`Package subpath '${sub}' is not defined by "exports" in ${folder}/package.json`,
            'ERR_PACKAGE_PATH_NOT_EXPORTED')
          return fs.realpathSync(path.join(folder, found))
        }
        const start = sub === '.' ? path.join(folder, p.main ?? 'index.js') : path.join(folder, sub)
        for (const e of ENDINGS) if (this.isFile(start + e)) return fs.realpathSync(start + e)
      }
      if (d === path.dirname(d)) break
    }
    this.missing(specifier, from)
    throw coded(`Cannot find package '${name}' imported from ${from}`, 'ERR_MODULE_NOT_FOUND')
  }

  // missing notes where a module would have been found.
  missing(specifier, from) {
    const folder = path.dirname(from)
    if (/^(\.{0,2}\/|\.{1,2}$)/.test(specifier)) {
      const p = path.resolve(folder, specifier)
      for (const e of ENDINGS) this.files.missed(p + e)
      this.files.missed(p.replace(/js$/, 'ts'))
      return
    }
    const name = specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
    for (const d of Module._nodeModulePaths(folder)) this.files.missed(path.join(d, name))
  }

  // import is the import of the program's texts.
  async import(specifier, o) {
    if (Module.isBuiltin(specifier)) {
      this.files.quietly(() => intrinsics.core(specifier))
      const found = await import(specifier)
      this.marks.loaded(specifier, found.default)
      return this.named('esm:node:' + specifier.replace(/^node:/, ''), found)
    }
    if (/^(data|https?):/.test(specifier)) return import(specifier)
    const file = this.resolve(specifier, this.file)
    this.note(file)
    if (!this.isOwn(file)) {
      const found = await this.foreign(file, o)
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

  named(name, namespace) {
    intrinsics.name(name, namespace)
    return namespace
  }

  async foreign(file, o) {
    if (file.endsWith('.json')) return { default: require(file) }
    this.marks.timeless++
    try {
      return await import(pathToFileURL(file).href)
    } finally {
      this.marks.timeless--
    }
  }

  kind(file) {
    if (/\.(mjs|mts)$/.test(file)) return 'esm'
    if (/\.(cjs|cts)$/.test(file)) return 'cjs'
    if (isTyped(file)) return 'esm'
    for (let d = path.dirname(file); ; d = path.dirname(d)) {
      const p = path.join(d, 'package.json')
      if (this.isFile(p)) {
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
  async linked(file) {
    const m = this.module(file)
    if (m.status === 'unlinked') await m.link((s, from) => this.dependency(s, fileOf(from)))
    return m
  }

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
    if (isTyped(file)) source = this.stripped(file, source)
    const m = new vm.SourceTextModule(source, {
      identifier: pathToFileURL(file).href,
      initializeImportMeta: (meta) => Object.assign(meta, {
        url: pathToFileURL(file).href, filename: file, dirname: path.dirname(file),
        resolve: (s) => this.url(s, file),
      }),
      importModuleDynamically: async (s) => {
        const d = await this.dependency(s, file)
        if (d.status === 'unlinked') await d.link((x, from) => this.dependency(x, fileOf(from)))
        await d.evaluate()
        return d
      },
    })
    this.own.get(file).module = m
    return m
  }

  // uses notes a module and all that it imports as used by the node.
  uses(file) {
    if (this.used.has(file)) return
    this.used.add(file)
    for (const f of this.own.get(file)?.uses ?? []) this.uses(f)
  }

  stripped(file, source) {
    if (typeof Module.stripTypeScriptTypes !== 'function') {
      throw coded(`${file} has types, which Node ${process.version} cannot import; Node 22.13 and later can`,
        'ERR_UNKNOWN_FILE_EXTENSION')
    }
    return Module.stripTypeScriptTypes(source)
  }

  wrapped(file, load) {
    const made = load()
    const names = [...new Set(['default', ...(made && /object|function/.test(typeof made) ? Object.keys(made) : [])])]
    const m = new vm.SyntheticModule(names, function () {
      for (const n of names) this.setExport(n, n === 'default' ? made : made[n])
    }, { identifier: pathToFileURL(file).href })
    this.own.get(file).module = m
    this.used.add(file)
    return m
  }

  async dependency(specifier, from) {
    if (Module.isBuiltin(specifier)) return synthetic(await this.import(specifier), specifier)
    const file = this.resolve(specifier, from)
    if (!this.isOwn(file)) {
      const found = await this.foreign(file)
      this.library(file, found.default ?? found)
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

  importers(files) {
    const found = new Set(files.filter((f) => this.own.has(f)))
    for (let before = -1; before !== found.size;) {
      before = found.size
      for (const [file, m] of this.own) for (const u of m.uses) if (found.has(u)) found.add(file)
    }
    return [...found].sort()
  }

  // unload forgets modules. It returns the names whose values may come from one.
  unload(gone, table) {
    if (!gone.length) return []
    for (const f of gone) {
      delete require.cache[f]
      this.own.delete(f)
      moduleTexts.delete(f)
    }
    const dropped = []
    for (const [n, v] of table) {
      if (walked((w) => w.value(v)).opaque) dropped.push(n)
    }
    return dropped.sort()
  }

  failed(kernel) {
    const gone = this.importers([...(this.loadedNow ?? [])])
    for (const n of this.unload(gone, kernel.names.table)) kernel.unbind(n)
    return gone
  }

  // imports tells what the node imported, or what its values come from.
  imports(request, node, groups) {
    const libraries = {}
    for (const n of this.usedLibraries) libraries[n] = this.libraries.get(n)
    for (const f of this.loadedNow ?? []) this.uses(f)
    return { libraries, loads: {}, files: [...this.used].sort(), held: [] }
  }

  // nodeState describes the accessors that the program has put on the global object, and what it has set in CORE.
  nodeState() {
    const accessors = { '': [String(events.defaultMaxListeners), String(getDefaultHighWaterMark?.(false))] }
    for (const n of this.accessors) {
      const p = Object.getOwnPropertyDescriptor(globalThis, n)
      if (p?.get || p?.set) accessors[n] = [String(p.get), String(p.set)]
    }
    return JSON.stringify(accessors)
  }

  // changed says which intrinsics, and which workspace modules, are others than when they were loaded.
  changed(intrinsic) {
    const now = new Set(intrinsic.map((o) => intrinsics.nameOf.get(o)))
    const planted = new Set()
    for (const o of intrinsic) {
      const w = walked((w) => {
        for (const k of Reflect.ownKeys(o)) {
          const p = Reflect.getOwnPropertyDescriptor(o, k)
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
    const other = digest !== (this.pollutionDigest ?? '')
    this.pollutionDigest = digest
    this.pollution = now
    const names = other ? ['process'] : []
    names.push(...this.changedNow)
    return { names, pristine: other && now.size === 0 && had.size > 0, planted: other ? [...planted].sort() : [] }
  }

  // settled notes the state of the modules that have just been loaded: what the node changes in them from now on is a
  // change. Within the load of another module they may not be complete.
  settled() {
    if (this.loading) return
    for (const file of this.loadedNow ?? []) {
      const m = this.own.get(file)
      if (m) m.state ??= this.files.quietly(() => stateOf(m, path.relative(this.folder, file)))
    }
  }

  // look finds which workspace modules the node changed. What a node that reaches none can see of them is as it was.
  look(reaches) {
    this.changedNow = []
    if (!reaches && !this.used.size && !this.pollution.size) return
    for (const [file, m] of this.own) {
      const state = stateOf(m, path.relative(this.folder, file))
      if (m.state !== undefined && state !== m.state) this.changedNow.push(path.relative(this.folder, file))
      m.state = state
    }
  }
}

// stateOf returns a digest of what a module exports, with the variables of its functions, and notes its parts.
function stateOf(m, name) {
  const root = m.module?.status === 'evaluated' ? { ...m.module.namespace } : m.exports
  if (!intrinsics.isObject(root)) return ''
  const w = walked((w) => {
    w.inModule = true
    w.value(root)
  })
  for (const o of w.ids.keys()) if (typeof o !== 'symbol') parts.set(o, name)
  if (w.unsettled) untracked.add(name)
  else untracked.delete(name)
  return w.end()
}

function pollutionOf(list) {
  return walked((w) => {
    for (const o of list) {
      w.string(intrinsics.nameOf.get(o))
      for (const k of Reflect.ownKeys(o)) {
        if (k === 'caller' || k === 'arguments') continue
        const p = Reflect.getOwnPropertyDescriptor(o, k)
        w.string(String(k))
        w.value(p.value)
        w.value(p.get)
        w.value(p.set)
      }
    }
  }).end()
}

function synthetic(namespace, identifier) {
  const names = Object.keys(namespace)
  return new vm.SyntheticModule(names, function () {
    for (const n of names) this.setExport(n, namespace[n])
  }, { identifier: String(identifier) })
}

const CONDITIONS = new Set(['node', 'import', 'module-sync', 'default'])

// exported returns the file that a package gives for a subpath.
function exported(exports, sub) {
  const target = (t, star) => {
    if (typeof t === 'string') return t.replaceAll('*', star)
    if (Array.isArray(t)) return t.map((x) => target(x, star)).find(Boolean)
    for (const [k, v] of Object.entries(t ?? {})) {
      if (CONDITIONS.has(k)) {
        const found = target(v, star)
        if (found) return found
      }
    }
    return undefined
  }
  const keyed = typeof exports === 'object' && !Array.isArray(exports) && Object.keys(exports).some((k) => k[0] === '.')
  if (!keyed) return sub === '.' ? target(exports, '') : undefined
  if (sub in exports) return target(exports[sub], '')
  let best
  for (const k of Object.keys(exports)) {
    const [head, tail] = k.split('*')
    if (tail === undefined || !sub.startsWith(head) || !sub.endsWith(tail) || sub.length < head.length + tail.length) continue
    if (best === undefined || k.length > best.length) best = k
  }
  if (best === undefined) return undefined
  const [head, tail] = best.split('*')
  return target(exports[best], sub.slice(head.length, sub.length - tail.length))
}

const hashOf = (text) => createHash('sha256').update(text).digest('hex')
const fileOf = (m) => fileURLToPath(m.identifier)

function coded(message, code) {
  const e = new Error(message)
  e.code = code
  return e
}

module.exports = { Modules }
