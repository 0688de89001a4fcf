// Which transcripts are shown, and the hash of the address that says so:
// #ANCHOR?arm=…&turn=…, the anchor that of a transcript or `transcripts`.

const SPLITS = { train: "seen", heldout_value: "unseen value", heldout_family: "unseen family", none: "no instruction" };
const VERDICTS = { pass: "pass", fail: "fail", undecided: "undecided" };
const MARKS = { judge: [1, "judge disagrees"], task: [2, "task not done"], loose: [4, "lenient reading differs"] };
const FILTERS = ["arm", "family", "split", "history", "turn", "event", "verdict", "text"];

const form = document.getElementById("filters");
const count = document.getElementById("count");
let data = null;
let all = [];
let matches = [];
// Of each match the replies that fit the filters, by their number.
let hits = new Map();
let searchNumber = 0;

function distinct(values) {
  return [...new Set(values)];
}

function wanted() {
  const values = Object.fromEntries(FILTERS.map((name) => [name, form.elements[name].value]));
  values.text = values.text.trim().toLowerCase();
  return values;
}

function hasVerdict(transcript, number, verdict) {
  if (MARKS[verdict]) return (Number(transcript.marks[number]) & MARKS[verdict][0]) !== 0;
  return transcript.status[number] === verdict[0];
}

function hitsOf(transcript, filter) {
  if (filter.arm && transcript.armKey !== filter.arm) return [];
  for (const key of ["family", "split", "history"]) {
    if (filter[key] && transcript[key] !== filter[key]) return [];
  }
  const found = [];
  transcript.turns.forEach(({ turn, event }, number) => {
    if (filter.turn && String(turn) !== filter.turn) return;
    if (filter.event && event !== filter.event) return;
    if (filter.verdict && !hasVerdict(transcript, number, filter.verdict)) return;
    found.push(number);
  });
  return found;
}

function headHas(transcript, text) {
  return `${transcript.dialogue} ${transcript.instruction ? transcript.instruction[0] : ""}`.toLowerCase().includes(text);
}

// The replies among `numbers` in whose texts the words stand.
async function searched(transcript, numbers, text) {
  if (headHas(transcript, text)) return numbers;
  const { texts, rows } = await textsOf(transcript);
  return numbers.filter((number) => [rows[number].u, rows[number].r].some((at) => texts[at].toLowerCase().includes(text)));
}

// Fills `matches` and `hits`; false if a later call has taken over meanwhile.
async function applyFilters() {
  searchNumber += 1;
  const mine = searchNumber;
  const filter = wanted();
  const found = new Map();
  let said = performance.now();
  for (const [number, transcript] of all.entries()) {
    let numbers = hitsOf(transcript, filter);
    if (filter.text && numbers.length) {
      numbers = await searched(transcript, numbers, filter.text);
      if (mine !== searchNumber) return false;
      if (performance.now() - said > 150) {
        count.value = `searching, ${Math.round((100 * number) / all.length)} %`;
        said = performance.now();
        await new Promise((resolve) => setTimeout(resolve));
      }
    }
    if (numbers.length) found.set(transcript, new Set(numbers));
  }
  hits = found;
  matches = [...found.keys()];
  const total = all.length.toLocaleString("en");
  count.value = `${matches.length.toLocaleString("en")} of ${total} transcripts`;
  return true;
}

function addOptions(name, values, label = (value) => value) {
  const select = form.elements[name];
  for (const value of values) select.append(new Option(label(value), value));
  if (values.length < 2) select.closest("label").hidden = true;
}

function fillFilters() {
  const patterns = distinct(all.map((t) => t.turns)).flat();
  const splits = distinct(all.map((t) => t.split));
  addOptions("arm", data.arms.map(([key]) => key), (key) => data.arms.find((arm) => arm[0] === key)[1]);
  addOptions("family", distinct(all.map((t) => t.family)).sort());
  addOptions("split", Object.keys(SPLITS).filter((s) => splits.includes(s)), (split) => SPLITS[split]);
  addOptions("history", distinct(all.map((t) => t.history)).sort());
  addOptions("turn", distinct(patterns.map((p) => p.turn)).sort((a, b) => a - b));
  const events = distinct(patterns.map((p) => p.event)).filter(Boolean).sort();
  addOptions("event", events, (event) => event.replaceAll("_", " "));
  form.elements.event.closest("label").hidden = events.length === 0;
  const known = Object.keys(VERDICTS).filter((v) => all.some((t) => t.status.includes(v[0])));
  const marked = Object.keys(MARKS).filter((m) => all.some((t) => t.turns.some((_, i) => hasVerdict(t, i, m))));
  addOptions("verdict", [...known, ...marked], (v) => VERDICTS[v] ?? MARKS[v][1]);
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
}
