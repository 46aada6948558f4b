// A session in JupyterLab, in a real browser: marks, refreshed outputs, the edit of an agent, a restart, a widget. Each
// step waits for what it must show. Writes pictures of the page.
//
// usage: node lab.mjs URL CHROMIUM XSTATE NOTEBOOK PICTURES
import { execFileSync } from "node:child_process";
import { dirname } from "node:path";
import { chromium } from "playwright-core";

const [url, executablePath, xstate, notebook, pictures] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1000, height: 640 } });
page.setDefaultTimeout(120_000);
page.on("pageerror", (error) => fail(`an error in the page: ${error.stack ?? error}`));

function fail(text) {
  console.error(text);
  process.exit(1);
}

// cells returns what each cell has: its mark, the reason, its text, what it shows, and its picture.
const cells = () =>
  page.evaluate(() =>
    [...document.querySelectorAll(".jp-Notebook .jp-CodeCell")].map((cell) => ({
      mark: cell.dataset.xstate ?? "",
      why: cell.querySelector(".jp-InputPrompt")?.title ?? "",
      source: cell.querySelector(".cm-content")?.innerText ?? "",
      text: cell.querySelector(".jp-OutputArea")?.innerText ?? "",
      picture: cell.querySelector(".jp-OutputArea img")?.src ?? "",
    })),
  );

// until waits until the cells are as a step must show them.
async function until(what, holds) {
  const limit = Date.now() + 120_000;
  for (;;) {
    const now = await cells();
    if (holds(now)) {
      console.log(what);
      return now;
    }
    if (Date.now() > limit) {
      await page.screenshot({ path: "failed.png" });
      fail(`not so: ${what}\n${JSON.stringify(now, null, 1)}\n${await summary()}`);
    }
    await page.waitForTimeout(100);
  }
}

const summary = () => page.evaluate(() => document.querySelector(".xstate-status")?.textContent ?? "");
const cell = (n) => page.locator(".jp-Notebook .jp-CodeCell").nth(n).locator(".cm-content");
const command = (id) => page.evaluate((id) => window.jupyterapp.commands.execute(id), id);

async function write(n, source) {
  await cell(n).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(source);
}

async function run(n) {
  await cell(n).click();
  await page.keyboard.press("Control+Enter");
}

const marks = (now) => now.map((c) => c.mark).join(" ");

await page.goto(`${url}/lab/tree/a.ipynb`);
await page.waitForFunction(() => document.body.innerText.includes("(xstate) | Idle"));
await page.waitForFunction(() => document.querySelectorAll(".jp-Notebook .jp-CodeCell").length === 4);
await run(2);
const first = await until("a cell runs those above first", (now) => marks(now).startsWith("fresh fresh fresh") && now[2].picture);
if (!first[1].text.startsWith("361")) {
  fail(`the cell above does not show what it put out: ${first[1].text}`);
}
await write(0, "import matplotlib.pyplot as plt\nscale = 10");
await until("an edited cell is marked", (now) => now[0].mark === "edited");
await run(0);
const stale = await until("cells below are stale", (now) => marks(now).startsWith("fresh stale stale"));
if (!/scale changed, which the cell load writes \(\w+, now \w+\)/.test(stale[1].why)) {
  fail(`the reason is not shown: ${stale[1].why}`);
}
await page.locator(".jp-Notebook .jp-CodeCell").nth(1).locator(".jp-InputPrompt").hover();
await page.screenshot({ path: `${pictures}/stale.png` });
await page.locator(".xstate-status").click();
const second = await until("a click runs them", (now) => marks(now).startsWith("fresh fresh fresh") && now[1].text.startsWith("3610"));
if (second[2].picture === first[2].picture) {
  fail("the figure is the old one");
}
await write(3, "%xstate mode auto");
await run(3);
await until("the mode is set", (now) => now[3].text.includes("mode auto"));
await write(0, "import matplotlib.pyplot as plt\nscale = -3");
await run(0);
await until("the figure below is refreshed in place", (now) => now[1].text.startsWith("0") && now[2].picture !== second[2].picture);
await command("docmanager:save");
await page.waitForFunction(() => !document.querySelector(".jp-mod-dirty"));
execFileSync(xstate, ["exec", "--session", "a.ipynb", "--replace", "data", "--agent", "helper", "-c", "ys = [n ** 3 for n in range(9)]\nprint(ys[-1])"], {
  cwd: dirname(notebook),
  stdio: "ignore",
});
await until("the edit of an agent arrives", (now) => now[1].source.includes("n ** 3") && now[1].mark === "fresh");
await run(2);
await until("what depends on it is shown", (now) => now[2].mark === "fresh" && now[2].picture);
command("kernelmenu:restart");
await page.locator(".jp-Dialog button.jp-mod-accept").click();
await page.waitForFunction(() => document.body.innerText.includes("(xstate) | Idle"));
await until("after a restart the marks are there", (now) => marks(now).startsWith("fresh fresh fresh"));
await run(2);
await until("and the cell is served", (now) => now[2].mark === "fresh" && now[2].picture);
await write(3, "import ipywidgets as widgets\nn = widgets.IntSlider(value=3, max=9, description='n')\nn");
await run(3);
await page.locator(".widget-slider .noUi-handle").waitFor();
await command("notebook:insert-cell-below");
await write(4, "print('n squared is', n.value ** 2)");
await run(4);
await until("a cell reads a widget", (now) => now[4].text.startsWith("n squared is 9"));
await page.locator(".widget-slider .noUi-handle").focus();
await page.keyboard.press("ArrowRight");
const moved = await until("a moved slider makes it stale", (now) => now[4].mark === "stale");
await page.screenshot({ path: `${pictures}/widget.png` });
if (!/^stale: n changed/.test(moved[4].why)) {
  fail(`the reason is not shown: ${moved[4].why}`);
}
await page.locator(".xstate-status").click();
await until("and it runs with the value of the page", (now) => now[4].text.startsWith("n squared is 16"));
await page.keyboard.press("Control+s");
await page.reload();
await page.waitForFunction(() => document.body.innerText.includes("(xstate) | Idle"));
await page.locator(".widget-slider .noUi-handle").waitFor();
await page.waitForFunction(() => document.querySelector(".widget-readout")?.innerText === "4");
console.log("a page that is loaded again has the widget");
await browser.close();
