// What changes while a page is open, and keys. Every view works without this file.
"use strict";

const { session, at, view } = document.body.dataset;
const parts = document.getElementById("parts");
const running = document.getElementById("running");

// The parts of a session's present program follow its steps.
if (session && !at) {
  const since = parts ? parts.dataset.step : "0";
  const source = new EventSource(`/ui/events?session=${encodeURIComponent(session)}&since=${since}`);
  source.addEventListener("stamp", (e) => stamped(JSON.parse(e.data)));
  source.addEventListener("run", (e) => ran(JSON.parse(e.data)));
}

async function stamped(stamp) {
  running.textContent = stamp.failed || (stamp.running ? `running: ${stamp.running}` : "");
  if (!parts || !stamp.blocks) return;
  parts.dataset.step = stamp.step;
  const needed = stamp.blocks.filter((b) => partOf(b.id)?.dataset.hash !== b.hash).map((b) => b.id);
  const come = new Map();
  for (let i = 0; i < needed.length; i += 200) {
    const query = needed.slice(i, i + 200).map((id) => `&block=${encodeURIComponent(id)}`);
    const answer = await fetch(`/ui/parts?session=${encodeURIComponent(session)}${query.join("")}`);
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of page.querySelectorAll("body > section")) come.set(part.id, part);
  }
  let last = null;
  const present = new Set();
  for (const b of stamp.blocks) {
    const id = `b-${b.id}`;
    present.add(id);
    let part = document.getElementById(id);
    const other = come.get(id);
    if (other) {
      const focused = part?.contains(document.activeElement);
      if (part) part.replaceWith(other);
      part = other;
      watch(part);
      if (focused) part.querySelector(".block")?.focus();
    }
    if (!part) continue;
    const place = last ? last.nextElementSibling : parts.firstElementChild;
    if (place !== part) parts.insertBefore(part, place);
    last = part;
  }
  for (const part of [...parts.children]) if (!present.has(part.id)) part.remove();
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

function watch(root) {
  for (const element of root.querySelectorAll("pre, .output, .rich")) scrolling.observe(element);
}

watch(document);

// An event of a run that this server carries out for a browser.
function ran(event) {
  const block = partOf(event.block)?.querySelector(".block");
  if (!block) return;
  const live = block.querySelector(".live");
  if (event.event === "begin") {
    block.classList.add("running");
    live.textContent = "";
  } else if (event.event === "output") {
    live.hidden = false;
    live.textContent += event.output.text ?? "";
  } else if (event.event === "end") {
    block.classList.remove("running");
  }
}

// j and k go from block to block, Enter opens one; the number of a tab opens that view.
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.altKey || e.metaKey || e.target.closest("input, textarea, select, button")) return;
  const blocks = [...document.querySelectorAll(".block")];
  const now = blocks.indexOf(document.activeElement?.closest(".block"));
  if ((e.key === "j" || e.key === "k") && blocks.length) {
    const next = blocks[Math.min(blocks.length - 1, Math.max(0, now + (e.key === "j" ? 1 : -1)))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  } else if (e.key === "Enter" && document.activeElement?.matches(".block")) {
    document.activeElement.querySelector(".name").click();
  } else if (/^[1-9]$/.test(e.key)) {
    document.querySelectorAll("nav a")[e.key - 1]?.click();
  } else if (e.key === "ArrowLeft") {
    document.querySelector("a[rel=prev]")?.click();
  } else {
    return;
  }
  e.preventDefault();
});

// The rows of a table are sorted by the column whose head is chosen: by number if all are numbers.
for (const table of document.querySelectorAll("table.sortable, .rich table")) {
  const body = table.tBodies[0];
  for (const [i, head] of [...(table.tHead?.rows[0]?.cells ?? [])].entries()) {
    const button = document.createElement("button");
    button.append(...head.childNodes);
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

// In the graph, what a block depends on and what it affects is lit while the pointer or the focus is on it.
const drawing = document.querySelector(".drawing");
if (drawing) {
  const edges = [...drawing.querySelectorAll(".edge")];
  const light = (id) => {
    const lit = new Set(id ? [id] : []);
    for (const [from, to] of [
      ["from", "to"],
      ["to", "from"],
    ]) {
      for (let todo = id ? [id] : []; todo.length;) {
        const now = todo.pop();
        for (const e of edges) {
          if (e.dataset[from] === now && !lit.has(e.dataset[to])) {
            lit.add(e.dataset[to]);
            todo.push(e.dataset[to]);
          }
        }
      }
    }
    for (const node of drawing.querySelectorAll(".node")) {
      node.classList.toggle("lit", lit.has(node.dataset.node));
      node.classList.toggle("dim", lit.size > 0 && !lit.has(node.dataset.node));
    }
    for (const e of edges)
      e.classList.toggle("dim", lit.size > 0 && !(lit.has(e.dataset.from) && lit.has(e.dataset.to)));
  };
  const chosen = drawing.querySelector(".chosen")?.dataset.node ?? "";
  light(chosen);
  for (const node of drawing.querySelectorAll(".node")) {
    node.addEventListener("pointerenter", () => light(node.dataset.node));
    node.addEventListener("pointerleave", () => light(chosen));
    node.addEventListener("focus", () => light(node.dataset.node));
    node.addEventListener("blur", () => light(chosen));
  }
}
