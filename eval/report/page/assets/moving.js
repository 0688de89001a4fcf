// Moving about: addresses, keys, printing, and the start.

// Shows what the address says: filters, a case, one of its turns.
function followHash() {
  const { anchor, values } = readHash();
  const target = all.find((found) => found.id === anchor);
  // The plain link of the section changes no filter.
  if (!target && (anchor !== "transcripts" || ![...values].length)) return;
  document.getElementById("transcripts").closest("details").open = true;
  const isSame = FILTERS.every((name) => form.elements[name].value === (values.get(name) ?? ""));
  if (!isSame) {
    fillForm(values);
    applyFilters();
    showFrom(0);
  }
  if (!target) {
    document.getElementById("transcripts").scrollIntoView();
    return;
  }
  if (!matches.includes(target)) {
    fillForm(new URLSearchParams());
    applyFilters();
  }
  const place = matches.indexOf(target);
  if (!document.getElementById(anchor)) showFrom(Math.max(0, place - 2));
  reveal(document.getElementById(anchor), values.get("at"));
}

// Opens a card and brings it, or one of its turns, into view.
function reveal(node, at) {
  if (!node.open) node.dataset.silent = "1";
  node.open = true;
  if (!node.querySelector(".body")) fill(node);
  for (const old of list.querySelectorAll(".target")) old.classList.remove("target");
  const turn = at ? node.querySelector(`[data-turn="${CSS.escape(at)}"]`) : null;
  turn?.classList.add("target");
  (turn ?? node).scrollIntoView();
  node.querySelector("summary").focus({ preventScroll: true });
}

function refilter() {
  applyFilters();
  showFrom(0);
  setHash("transcripts");
}

function step(offset) {
  let summaries = [...list.querySelectorAll(".transcript > summary")];
  const current = summaries.indexOf(document.activeElement?.closest(".transcript")?.querySelector("summary"));
  if (current + offset >= summaries.length && !more.hidden) showMore();
  if (current === 0 && offset < 0 && !earlier.hidden) {
    const own = summaries[0];
    showEarlier();
    summaries = [...list.querySelectorAll(".transcript > summary")];
    focus(summaries[summaries.indexOf(own) - 1]);
    return;
  }
  summaries = [...list.querySelectorAll(".transcript > summary")];
  focus(summaries[Math.max(0, current + offset)]);
}

function focus(summary) {
  if (!summary) return;
  summary.closest(".part").open = true;
  summary.focus({ preventScroll: true });
  summary.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
  const onCard = event.target.matches?.(".transcript > summary");
  if (event.key === "/") {
    document.getElementById("transcripts").closest("details").open = true;
    document.getElementById("more-filters").open = true;
    form.elements.text.focus();
  } else if (event.key === "j" || (event.key === "ArrowDown" && onCard)) step(1);
  else if (event.key === "k" || (event.key === "ArrowUp" && onCard)) step(-1);
  else return;
  event.preventDefault();
});

// Closed tables are printed too.
const closed = new Set();
window.addEventListener("beforeprint", () => {
  for (const node of document.querySelectorAll("details:is(.table, .part:not(:has(#transcripts))):not([open])")) {
    closed.add(node);
    node.open = true;
  }
});
window.addEventListener("afterprint", () => {
  for (const node of closed) node.open = false;
  closed.clear();
});

let pending = 0;
form.addEventListener("input", () => {
  clearTimeout(pending);
  pending = setTimeout(refilter, 120);
});
form.addEventListener("reset", () => setTimeout(refilter));
form.addEventListener("submit", (event) => event.preventDefault());
for (const [id, isOpen] of [["open-all", true], ["close-all", false]]) {
  document.getElementById(id).addEventListener("click", () => {
    for (const node of list.querySelectorAll(".transcript")) {
      if (isOpen && !node.open) node.dataset.silent = "1";
      node.open = isOpen;
    }
  });
}
more.addEventListener("click", showMore);
earlier.addEventListener("click", showEarlier);
window.addEventListener("hashchange", followHash);

async function start() {
  if (!window.DecompressionStream) {
    list.append(element("p", "lead", "This browser is too old to unpack the transcripts. All else on the page works."));
    return;
  }
  data = await unpack("cases");
  all = casesOf(data);
  dropReplaced(all);
  addThumbs(all);
  fillFilters();
  applyFilters();
  showFrom(0);
  followHash();
  document.documentElement.dataset.ready = "1";
}

start();
