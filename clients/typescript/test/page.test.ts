/** Runs what docs/adapters.md prints for JavaScript, with scripted models. */

import fs from "node:fs";
import path from "node:path";
import test from "node:test";

import ts from "typescript";

import { BINARY, Place, ROOT, equal } from "./support.js";

const PAGE = fs.readFileSync(path.join(ROOT, "docs/adapters.md"), "utf8");
const SECTIONS = [...PAGE.matchAll(/\n## ([^\n]+)\n(.*?)(?=\n## |$)/gs)];
const CODES = SECTIONS.flatMap(([, heading, text]) => {
  return [...text!.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => [heading!, code!] as const);
});

test("the page has sections of JavaScript", () => {
  equal(
    CODES.map(([heading]) => heading),
    [
      "AI SDK",
      "LangChain and LangGraph in JavaScript",
      "AI SDK's sandbox",
      "Code mode of Cloudflare",
      "Code mode of TanStack AI",
      "Mastra",
    ],
  );
});

for (const [i, [heading, code]] of CODES.entries()) {
  test(`the page: ${heading}`, async (t) => {
    const place = new Place(t);
    equal(code.split("\n").length <= 21, true);
    const here = new URL("../src/", import.meta.url).href;
    const { ESNext: target } = ts.ScriptTarget;
    const script = ts
      .transpile(code, { target, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true })
      .replace('"@xstate-engine/client"', JSON.stringify(here + "index.js"))
      .replace(/"@xstate-engine\/client\/adapters\/([\w-]+)"/, (_, name) =>
        JSON.stringify(`${here}adapters/${name}.js`),
      )
      .replace(/"\.\/script\.js"/, JSON.stringify(new URL("script.js", import.meta.url).href))
      .replace('new Engine(".")', `new Engine(${JSON.stringify(place.folder)})`)
      .replace(
        '"xstate", args: ["mcp", "."]',
        `${JSON.stringify(BINARY)}, args: ["mcp", ${JSON.stringify(place.folder)}]`,
      );
    const file = new URL(`../page-${i}.mjs`, import.meta.url); // below node_modules
    fs.writeFileSync(file, script);
    const said: unknown[] = [];
    const log = t.mock.method(console, "log", (text: unknown) => said.push(text));
    await import(file.href);
    log.mock.restore();
    equal(said, ["done"]);
  });
}
