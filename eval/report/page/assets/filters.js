// Which transcripts are shown, and the hash of the address that says so:
// #ANCHOR?arm=…&turn=…, the anchor that of a case or `transcripts`.

const SPLITS = { train: "seen", heldout_value: "unseen value", heldout_family: "unseen family", none: "no instruction" };
const HISTORIES = { reference: "people’s history", own: "own history" };
const VERDICTS = { pass: "follows it", fail: "does not", undecided: "undecided" };
const MARKS = { judge: [1, "judge disagrees"], task: [2, "task not done"], loose: [4, "lenient reading differs"] };
const FILTERS = ["instruction", "verdict", "arm", "turn", "text", "family", "split", "history", "event"];
const MORE_FILTERS = FILTERS.slice(4);

const form = document.getElementById("filters");
const count = document.getElementById("count");
let data = null;
let all = [];
let matches = [];
// Of each match the replies that fit the filters: number of the arm's row -> numbers of its replies.
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

function hasVerdict(arm, number, verdict) {
  if (MARKS[verdict]) return (Number(arm.marks[number]) & MARKS[verdict][0]) !== 0;
  return arm.status[number] === verdict[0];
}

function hitsOf(found, filter) {
  const rows = new Map();
  if (filter.instruction && instructionOf(found) !== filter.instruction) return rows;
  for (const key of ["family", "split", "history"]) if (filter[key] && found[key] !== filter[key]) return rows;
  for (const arm of found.arms) {
    if (filter.arm && arm.key !== filter.arm) continue;
    const numbers = [];
    arm.turns.forEach(({ turn, event }, number) => {
      if (filter.turn && String(turn) !== filter.turn) return;
      if (filter.event && event !== filter.event) return;
      if (filter.verdict && !hasVerdict(arm, number, filter.verdict)) return;
      numbers.push(number);
    });
    if (numbers.length) rows.set(arm.row, new Set(numbers));
  }
  return rows;
}

// The replies among `rows` in whose texts the words stand.
function searched(found, rows, words) {
  if (instructionOf(found).toLowerCase().includes(words)) return rows;
  const arms = rowsOf(found);
  const has = (row, number) => [arms[row][number].u, arms[row][number].r].some((text) => text.toLowerCase().includes(words));
  const fitting = new Map();
  for (const [row, numbers] of rows) {
    const left = [...numbers].filter((number) => has(row, number));
    if (left.length) fitting.set(row, new Set(left));
  }
  return fitting;
}

// Fills `matches` and `hits`.
async function applyFilters() {
  if (wanted().text) await readTexts();
  // Read after the wait: somebody may have typed on.
  const filter = wanted();
  hits = new Map();
  for (const found of all) {
    let rows = hitsOf(found, filter);
    if (filter.text) rows = searched(found, rows, filter.text);
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
  const arms = all.flatMap((found) => found.arms);
  const places = arms.flatMap((arm) => arm.turns);
  const splits = distinct(all.map((found) => found.split));
  addOptions("instruction", distinct(all.map(instructionOf)).sort());
  addOptions("arm", data.arms.map(([key]) => key), (key) => data.arms.find((arm) => arm[0] === key)[1]);
  addOptions("family", distinct(all.map((found) => found.family)).sort());
  addOptions("split", Object.keys(SPLITS).filter((split) => splits.includes(split)), (split) => SPLITS[split]);
  addOptions("history", distinct(all.map((found) => found.history)).sort(), (history) => HISTORIES[history] ?? history);
  addOptions("turn", distinct(places.map((p) => p.turn)).sort((a, b) => a - b));
  const events = distinct(places.map((p) => p.event)).filter(Boolean).sort();
  addOptions("event", events, (event) => event.replaceAll("_", " "));
  form.elements.event.closest("label").hidden = events.length === 0;
  const known = [...Object.keys(VERDICTS), ...Object.keys(MARKS)].filter((verdict) =>
    arms.some((arm) => arm.turns.some((_, number) => hasVerdict(arm, number, verdict))),
  );
  addOptions("verdict", known, (verdict) => VERDICTS[verdict] ?? MARKS[verdict][1]);
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
