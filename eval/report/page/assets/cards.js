// The list of cases: a window on the matches, each a card that opens in place.

// Few, so that what stands below the list is in reach.
const PAGE_SIZE = 12;
const MOST_LETTERS = 70;
const list = document.getElementById("list");
const more = document.getElementById("more");
const earlier = document.getElementById("earlier");
const cards = new WeakMap();
let first = 0;
let end = 0;

// The arms that the filters leave.
function armsShown(found) {
  const { arm } = wanted();
  return found.arms.filter((one) => !arm || one.key === arm);
}

function strip(found, arm) {
  const node = element("span", "strip");
  const counts = { p: 0, f: 0, u: 0 };
  for (const row of arm.replies) {
    counts[row.s] += 1;
    const square = element("i", `${WORDS[row.s]}${row.p ? " of-probe" : ""}${row.e ? " of-event" : ""}`);
    square.title = `${row.p ? "probe at turn" : "turn"} ${row.t}: ${WORDS[row.s]}`;
    if (!hits.get(found)?.has(row)) square.classList.add("dim");
    node.append(square);
  }
  const label = element("span", "tally", `${counts.p}/${counts.p + counts.f}${counts.u ? ` ${counts.u}?` : ""}`);
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", `${arm.name}: ${counts.p} of ${counts.p + counts.f} pass, ${counts.u} undecided`);
  return element("span", "score", element("b", `name arm-${arm.arm % 8}`, arm.name), node, label);
}

// The first words of a text, on one line.
function opening(text) {
  const letters = Array.from(text.split(/\s+/).filter(Boolean).join(" "));
  if (letters.length <= MOST_LETTERS) return letters.join("");
  const cut = letters.slice(0, MOST_LETTERS);
  // Chinese and Japanese have no blanks to cut at.
  const end = cut.lastIndexOf(" ");
  return `${cut.slice(0, end > 0 ? end : MOST_LETTERS).join("")} …`;
}

// A dialogue and its first message: instructions are the same for many cards.
function titleOf(found) {
  const rows = found.arms.flatMap((arm) => arm.replies).filter((row) => !row.p);
  const first = rows.reduce((a, b) => (b.t < a.t ? b : a), rows[0] ?? found.arms[0].replies[0]);
  return element("span", "title", found.dialogue, " ", element("bdi", "", opening(first.u)));
}

function card(found) {
  const node = element("details", "transcript");
  node.id = found.id;
  const given = element("span", "given", instructionOf(found));
  given.dir = "auto";
  const facts = element("span", "who", given);
  const several = form.elements.history.closest("label").hidden ? [] : [HISTORIES[found.history] ?? found.history];
  for (const fact of distinct([found.family, SPLITS[found.split], ...several])) facts.append(element("span", "fact", fact));
  const strips = element("span", "scores", ...armsShown(found).map((arm) => strip(found, arm)));
  node.append(element("summary", "", element("span", "told", titleOf(found), facts), strips));
  cards.set(node, found);
  node.addEventListener("toggle", () => {
    if (!node.open) return;
    if (!node.querySelector(".body")) fill(node);
    if (!node.dataset.silent) setHash(found.id);
    delete node.dataset.silent;
  });
  return node;
}

// Draws the body of a card.
function fill(node) {
  const found = cards.get(node);
  const turns = drawTurns(found, armsShown(found));
  const link = element("a", "", `Link to dialogue ${found.dialogue}`);
  link.href = hashOf(found.id);
  const told = found.instruction ? [element("p", "said", `instruction, ${found.instruction[1]}, given in turn 1`)] : [];
  node.append(element("div", "body", element("p", "tools", link), ...told, element("div", "turns", ...turns)));
}

// The window

function draw(from, to) {
  const fragment = document.createDocumentFragment();
  for (const found of matches.slice(from, to)) fragment.append(card(found));
  return fragment;
}

function closeWindow() {
  more.hidden = end >= matches.length;
  earlier.hidden = first === 0;
}

function showMore() {
  list.append(draw(end, end + PAGE_SIZE));
  end = Math.min(end + PAGE_SIZE, matches.length);
  closeWindow();
}

function showEarlier() {
  const from = Math.max(0, first - PAGE_SIZE);
  list.prepend(draw(from, first));
  first = from;
  closeWindow();
}

function showFrom(number) {
  list.replaceChildren();
  first = end = number;
  if (!matches.length) list.append(element("p", "lead", "No dialogue fits these filters."));
  showMore();
}
