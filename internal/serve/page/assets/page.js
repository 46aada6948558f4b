// What changes while a page is open, and keys. Every view works without this file.
"use strict";

const { session, at, view } = document.body.dataset;
const parts = document.getElementById("parts");
const running = document.getElementById("running");
const stop = document.getElementById("stop");

// A view of a session's present state follows its steps. One that is hidden does not: a browser has few connections to
// a server, and none would be left for other views. When it is seen again it asks for all that it may have missed.
let source = null;

function follow(since) {
  const query = `session=${encodeURIComponent(session)}&since=${since}${parts ? "&parts=1" : ""}`;
  source = new EventSource(`/ui/events?${query}`);
  source.addEventListener("open", () => {
    if (running.textContent === lost) running.textContent = "";
  });
  source.addEventListener("stamp", (e) => stamped(JSON.parse(e.data)));
  source.addEventListener("run", (e) => ran(JSON.parse(e.data)));
  source.addEventListener("error", () => {
    ended();
    running.textContent = lost;
  });
}

const lost = "The server does not answer: what is shown may be out of date.";

if (session && !at) {
  follow(document.body.dataset.step);
  document.addEventListener("visibilitychange", () => {
    source?.close();
    source = null;
    ended();
    if (!document.hidden) follow(0);
  });
}

let taken = Promise.resolve(); // stamps are taken one after the other

function stamped(stamp) {
  if (!stamp.running) ended();
  if (stop) stop.hidden = !stamp.running;
  if (!now) running.textContent = stamp.failed || (stamp.running ? `running: ${stamp.running}` : "");
  if (stamp.about) about(stamp.about);
  if (stamp.step === Number(document.body.dataset.step)) return;
  document.body.dataset.step = stamp.step;
  taken = taken
    .then(() => (parts ? take(stamp) : refresh()))
    .catch((error) => {
      running.textContent = `not up to date: ${error.message}`;
      document.body.dataset.step = "";
    });
}

// about shows anew what a program has besides its parts: counts, and notices.
function about(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  for (const other of [...page.body.children]) {
    const shown = document.getElementById(other.id);
    if (shown && shown.outerHTML !== other.outerHTML) shown.replaceWith(other);
  }
}

// take shows the parts that changed. A browser that may have missed some asks for those that it does not have.
async function take(stamp) {
  const come = new Map();
  const add = (html) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const part of page.querySelectorAll("body > section")) come.set(part.id, part);
  };
  add(stamp.parts ?? "");
  if (!stamp.blocks) {
    for (const [id, other] of come) replace(document.getElementById(id), other);
    live();
    return;
  }
  const has = (b) => (come.get(`b-${b.id}`) ?? partOf(b.id))?.dataset.hash === b.hash;
  const needed = stamp.blocks.filter((b) => !has(b)).map((b) => b.id);
  for (let i = 0; i < needed.length; i += 100) {
    const query = needed.slice(i, i + 100).map((id) => `&block=${encodeURIComponent(id)}`);
    const answer = await fetch(`/ui/parts?session=${encodeURIComponent(session)}${query.join("")}`);
    if (!answer.ok) throw new Error(answer.statusText);
    add(await answer.text());
  }
  let last = null;
  const present = new Set();
  for (const { id: block } of stamp.blocks) {
    const id = `b-${block}`;
    present.add(id);
    const part = replace(document.getElementById(id), come.get(id));
    if (!part) continue;
    const place = last ? last.nextElementSibling : parts.firstElementChild;
    if (place !== part) parts.insertBefore(part, place);
    last = part;
  }
  for (const part of [...parts.children]) if (!present.has(part.id)) part.remove();
  if (!present.size) parts.textContent = "The program has no blocks.";
  live();
}

// replace puts another part in the place of one that the page has, if it has one, and returns what is shown then.
function replace(part, other) {
  if (!other) return part;
  const focused = part?.contains(document.activeElement);
  part?.replaceWith(other);
  prepare(other);
  if (focused) other.querySelector("article.block")?.focus({ preventScroll: true });
  return other;
}

// refresh shows a view anew that has no parts, unless something is being written in it.
async function refresh() {
  const main = document.getElementById("main");
  if (main.querySelector("details[open] textarea") || main.contains(document.activeElement?.closest("form"))) {
    running.textContent = "There is another step: load the page again to see it.";
    return;
  }
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const other = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
  const open = [...main.querySelectorAll("details[open] > summary")].map((s) => s.textContent);
  for (const s of other.querySelectorAll("details > summary")) s.parentElement.open ||= open.includes(s.textContent);
  const within = [...main.querySelectorAll("a, button, [tabindex]")].indexOf(document.activeElement);
  main.replaceChildren(...other.childNodes);
  prepare(main);
  if (within >= 0)
    [...main.querySelectorAll("a, button, [tabindex]")][within]?.focus({
      preventScroll: true,
    });
}

function partOf(block) {
  return document.getElementById(`b-${block}`);
}

// What scrolls can be reached by keys. It is looked at when it comes into view: 2,000 blocks have no layout before.
const scrolling = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    if (isIntersecting && (target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight)) {
      target.tabIndex = 0;
    }
  }
});

const mostLive = 200_000; // characters of what a block has put out while it runs: the last ones

// What a run of this session reports: the block that runs, since when, and what it has put out.
let now = null;

function ran(event) {
  if (event.event === "begin") {
    const again = now?.id === event.block ? now.text : "";
    const begun = performance.now() - 1000 * event.ago;
    now = {
      id: event.block,
      begun,
      expected: event.expected ?? 0,
      text: again,
    };
    live();
    tick();
  } else if (event.event === "output" && now) {
    // As a terminal shows it: without colours, and of a line that was written over its last state.
    now.text = (now.text + (event.text ?? "")).replace(/\x1b\[[0-9;]*[A-Za-z]/g, "").replace(/^.*\r(?!\n)/gm, "");
    now.text = now.text.slice(-mostLive);
    live();
  } else if ((event.event === "end" || event.event === "failed") && now) {
    label(partOf(event.block)?.querySelector("article.block"), event.event === "end" ? "ran" : "failed");
    now = event.event === "end" ? { ...now, over: true } : null;
  }
}

// live shows in the block that runs that it does, and what it has put out.
function live() {
  const block = now && !now.over && partOf(now.id)?.querySelector("article.block");
  if (!block) return;
  label(block, "running");
  const text = block.querySelector(".live");
  text.hidden = !now.text;
  text.textContent = now.text;
  block.classList.toggle("anew", Boolean(now.text));
}

function label(block, state) {
  const text = block?.querySelector(".state");
  if (!text) return;
  block.classList.toggle("running", state === "running");
  text.className = `state ${state}`;
  text.textContent = state;
}

// tick says how long the block has run, and how long it is expected to take.
function tick() {
  if (!now || now.over) return;
  const seconds = Math.max(0, (performance.now() - now.begun) / 1000);
  const of = now.expected >= 0.1 ? ` of about ${now.expected.toFixed(1)} s` : "";
  running.textContent = `running: ${now.id}, ${seconds.toFixed(1)} s${of}`;
  clearTimeout(ticking);
  ticking = setTimeout(tick, 200);
}

let ticking;

// ended takes away what a run showed that was not recorded.
function ended() {
  now = null;
  for (const text of document.querySelectorAll(".live:not([hidden])")) {
    text.hidden = true;
    text.closest("article.block").classList.remove("anew", "running");
  }
}

// j and k go from block to block, Enter opens one; the number of a tab opens that view.
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.altKey || e.metaKey || e.target.closest("input, textarea, select, button")) return;
  const blocks = [...document.querySelectorAll("article.block")];
  const now = blocks.indexOf(document.activeElement?.closest("article.block"));
  if ((e.key === "j" || e.key === "k") && blocks.length) {
    const next = blocks[Math.min(blocks.length - 1, Math.max(0, now + (e.key === "j" ? 1 : -1)))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  } else if (e.key === "Enter" && document.activeElement?.matches("article.block")) {
    document.activeElement.querySelector(".name").click();
  } else if (/^[1-9]$/.test(e.key)) {
    document.querySelectorAll("nav a")[e.key - 1]?.click();
  } else if (e.key === "ArrowLeft") {
    document.querySelector("a[rel=prev]")?.click();
  } else if (e.key === "ArrowRight") {
    document.querySelector("a[rel=next]")?.click();
  } else {
    return;
  }
  e.preventDefault();
});

// prepare gives what came into the page what scripts add: keys that scroll, tables that sort, a graph that lights up.
function prepare(root) {
  for (const element of root.querySelectorAll("pre, .output, .rich, .list")) scrolling.observe(element);
  for (const table of root.querySelectorAll("table.sortable, .rich table")) sortable(table);
  for (const drawing of root.querySelectorAll(".drawing")) lit(drawing);
}

// The rows of a table are sorted by the column whose head is chosen: by number if all are numbers.
function sortable(table) {
  const body = table.tBodies[0];
  if (!body) return;
  for (const [i, head] of [...(table.tHead?.rows[0]?.cells ?? [])].entries()) {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    button.textContent ||= "#"; // the index of a data frame has no name
    button.textContent ||= "#"; // the index of a data frame has no name
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      const text = (row) => row.cells[i]?.textContent.trim() ?? "";
      const rows = [...body.rows];
      const numbers = rows.every((row) => text(row) === "" || Number.isFinite(Number(text(row))));
      rows.sort((a, b) => (numbers ? text(a) - text(b) : text(a).localeCompare(text(b))) * (down ? -1 : 1));
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...rows);
    });
  }
}

// In the graph, what a block depends on and what it affects is lit while the pointer or the focus is on it. At rest,
// what the change that is asked about can reach is.
function lit(drawing) {
  const edges = [...drawing.querySelectorAll(".edge")];
  const nodes = [...drawing.querySelectorAll(".node")];
  const show = (lit) => {
    for (const node of nodes) {
      node.classList.toggle("lit", lit.has(node.dataset.node));
      node.classList.toggle("dim", lit.size > 0 && !lit.has(node.dataset.node));
    }
    for (const e of edges)
      e.classList.toggle("dim", lit.size > 0 && !(lit.has(e.dataset.from) && lit.has(e.dataset.to)));
  };
  const light = (id) => {
    const lit = new Set([id]);
    for (const [from, to] of [
      ["from", "to"],
      ["to", "from"],
    ]) {
      for (let todo = [id]; todo.length;) {
        const now = todo.pop();
        for (const e of edges) {
          if (e.dataset[from] === now && !lit.has(e.dataset[to])) {
            lit.add(e.dataset[to]);
            todo.push(e.dataset[to]);
          }
        }
      }
    }
    show(lit);
  };
  const rest = () => show(new Set(nodes.filter((n) => n.matches(".affected, .chosen")).map((n) => n.dataset.node)));
  rest();
  for (const node of nodes) {
    node.addEventListener("pointerenter", () => light(node.dataset.node));
    node.addEventListener("pointerleave", rest);
    node.addEventListener("focus", () => light(node.dataset.node));
    node.addEventListener("blur", rest);
  }
  drawing.querySelector(".chosen")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  const map = drawing.parentElement.querySelector(".map");
  if (map) mapped(drawing, map);
}

// The map of a large drawing shows which part of it is seen; a press on it shows another.
function mapped(drawing, map) {
  const seen = map.querySelector(".window");
  const move = () => {
    for (const [name, value] of Object.entries({
      x: drawing.scrollLeft,
      y: drawing.scrollTop,
      width: drawing.clientWidth,
      height: drawing.clientHeight,
    }))
      seen.setAttribute(name, value);
  };
  const go = (e) => {
    if (!e.buttons) return;
    const { left, top, width, height } = map.getBoundingClientRect();
    drawing.scrollTo({
      left: ((e.clientX - left) / width) * drawing.scrollWidth - drawing.clientWidth / 2,
      top: ((e.clientY - top) / height) * drawing.scrollHeight - drawing.clientHeight / 2,
    });
  };
  drawing.addEventListener("scroll", move, { passive: true });
  addEventListener("resize", move);
  map.addEventListener("pointerdown", go);
  map.addEventListener("pointermove", go);
  move();
}

// On paper all is unfolded.
addEventListener("beforeprint", () => {
  for (const d of document.querySelectorAll("#main details:not([open])")) {
    d.dataset.folded = "";
    d.open = true;
  }
});
addEventListener("afterprint", () => {
  for (const d of document.querySelectorAll("details[data-folded]")) d.open = false;
});

prepare(document);

// A view of the past follows the slider of the steps.
const scrub = document.getElementById("scrub");
if (scrub) {
  const there = (step) => {
    const address = new URL(location.href);
    address.searchParams.set("step", step);
    return address;
  };
  let shown = scrub.value;
  let busy = false;
  const show = async () => {
    if (busy) return;
    busy = true;
    while (shown !== scrub.value) {
      const step = scrub.value;
      const answer = await fetch(there(step));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      shown = step;
      history.replaceState(null, "", there(step));
      document.title = page.title;
      for (const part of ["main", "nav", ".top .then", ".walk .links:first-child", ".walk .links:last-child"]) {
        const other = page.querySelector(part);
        if (other) document.querySelector(part)?.replaceChildren(...other.childNodes);
      }
      prepare(document.querySelector("main"));
    }
    busy = false;
  };
  scrub.hidden = false;
  scrub.addEventListener("input", show);
}
