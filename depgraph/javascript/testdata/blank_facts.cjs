// Compares programs whose types xstate blanked with what the TypeScript compiler makes of the same sources, as syntax
// trees. usage: node blank_facts.cjs FOLDER BLANKED PACKAGE…  FOLDER holds node_modules; BLANKED has the blanked
// sources under the same names, and only those that could be blanked. Prints one line of JSON for each source.
const fs = require('fs'), path = require('path');
const [folder, blanked, ...packages] = process.argv.slice(2);
const load = (name) => require(require.resolve(name, { paths: [folder] }));
const espree = load('espree'), ts = load('typescript');

function* sources(dir) {
  for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
    const file = path.join(dir, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== 'node_modules') yield* sources(file);
    } else if (/\.[cm]?ts$/.test(entry.name) && !/\.d\.[cm]?ts$/.test(entry.name)) yield file;
  }
}

// erasable reports whether a source has only types that can be left out.
function erasable(source) {
  let yes = true;
  const k = ts.SyntaxKind;
  const visit = (n) => {
    const has = (kind) => n.modifiers && n.modifiers.some((m) => m.kind === kind);
    if (has(k.DeclareKeyword)) return;
    if (n.kind === k.EnumDeclaration || n.kind === k.ImportEqualsDeclaration || n.kind === k.Decorator ||
      n.kind === k.ExportAssignment && n.isExportEquals || n.kind === k.TypeAssertionExpression || has(k.AccessorKeyword) ||
      n.kind === k.Parameter && ts.isParameterPropertyDeclaration(n, n.parent)) yes = false;
    if (n.kind === k.ModuleDeclaration && ts.getModuleInstanceState?.(n) !== 0) yes = false;
    ts.forEachChild(n, visit);
  };
  visit(source);
  return yes;
}

// bare returns a syntax tree without positions, empty statements and empty exports.
function bare(node) {
  if (Array.isArray(node)) {
    return node.filter((n) => !n || n.type !== 'EmptyStatement' &&
      !(n.type === 'ExportNamedDeclaration' && !n.source && !n.declaration && n.specifiers.length === 0)).map(bare);
  }
  if (!node || typeof node !== 'object' || node instanceof RegExp) return typeof node === 'bigint' ? String(node) : node;
  const out = {};
  for (const key in node) if (!['start', 'end', 'range', 'loc', 'raw'].includes(key)) out[key] = bare(node[key]);
  return out;
}

const parse = (text) => bare(espree.parse(text, { ecmaVersion: 'latest', sourceType: 'module' }));
const options = { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true,
  isolatedModules: true, useDefineForClassFields: true };

// difference describes the first place where two trees differ.
function difference(a, b, at = '') {
  if (JSON.stringify(a) === JSON.stringify(b)) return '';
  if (a && b && typeof a === 'object' && typeof b === 'object') {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const d = difference(a[key], b[key], at + '.' + key);
      if (d) return d;
    }
  }
  return `${at}: ${JSON.stringify(a)?.slice(0, 150)}, the compiler has ${JSON.stringify(b)?.slice(0, 150)}`;
}

function judge(file) {
  const name = path.relative(folder, file), out = { file: name, message: '' };
  const text = fs.readFileSync(file, 'utf8');
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);
  out.erasable = erasable(source);
  const own = path.join(blanked, name);
  if (!fs.existsSync(own)) {
    out.message = 'not blanked';
    return out;
  }
  const mine = fs.readFileSync(own, 'utf8');
  const lines = (s) => s.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => line.length).join();
  if (lines(mine) !== lines(text)) out.message = 'positions differ';
  let want;
  try {
    want = parse(ts.transpileModule(text, { compilerOptions: options, fileName: name }).outputText);
  } catch (e) {
    out.refused = String(e.message);
    return out;
  }
  try {
    out.message ||= difference(parse(mine), want);
  } catch (e) {
    const line = mine.split('\n')[e.lineNumber - 1];
    out.message = `${e.lineNumber}:${e.column} ${e.message} in ${line}`;
  }
  return out;
}

for (const name of packages) {
  for (const file of sources(path.join(folder, 'node_modules', name))) {
    fs.writeSync(1, JSON.stringify(judge(file)) + '\n');
  }
}
