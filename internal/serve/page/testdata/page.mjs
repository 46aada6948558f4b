// The page in a real browser: every view without an error of the browser or of axe, keys, what changes while it is
// open, hostile outputs, 2,000 blocks. Each step waits for what it must show. Prints what the large program costs, and
// writes pictures of the page.
//
// usage: node page.mjs XSTATE CHROMIUM DEMO PICTURES
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";

const [xstate, executablePath, demo, pictures] = process.argv.slice(2);
const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox"],
});
const work = fs.mkdtempSync(path.join(os.tmpdir(), "page-"));
const run = (folder, ...args) => execFileSync(xstate, args, { cwd: folder, encoding: "utf8", stdio: "pipe" });

process.on("exit", () => {
  for (const entry of fs.readdirSync(work, { withFileTypes: true }))
    if (entry.isDirectory()) run(path.join(work, entry.name), "serve", "--stop");
  fs.rmSync(work, { recursive: true });
});

// place makes a folder with programs, and runs them: those named failing may fail.
function place(name, programs) {
  const folder = path.join(work, name);
  fs.mkdirSync(folder);
  for (const [file, text] of Object.entries(programs)) {
    fs.writeFileSync(path.join(folder, file), text);
    if (!file.endsWith(".py")) continue;
    try {
      run(folder, "run", file);
    } catch (error) {
      if (!file.startsWith("failing")) throw error;
    }
  }
  return folder;
}

// visit opens the page of a folder in a browser that is invited. Errors of the browser are errors of the test.
async function visit(folder, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("pageerror", (error) => assert.fail(`an error in the page: ${error.stack ?? error}`));
  page.on("console", (m) => assert.notEqual(m.type(), "error", `${page.url()}: ${m.text()}`));
  page.on("dialog", (d) => assert.fail(`a dialog: ${d.message()}`));
  const url = run(folder, "ui", "--print", "--edit").trim();
  const base = new URL(url).origin;
  page.on("request", (r) => assert.ok(r.url().startsWith(`${base}/ui/`) || r.url().startsWith("data:"), r.url()));
  await page.goto(url);
  return { page, open: (view) => page.goto(`${base}/ui/${view}`) };
}

// alone opens an exported page, which needs no server: it asks for nothing, is accessible, and its graph lights up.
async function alone(file, output) {
  const page = await (await browser.newContext({ bypassCSP: true })).newPage();
  page.on("pageerror", (error) => assert.fail(`an error in the page: ${error.stack ?? error}`));
  page.on("console", (m) => assert.notEqual(m.type(), "error", `${file}: ${m.text()}`));
  page.on("dialog", (d) => assert.fail(`a dialog: ${d.message()}`));
  page.on("request", (r) => assert.match(r.url(), /^(file|data):/));
  await page.goto(`file://${file}`);
  assert.match(
    await page
      .locator(".output")
      .allInnerTexts()
      .then((all) => all.join()),
    new RegExp(output),
  );
  await page.locator(".node").first().hover();
  assert.equal((await page.locator(".node.lit").count()) > 0, true);
  await page.locator("#main a[href^='#b-']").first().click();
  assert.match(page.url(), /#b-/);
  for (const part of await page.locator("#main section, #main .list").all()) await part.scrollIntoViewIfNeeded();
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run({ exclude: [".rich"] }, { resultTypes: ["violations"] }));
  const bad = found.violations.filter((v) => ["serious", "critical"].includes(v.impact));
  assert.deepEqual(bad, [], bad.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`).join("\n"));
  await page.context().close();
  const strict = await (await browser.newContext()).newPage(); // with its policy
  strict.on("console", (m) => assert.notEqual(m.type(), "error", `${file}: ${m.text()}`));
  await strict.goto(`file://${file}`);
  await strict.locator("#values .list button").first().click();
  await strict.context().close();
}

const views = (session, block, name) => [
  "",
  `program?session=${session}`,
  `block?session=${session}&block=${block}`,
  `graph?session=${session}&block=${block}`,
  `history?session=${session}`,
  `step?session=${session}&step=1`,
  `values?session=${session}`,
  `value?session=${session}&name=${name}`,
  `evidence?session=${session}&of=${block}`,
  `calls?session=${session}`,
  `agents?session=${session}`,
  `failures?session=${session}`,
  `audit?session=${session}&block=${block}`,
  `blame?session=${session}&block=${block}`,
];

// A table, nested data, and a text.
const values = ["penguins&row=50", "groups", "groups&path=0", "table"].map(
  (v) => `value?session=analysis.py&name=${v}`,
);

const program = fs.readFileSync(path.join(demo, "analysis.py"), "utf8");
const folder = place("demo", {
  "penguins.csv": fs.readFileSync(path.join(demo, "penguins.csv")),
  "analysis.py": program,
});
const file = path.join(folder, "analysis.py");

// Every view, light and dark: accessible, and its picture.
for (const colorScheme of ["light", "dark"]) {
  const { page, open } = await visit(folder, { colorScheme, bypassCSP: true }); // axe is a script of the test
  for (const view of [...views("analysis.py", "regression", "r2"), ...values]) {
    await open(view);
    await page.evaluate(axe);
    for (const part of await page.locator("#parts > section").all()) await part.scrollIntoViewIfNeeded();
    const found = await page.evaluate(() => axe.run({ resultTypes: ["violations"] }));
    const bad = found.violations.filter((v) => ["serious", "critical"].includes(v.impact));
    const text = bad.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`).join("\n");
    assert.deepEqual(bad, [], `${view} (${colorScheme}): ${text}`);
  }
}
{
  const { page, open } = await visit(folder, { viewport: { width: 390, height: 800 } });
  for (const view of [...views("analysis.py", "regression", "r2"), ...values]) {
    await open(view);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390, `${view} is too wide`);
  }
}
for (const [name, view] of Object.entries({ program: 1, block: 2, graph: 3 })) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      const { page, open } = await visit(folder, {
        colorScheme,
        viewport: { width, height: 800 },
      });
      await open(views("analysis.py", "bootstrap", "r2")[view]);
      await page.screenshot({
        path: path.join(pictures, `ui-${name}-${colorScheme}-${width}.png`),
      });
      await page.context().close();
    }
  }
}
run(folder, "export", "--out", path.join(work, "demo.html"));
await alone(path.join(work, "demo.html"), "344 rows");
console.log("views: fine");

// Keys alone: from block to block, into one, to the views.
{
  const { page, open } = await visit(folder);
  await open("program?session=analysis.py");
  for (const key of ["j", "j", "k"]) await page.keyboard.press(key);
  assert.match(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), /^block setup,/);
  await page.keyboard.press("Enter");
  await page.waitForURL(/block=setup/);
  for (const [key, view] of Object.entries({ 2: "graph", 3: "history", 4: "values", 5: "agents", 1: "program" })) {
    await page.keyboard.press(key);
    await page.waitForURL(new RegExp(`/ui/${view}`));
  }
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "To the content");
  console.log("keys: fine");
}

// The slider walks through the past, in place.
{
  const { page, open } = await visit(folder);
  await open("step?session=analysis.py&step=2");
  await page.locator("#scrub").focus();
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => document.querySelector("h1").textContent === "Step 1");
  assert.match(page.url(), /step=1$/);
  assert.match(await page.locator(".walk output").textContent(), /step 1 of/);
  await page.locator("a[rel=next]").click();
  await page.waitForFunction(() => document.querySelector("h1").textContent === "Step 2");
  console.log("walk: fine");
}

// What another process does is shown, then an edit and its undo from the page.
{
  const { page, open } = await visit(folder);
  await open("program?session=analysis.py");
  const shows = (block, part, text) =>
    page.waitForFunction(
      ([b, p, t]) => document.querySelector(`#b-${b} ${p}`)?.textContent.includes(t),
      [block, part, text],
    );
  fs.writeFileSync(file, program.replace("RESAMPLES = 5000", "RESAMPLES = 400"));
  run(folder, "run", "analysis.py");
  await shows("setup", ".source", "RESAMPLES = 400");
  await shows("bootstrap", ".reason", "has changed");
  await page.locator("#b-setup .name").click();
  await page.locator("summary", { hasText: "Edit" }).click();
  const source = await page.locator("textarea").inputValue();
  await page.locator("textarea").fill(`${source}\nprint("from the page")`);
  await page.locator(".edit button").click();
  await shows("setup", ".output", "from the page");
  assert.match(fs.readFileSync(file, "utf8"), /from the page/);
  await open("history?session=analysis.py");
  await page.locator("a", { hasText: "take back" }).first().click();
  await page.locator("button", { hasText: "Take back" }).click();
  await page.waitForFunction(() => document.querySelector(".steps li").textContent.includes("patch"));
  assert.doesNotMatch(fs.readFileSync(file, "utf8"), /from the page/);
  console.log("changes: fine");
}

// What a run of another process puts out is shown while it runs, and other views follow it.
{
  const folder = place("slow", { "slow.py": "# %% first\nx = 1\n", go: "" });
  fs.rmSync(path.join(folder, "go"));
  const { page, open } = await visit(folder);
  const { page: other, open: openOther } = await visit(folder);
  await open("program?session=slow.py");
  await openOther("history?session=slow.py");
  fs.writeFileSync(
    path.join(folder, "slow.py"),
    `# %% first
x = 1
# %% second
import os, time
print("begins", flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
print("ends")
`,
  );
  const ended = new Promise((resolve) => spawn(xstate, ["run", "slow.py"], { cwd: folder }).on("exit", resolve));
  await page.waitForFunction(() => document.querySelector("#b-second .live")?.textContent.includes("begins"));
  assert.equal(await page.locator("#b-second .state").first().innerText(), "running");
  assert.match(await page.locator("#running").innerText(), /^running: second/);
  fs.writeFileSync(path.join(folder, "go"), "");
  await ended;
  await page.waitForFunction(() => document.querySelector("#b-second .output")?.textContent.includes("ends"));
  await page.waitForFunction(() => document.querySelector("#running").textContent === "");
  await other.waitForFunction(() => document.querySelector(".steps li").textContent.includes("run"));
  await page.waitForFunction(() => !document.querySelector("#counts").textContent.includes("new"));
  fs.rmSync(path.join(folder, "go"));
  const text = fs.readFileSync(path.join(folder, "slow.py"), "utf8");
  fs.writeFileSync(path.join(folder, "slow.py"), text.replace("begins", "begins again"));
  const stopped = new Promise((resolve) => spawn(xstate, ["run", "slow.py"], { cwd: folder }).on("exit", resolve));
  await page.waitForFunction(() => document.querySelector("#b-second .live")?.textContent.includes("begins again"));
  await page.locator("#stop button").click();
  assert.notEqual(await stopped, 0);
  await page.waitForFunction(() => document.querySelector("#stop").hidden);
  console.log("runs of others: fine");
}

// Hostile outputs: nothing runs, no address is asked.
{
  const asked = [];
  const server = createServer((r, answer) => answer.end(asked.push(r.url)));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const evil = `http://127.0.0.1:${server.address().port}`;
  const html = [
    `<script>fetch("${evil}/script")</script><img src="${evil}/image" onerror="alert(1)">`,
    `<iframe src="${evil}/frame"></iframe><meta http-equiv="refresh" content="0;url=${evil}/refresh">`,
    `<form action="${evil}/form"><button id="send">send</button></form><style>@import "${evil}/style"</style>`,
    `<svg onload="alert(1)"><script>alert(1)</script></svg><b style="background: url(${evil}/back)">kept</b>`,
  ].join("");
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><image href="${evil}/svg"/></svg>`;
  const folder = place("hostile", {
    "failing.py": `# %% <img src=x onerror=alert(1)>
class Page:
    def _repr_html_(self): return ${JSON.stringify(html)}
Page()
# %% svg
class Drawing:
    def _repr_svg_(self): return ${JSON.stringify(svg)}
Drawing()
# %% text
print("</pre><script>alert(1)</script>\\x1b[31mred")
globals()["<script>alert(1)</script>"] = "<script>alert(1)</script>"
raise ValueError("<script>alert(1)</script>")
`,
  });
  const { page, open } = await visit(folder);
  const all = views("failing.py", "text", encodeURIComponent("<script>alert(1)</script>"));
  for (const view of all.filter((v) => !/^(value|evidence)\?/.test(v))) {
    await open(view);
    await page.waitForLoadState("load");
    assert.equal(await page.locator("#send, iframe, main script").count(), 0, view);
  }
  await open("program?session=failing.py");
  assert.equal(await page.locator(".output b").innerText(), "kept");
  run(folder, "export", "--out", "alone.html");
  await alone(path.join(folder, "alone.html"), "kept");
  assert.deepEqual(asked, []);
  server.close();
  console.log("hostile outputs: fine");
}

// 2,000 blocks.
{
  const blocks = ["# %% s\nv0 = 1\n"];
  for (let i = 1; i < 2000; i++)
    blocks.push(`# %% b${i}\nv${i} = v${i - 1 - (i % Math.min(i, 20))} + ${i}\nprint(v${i})\n`);
  const folder = place("large", { "large.py": blocks.join("") });
  const { page, open } = await visit(folder);
  await open("program?session=large.py");
  await page.reload();
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  const [begun, response, paint] = await page.evaluate(() => {
    const n = performance.getEntriesByType("navigation")[0];
    return [n.responseStart, n.responseEnd, performance.getEntriesByName("first-contentful-paint")[0].startTime];
  });
  const worst = await page.evaluate(async () => {
    let worst = 0;
    for (let y = 0, last = performance.now(); y < 200_000; y += 1500) {
      scrollTo(0, y);
      await new Promise(requestAnimationFrame);
      worst = Math.max(worst, performance.now() - last);
      last = performance.now();
    }
    return worst;
  });
  await page.evaluate(() => {
    const output = () => document.querySelector("#b-b1999 .output")?.textContent;
    const before = output();
    const seen = new MutationObserver(() => {
      if (output() && output() !== before) window.shown ??= Date.now();
    });
    seen.observe(document.getElementById("parts"), {
      childList: true,
      subtree: true,
    });
  });
  fs.writeFileSync(path.join(folder, "large.py"), blocks.join("").replace("+ 1999", "+ 5"));
  run(folder, "run", "large.py");
  await page.waitForFunction(() => window.shown);
  const recorded = Date.parse(JSON.parse(run(folder, "log", "--limit", "1", "--json")).steps[0].time);
  const update = (await page.evaluate(() => window.shown)) - recorded;
  const rounded = [begun, response, paint - response, worst, update].map(Math.round);
  console.log("2,000 blocks, ms: first byte %d, last %d, paint after it %d, worst frame %d, update %d", ...rounded);
}
await browser.close();
