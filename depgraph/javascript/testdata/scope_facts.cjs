// Prints, for each source of some npm packages, what eslint-scope (JavaScript) or @typescript-eslint/scope-manager
// (TypeScript) says about its names: one line of JSON for each file. usage: node scope_facts.cjs FOLDER N
// PACKAGE…, for a sample of one source in about N. FOLDER holds node_modules. Offsets are in bytes.
const fs = require('fs'), path = require('path');
const [folder, every, ...packages] = process.argv.slice(2);
const load = (name) => require(require.resolve(name, { paths: [folder] }));
const espree = load('espree'), eslintScope = load('eslint-scope');
const typed = load('@typescript-eslint/parser'), typedScope = load('@typescript-eslint/scope-manager');

function* sources(dir) {
  for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
    const file = path.join(dir, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== 'node_modules') yield* sources(file);
    } else if (/\.([cm]?js|[cm]?tsx?)$/.test(entry.name) && !/\.d\.[cm]?ts$/.test(entry.name)) yield file;
  }
}

// bytes returns a function that turns offsets in UTF-16 units into offsets in bytes.
function bytes(text) {
  if (/^[\x00-\x7f]*$/.test(text)) return (at) => at;
  const table = new Uint32Array(text.length + 1);
  let n = 0;
  for (let i = 0; i < text.length; i++) {
    table[i] = n;
    const c = text.charCodeAt(i);
    n += c < 0x80 ? 1 : c < 0x800 ? 2 : c >= 0xd800 && c < 0xe000 ? 2 : 3;
  }
  table[text.length] = n;
  return (at) => table[at];
}

const markStatements = new Set(['ExpressionStatement', 'ReturnStatement', 'ThrowStatement', 'BreakStatement',
  'ContinueStatement', 'IfStatement', 'PropertyDefinition', 'StaticBlock']);

// visit walks an ESTree: it sets parents, and lists where statements begin and which names are bound without a value.
function visit(ast, at, out) {
  const stack = [[ast, null]];
  while (stack.length > 0) {
    const [node, parent] = stack.pop();
    node.parent = parent;
    if (markStatements.has(node.type) && !(node.decorators && node.decorators.length)) out.starts.push(at(node.range[0]));
    if (node.type === 'VariableDeclarator' && !node.init && parent.kind !== 'var' && !/^For/.test(parent.parent.type) &&
      !parent.declare && node.id.type === 'Identifier') out.bare.add(node.id);
    for (const key in node) {
      if (key === 'parent' || key === 'loc' || key === 'range') continue;
      const value = node[key];
      for (const child of Array.isArray(value) ? value : [value]) {
        if (child && typeof child.type === 'string' && child.range) stack.push([child, node]);
      }
    }
  }
}

const types = new Set(['TSTypeQuery', 'TSTypePredicate', 'TSTypeAnnotation', 'TSTypeParameterInstantiation',
  'TSTypeParameterDeclaration', 'TSTypeAliasDeclaration', 'TSInterfaceDeclaration', 'TSClassImplements', 'TSDeclareFunction']);

// isType reports whether a mention is a type, or a value that only a type mentions.
function isType(identifier) {
  for (let n = identifier.parent, below = identifier; n; below = n, n = n.parent) {
    if (types.has(n.type) || n.declare || n.abstract && n.type !== 'ClassDeclaration') return true;
    if ((n.type === 'TSAsExpression' || n.type === 'TSSatisfiesExpression') && below === n.typeAnnotation) return true;
    if (/Statement$/.test(n.type)) return false;
  }
  return false;
}

// empty reports whether a namespace holds only types.
function empty(node) {
  return node.type === 'TSModuleDeclaration' && (!node.body || node.body.body.every((n) => {
    const d = n.type === 'ExportNamedDeclaration' && n.declaration || n;
    return d.type === 'TSTypeAliasDeclaration' || d.type === 'TSInterfaceDeclaration' || d.declare || empty(d);
  }));
}

// later reports whether the code of a scope runs in a call.
function later(scope) {
  for (; scope; scope = scope.upper) {
    if (scope.type === 'function') return true;
    if (scope.type === 'class-field-initializer') {
      let n = scope.block;
      while (n.type !== 'PropertyDefinition' && n.type !== 'AccessorProperty') n = n.parent;
      if (!n.static) return true;
    }
  }
  return false;
}

function facts(file) {
  const text = fs.readFileSync(file, 'utf8');
  const at = bytes(text);
  const out = { file: path.relative(folder, file), dialect: '', starts: [], bare: new Set() };
  let ast, manager;
  const ts = /\.[cm]?tsx?$/.test(file);
  try {
    if (ts) {
      out.dialect = /x$/.test(file) ? 'tsx' : 'typescript';
      ast = typed.parse(text, { range: true, sourceType: 'module', ecmaFeatures: { jsx: /x$/.test(file) },
        errorOnUnknownASTType: false, suppressDeprecatedPropertyWarnings: true });
      manager = typedScope.analyze(ast, { sourceType: 'module', lib: [], jsxPragma: null, jsxFragmentName: null });
    } else {
      out.dialect = 'javascript';
      let sourceType = 'script';
      try {
        ast = espree.parse(text, { range: true, ecmaVersion: 'latest', sourceType });
      } catch {
        sourceType = 'module';
        out.dialect = 'esm';
        ast = espree.parse(text, { range: true, ecmaVersion: 'latest', sourceType });
      }
      manager = eslintScope.analyze(ast, { ecmaVersion: 2026, sourceType, childVisitorKeys: espree.VisitorKeys });
    }
  } catch (e) {
    out.error = String(e.message);
    delete out.bare;
    return out;
  }
  visit(ast, at, out);
  const tops = new Set(manager.scopes.filter((s) => s.type === 'global' || s.type === 'module'));
  const references = new Map();
  const add = (identifier, top, runsLater, reads, writes) => {
    const key = at(identifier.range[0]);
    const r = references.get(key) || { at: key, name: identifier.name, global: top, later: runsLater, reads: false, writes: false };
    r.reads ||= reads;
    r.writes ||= writes;
    references.set(key, r);
  };
  out.declared = [];
  for (const scope of manager.scopes) {
    for (const ref of scope.references) {
      if (ref.isValueReference === false) continue;
      if (ref.identifier.type === 'JSXIdentifier') continue;
      if (ref.identifier.parent.type === 'ExportSpecifier' || isType(ref.identifier)) continue; // a shared variable, not a value
      const top = !ref.resolved || tops.has(ref.resolved.scope);
      add(ref.identifier, top, later(ref.from), ref.isRead(), ref.isWrite());
    }
    for (const variable of scope.variables) {
      for (const def of variable.defs) {
        if (def.isVariableDefinition === false) continue;
        if (def.type === 'ImportBinding' && (def.parent.importKind === 'type' || def.node.importKind === 'type')) continue;
        if (def.type === 'TSModuleName' && empty(def.node)) continue;
        const top = tops.has(scope);
        let n = def.node;
        for (; n && !n.declare && n.type !== 'TSDeclareFunction'; n = n.parent);
        if (n) continue;
        if (top) out.declared.push(variable.name);
        const named = def.type === 'FunctionName' && scope.type !== 'function-expression-name' ||
          def.type === 'ClassName' && scope.type !== 'class' || def.type === 'ImportBinding' ||
          def.type === 'TSEnumName' || def.type === 'TSModuleName' || out.bare.has(def.name);
        if (named && def.name.type === 'Identifier') add(def.name, top, later(scope), false, true);
      }
    }
  }
  delete out.bare;
  out.references = [...references.values()].sort((a, b) => a.at - b.at);
  return out;
}

/** Whether a file is in the sample of about one in `every`. Its name decides. */
function sampled(file) {
  let sum = 0;
  for (const letter of path.relative(folder, file)) sum = (sum * 31 + letter.codePointAt(0)) % 65521;
  return sum % Number(every) === 0;
}

for (const name of packages) {
  for (const file of sources(path.join(folder, 'node_modules', name))) {
    if (!sampled(file)) continue;
    fs.writeSync(1, JSON.stringify(facts(file)) + '\n');
  }
}
