// Transcripts: read once from the page's JSON, drawn as they come into view.
// Every text enters the page through textContent, never as HTML.
"use strict";

const PAGE_SIZE = 40;
const GLYPHS = { pass: "✓", fail: "✗", undecided: "?" };
const SPLITS = { train: "seen", heldout_value: "unseen value", heldout_family: "unseen family", none: "no instruction" };
const FINISHES = {
  length: "cut at the length limit",
  context_limit: "stopped: context is full",
  content_filter: "withheld by the server's filter",
};

const data = JSON.parse(document.getElementById("data").textContent);
const form = document.getElementById("filters");
const list = document.getElementById("list");
const more = document.getElementById("more");
let matches = [];
let numShown = 0;

function element(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

function message(text, spans = []) {
  const node = element("p");
  node.dir = "auto";
  // Spans count characters as Python does; UTF-16 units would slip after an emoji.
  const characters = Array.from(text);
  let end = 0;
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    if (from < end || to > characters.length) continue;
    node.append(characters.slice(end, from).join(""));
    node.append(element("mark", "", characters.slice(from, to).join("")));
    end = to;
  }
  node.append(characters.slice(end).join(""));
  return node;
}

function instructionOf(transcript) {
  return transcript.instruction === null ? null : data.instructions[transcript.instruction];
}

// Filters

function wanted() {
  const values = Object.fromEntries(new FormData(form));
  values.text = values.text.trim().toLowerCase();
  return values;
}

function turnMatches(turn, filter) {
  if (filter.turn && String(turn.turn) !== filter.turn) return false;
  if (filter.status && turn.status !== filter.status) return false;
  return true;
}

function turnHasText(turn, text) {
  return data.texts[turn.user].toLowerCase().includes(text) || data.texts[turn.reply].toLowerCase().includes(text);
}

function hits(transcript, filter) {
  const turns = transcript.turns.filter((turn) => turnMatches(turn, filter));
  if (!filter.text) return turns;
  const instruction = instructionOf(transcript);
  const head = `${transcript.dialogue} ${instruction ? instruction.text : ""}`.toLowerCase();
  return head.includes(filter.text) ? turns : turns.filter((turn) => turnHasText(turn, filter.text));
}

function transcriptMatches(transcript, filter) {
  for (const key of ["family", "split", "history"]) {
    if (filter[key] && transcript[key] !== filter[key]) return false;
  }
  if (filter.arm && String(transcript.arm) !== filter.arm) return false;
  return hits(transcript, filter).length > 0;
}

function addOptions(name, values, label = (value) => value) {
  const select = form.elements[name];
  for (const value of values) select.append(new Option(label(value), value));
  if (values.length < 2) select.closest("label").hidden = true;
}

function distinct(values) {
  return [...new Set(values)];
}

function fillFilters() {
  const turns = data.transcripts.flatMap((t) => t.turns);
  addOptions("arm", distinct(data.transcripts.map((t) => t.arm)).sort(), (arm) => data.arms[arm][1]);
  addOptions("family", distinct(data.transcripts.map((t) => t.family)).sort());
  const found = distinct(data.transcripts.map((t) => t.split));
  addOptions("split", Object.keys(SPLITS).filter((s) => found.includes(s)), (split) => SPLITS[split]);
  addOptions("history", distinct(data.transcripts.map((t) => t.history)).sort());
  addOptions("turn", distinct(turns.map((t) => t.turn)).sort((a, b) => a - b));
  addOptions("status", Object.keys(GLYPHS).filter((s) => turns.some((t) => t.status === s)));
  form.hidden = false;
}

// Drawing

function strip(turns) {
  const node = element("span", "strip");
  for (const turn of turns) {
    const square = element("i", `${turn.status} of-${turn.kind}`, `${turn.turn} ${GLYPHS[turn.status]}`);
    square.title = `${turn.kind === "probe" ? "probe at turn" : "turn"} ${turn.turn}: ${turn.status}`;
    node.append(square);
  }
  return node;
}

function card(transcript) {
  const [, armName] = data.arms[transcript.arm];
  const instruction = instructionOf(transcript);
  const node = element("details", `card transcript arm-${transcript.arm % 8}`);
  node.id = transcript.id;
  const given = element("span", "given", instruction ? `“${instruction.text}”` : "No instruction");
  given.dir = "auto";
  const head = element("span", "", element("span", "name", armName), element("span", "id", transcript.dialogue));
  for (const chip of distinct([transcript.family, SPLITS[transcript.split]])) head.append(element("span", "chip", chip), " ");
  if (!form.elements.history.closest("label").hidden) head.append(element("span", "chip", `${transcript.history} history`));
  node.append(element("summary", "", head, given, strip(transcript.turns)));
  node.addEventListener("toggle", () => node.open && !node.querySelector(".body") && node.append(body(transcript)));
  return node;
}

function body(transcript) {
  const node = element("div", "body");
  node.append(links(transcript));
  const instruction = instructionOf(transcript);
  if (instruction) {
    const box = element("div", "instruction", element("small", "", `instruction, ${instruction.wording}, given in turn 1`));
    box.append(message(instruction.text));
    node.append(box);
  }
  const filter = wanted();
  const hit = new Set(hits(transcript, filter));
  let last = 0;
  for (const turn of transcript.turns) {
    if (turn.turn > last + 1) {
      const only = turn.turn === last + 2;
      node.append(element("p", "gap", only ? `turn ${last + 1} not asked` : `turns ${last + 1} to ${turn.turn - 1} not asked`));
    }
    const drawn = drawTurn(turn);
    drawn.classList.toggle("dim", !hit.has(turn));
    node.append(drawn);
    last = turn.turn;
  }
  return node;
}

function links(transcript) {
  const node = element("div", "links");
  const others = data.transcripts.filter((t) => t.case === transcript.case && t !== transcript);
  if (others.length) node.append("Same dialogue under");
  for (const other of others) node.append(link(other, data.arms[other.arm][1]));
  node.append(link(transcript, "Link to this transcript"));
  return node;
}

function link(transcript, text) {
  const node = element("a", "", text);
  node.href = `#${transcript.id}`;
  return node;
}

function drawTurn(turn) {
  const isProbe = turn.kind === "probe";
  const node = element("div", `turn ${turn.status} ${isProbe ? "is-probe" : ""}`);
  const asked = isProbe ? `probe at turn ${turn.turn}, off the record` : `user, turn ${turn.turn}`;
  node.append(element("div", "bubble user", element("small", "", asked), message(data.texts[turn.user])));
  const finish = FINISHES[turn.finish] ? `, ${FINISHES[turn.finish]}` : "";
  const spans = turn.verdicts.filter((v) => v.span).map((v) => v.span);
  const answered = element("small", "", `${GLYPHS[turn.status]} ${turn.status}${finish}`);
  node.append(element("div", "bubble reply", answered, message(data.texts[turn.reply], spans)));
  const verdicts = element("ul", "verdicts");
  for (const verdict of turn.verdicts) {
    const line = element("li", verdict.status, element("b", "", `${GLYPHS[verdict.status]} ${verdict.rule}`), ` ${verdict.evidence}`);
    verdicts.append(line);
  }
  node.append(verdicts);
  if (turn.reference !== null && turn.reference !== turn.reply) {
    const own = element("details", "own", element("summary", "", "the dialogue’s own reply"), message(data.texts[turn.reference]));
    node.append(own);
  }
  return node;
}

function showMore() {
  const fragment = document.createDocumentFragment();
  for (const transcript of matches.slice(numShown, numShown + PAGE_SIZE)) fragment.append(card(transcript));
  list.append(fragment);
  numShown = Math.min(numShown + PAGE_SIZE, matches.length);
  more.hidden = numShown === matches.length;
}

function update() {
  const filter = wanted();
  matches = data.transcripts.filter((transcript) => transcriptMatches(transcript, filter));
  list.replaceChildren();
  numShown = 0;
  document.getElementById("count").value = `${matches.length} of ${data.transcripts.length} transcripts`;
  if (matches.length === 0) list.append(element("p", "muted", "No transcript fits these filters."));
  showMore();
}

// Moving about

function goToAnchor() {
  const id = decodeURIComponent(location.hash.slice(1));
  const target = data.transcripts.find((t) => t.id === id);
  if (!target) return;
  if (!matches.includes(target)) {
    form.reset();
    update();
  }
  while (numShown <= matches.indexOf(target)) showMore();
  const node = document.getElementById(id);
  node.open = true;
  node.scrollIntoView();
  node.querySelector("summary").focus({ preventScroll: true });
}

function step(offset) {
  const summaries = [...list.querySelectorAll(".transcript > summary")];
  const current = summaries.indexOf(document.activeElement?.closest(".transcript")?.querySelector("summary"));
  const next = summaries[Math.max(0, current + offset)];
  if (!next) return;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  if (event.key === "/") {
    event.preventDefault();
    form.elements.text.focus();
  }
  if (event.key === "j") step(1);
  if (event.key === "k") step(-1);
});

let pending = 0;
form.addEventListener("input", () => {
  clearTimeout(pending);
  pending = setTimeout(update, 120);
});
form.addEventListener("reset", () => setTimeout(update));
form.addEventListener("submit", (event) => event.preventDefault());
for (const [id, open] of [["open-all", true], ["close-all", false]]) {
  document.getElementById(id).addEventListener("click", () => {
    for (const node of list.querySelectorAll(".transcript")) node.open = open;
  });
}
more.addEventListener("click", showMore);
window.addEventListener("hashchange", goToAnchor);

fillFilters();
update();
goToAnchor();
