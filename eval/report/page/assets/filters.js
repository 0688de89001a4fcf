// Which transcripts are shown, and the hash of the address that says so:
// #ANCHOR?arm=…&turn=…, the anchor that of a case or `transcripts`.

const SPLITS = { train: "seen", heldout_value: "unseen value", heldout_family: "unseen family", none: "no instruction" };
const HISTORIES = { reference: "people’s history", own: "own history" };
const VERDICTS = {
  pass: "passes", fail: "fails", undecided: "undecided",
  wrong: "kept, not answered", unkept: "answered, not kept",
  judge: "judge disagrees", loose: "lenient reading differs",
};
const FILTERS = ["instruction", "verdict", "arm", "turn", "text", "family", "split", "history", "event"];
const MORE_FILTERS = FILTERS.slice(4);

const form = document.getElementById("filters");
const count = document.getElementById("count");
let data = null;
let all = [];
let matches = [];
// Of each match the replies that fit the filters.
let hits = new Map();

function distinct(values) {
  return [...new Set(values)];
}

function instructionOf(found) {
  return found.instruction ? found.instruction[0] : "No instruction";
}

function wanted() {
  const values = Object.fromEntries(FILTERS.map((name) => [name, form.elements[name].value]));
  values.text = values.text.trim().toLowerCase();
  return values;
}

function hasVerdict(row, verdict) {
  if (verdict === "judge") return Boolean(row.j) && row.j[0] !== "u" && (row.k ?? row.s) !== "u" && row.j[0] !== (row.k ?? row.s);
  if (verdict === "wrong") return row.k === "p" && row.n[0] === "f";
  if (verdict === "unkept") return row.k === "f" && row.n[0] === "p";
  if (verdict === "loose") return row.l !== undefined;
  return row.s === verdict[0];
}

function hasWords(found, row, words) {
  return [instructionOf(found), row.u, row.r].some((text) => text.toLowerCase().includes(words));
}

function hitsOf(found, filter) {
  const rows = new Set();
  if (filter.instruction && instructionOf(found) !== filter.instruction) return rows;
  for (const key of ["family", "split", "history"]) if (filter[key] && found[key] !== filter[key]) return rows;
  for (const arm of found.arms) {
    if (filter.arm && arm.key !== filter.arm) continue;
    for (const row of arm.replies) {
      if (filter.turn && String(row.t) !== filter.turn) continue;
      if (filter.event && row.e !== filter.event) continue;
      if (filter.verdict && !hasVerdict(row, filter.verdict)) continue;
      if (filter.text && !hasWords(found, row, filter.text)) continue;
      rows.add(row);
    }
  }
  return rows;
}

// Fills `matches` and `hits`.
function applyFilters() {
  const filter = wanted();
  hits = new Map();
  for (const found of all) {
    const rows = hitsOf(found, filter);
    if (rows.size) hits.set(found, rows);
  }
  matches = [...hits.keys()];
  count.value = `${matches.length.toLocaleString("en")} of ${all.length.toLocaleString("en")} dialogues`;
}

function addOptions(name, values, label = (value) => value) {
  const select = form.elements[name];
  for (const value of values) select.append(new Option(label(value), value));
  if (values.length < 2) select.closest("label").hidden = true;
}

function fillFilters() {
  const rows = all.flatMap((found) => found.arms.flatMap((arm) => arm.replies));
  const splits = distinct(all.map((found) => found.split));
  addOptions("instruction", distinct(all.map(instructionOf)).sort());
  addOptions("arm", data.arms.map(([key]) => key), (key) => data.arms.find((arm) => arm[0] === key)[1]);
  addOptions("family", distinct(all.map((found) => found.family)).sort());
  addOptions("split", Object.keys(SPLITS).filter((split) => splits.includes(split)), (split) => SPLITS[split]);
  addOptions("history", distinct(all.map((found) => found.history)).sort(), (history) => HISTORIES[history] ?? history);
  addOptions("turn", distinct(rows.map((row) => row.t)).sort((a, b) => a - b));
  const events = distinct(rows.map((row) => row.e)).filter(Boolean).sort();
  addOptions("event", events, (event) => event.replaceAll("_", " "));
  form.elements.event.closest("label").hidden = events.length === 0;
  const known = Object.keys(VERDICTS).filter((verdict) => rows.some((row) => hasVerdict(row, verdict)));
  addOptions("verdict", known, (verdict) => VERDICTS[verdict]);
  form.hidden = false;
}

// The address

function readHash() {
  const [anchor, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  return { anchor: decodeURIComponent(anchor), values: new URLSearchParams(query) };
}

function hashOf(anchor, more = {}) {
  const values = new URLSearchParams();
  const filter = wanted();
  for (const name of FILTERS) if (filter[name]) values.set(name, filter[name]);
  for (const [name, value] of Object.entries(more)) values.set(name, value);
  const query = values.toString();
  return `#${anchor}${query ? `?${query}` : ""}`;
}

function setHash(anchor, more) {
  history.replaceState(null, "", hashOf(anchor, more));
}

// Sets the form to the filters of an address; what it does not know counts as no filter.
function fillForm(values) {
  for (const name of FILTERS) form.elements[name].value = values.get(name) ?? "";
  for (const select of form.querySelectorAll("select")) if (select.selectedIndex < 0) select.value = "";
  if (MORE_FILTERS.some((name) => form.elements[name].value)) document.getElementById("more-filters").open = true;
}
