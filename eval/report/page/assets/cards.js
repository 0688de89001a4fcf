// The list of transcripts: a window on the matches, each a card that opens in place.

const PAGE_SIZE = 40;
const list = document.getElementById("list");
const more = document.getElementById("more");
const earlier = document.getElementById("earlier");
const cards = new WeakMap();
let first = 0;
let end = 0;

function strip(transcript) {
  const node = element("span", "strip");
  const shown = hits.get(transcript);
  const counts = { p: 0, f: 0, u: 0 };
  transcript.turns.forEach(({ turn, isProbe, event }, number) => {
    const status = transcript.status[number];
    counts[status] += 1;
    const square = element("i", `${WORDS[status]}${isProbe ? " of-probe" : ""}${event ? " of-event" : ""}`);
    square.title = `${isProbe ? "probe at turn" : "turn"} ${turn}: ${WORDS[status]}`;
    if (shown && !shown.has(number)) square.classList.add("dim");
    node.append(square);
  });
  const label = element("span", "tally", `${counts.p}/${counts.p + counts.f}${counts.u ? ` ${counts.u}?` : ""}`);
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", `${counts.p} of ${counts.p + counts.f} pass, ${counts.u} undecided`);
  return element("span", "score", node, label);
}

function card(transcript) {
  const node = element("details", `transcript arm-${transcript.arm % 8}`);
  node.id = transcript.id;
  const given = element("span", "given", transcript.instruction ? transcript.instruction[0] : "No instruction");
  given.dir = "auto";
  const head = element("span", "who", element("b", "name", transcript.armName));
  const facts = [transcript.dialogue, transcript.family, SPLITS[transcript.split]];
  if (!form.elements.history.closest("label").hidden) facts.push(`${transcript.history} history`);
  for (const fact of distinct(facts)) head.append(element("span", "fact", fact));
  node.append(element("summary", "", head, given, strip(transcript)));
  cards.set(node, transcript);
  node.addEventListener("toggle", () => {
    if (!node.open) return;
    if (!node.querySelector(".body")) fill(node, false);
    if (!node.dataset.silent) setHash(transcript.id, isSideBySide(node) ? { side: 1 } : {});
    delete node.dataset.silent;
  });
  return node;
}

function armsOf(transcript) {
  return all.filter((t) => t.chunk === transcript.chunk && t.case === transcript.case);
}

function isSideBySide(node) {
  return node.querySelector(".body")?.dataset.side === "1";
}

// Draws the body of a card; resolves when its texts are there.
async function fill(node, isSide) {
  const transcript = cards.get(node);
  const body = node.querySelector(".body") ?? node.appendChild(element("div", "body"));
  body.dataset.side = isSide ? "1" : "";
  body.setAttribute("aria-busy", "true");
  const arms = armsOf(transcript);
  const nodes = isSide ? await drawSideBySide(arms) : drawOne(transcript, await textsOf(transcript));
  if (body.dataset.side !== (isSide ? "1" : "")) return;
  const turns = element("div", isSide ? "turns side" : "turns", ...nodes);
  body.replaceChildren(tools(node, transcript, arms, isSide), ...instruction(transcript), turns);
  body.removeAttribute("aria-busy");
}

function instruction(transcript) {
  if (!transcript.instruction) return [];
  const [text, wording] = transcript.instruction;
  return [element("div", "instruction", element("p", "said", `instruction, ${wording}, given in turn 1`), message(text))];
}

function tools(node, transcript, arms, isSide) {
  const bar = element("div", "tools");
  if (arms.length > 1) {
    const button = element("button", "toggle", "Arms side by side");
    button.type = "button";
    button.setAttribute("aria-pressed", String(isSide));
    button.addEventListener("click", () => toggleSide(node));
    bar.append(button);
    for (const other of arms) if (other !== transcript) bar.append(link(other, other.armName));
  }
  const own = link(transcript, "Link");
  if (isSide) own.href = hashOf(transcript.id, { side: 1 });
  bar.append(own);
  return bar;
}

function link(transcript, text) {
  const node = element("a", `arm-${transcript.arm % 8}`, text);
  node.href = hashOf(transcript.id);
  return node;
}

async function toggleSide(node) {
  const isSide = !isSideBySide(node);
  const hadFocus = node.contains(document.activeElement);
  node.dataset.silent = node.open ? "" : "1";
  node.open = true;
  setHash(cards.get(node).id, isSide ? { side: 1 } : {});
  await fill(node, isSide);
  if (hadFocus && !node.contains(document.activeElement)) node.querySelector(".toggle")?.focus();
}

// The window

function draw(from, to) {
  const fragment = document.createDocumentFragment();
  for (const transcript of matches.slice(from, to)) fragment.append(card(transcript));
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
  if (!matches.length) list.append(element("p", "lead", "No transcript fits these filters."));
  showMore();
}
