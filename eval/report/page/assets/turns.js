// One transcript drawn: every text enters the page through textContent, never as HTML.

const GLYPHS = { p: "✓", f: "✗", u: "?" };
const WORDS = { p: "pass", f: "fail", u: "undecided" };
const PLAIN_WORDS = { p: "no false trigger", f: "false trigger", u: "undecided" };
const FINISHES = {
  length: "cut at the length limit",
  context_limit: "no room left in the context",
  content_filter: "withheld by the server’s filter",
  unanswered: "the server had no reply",
};

function element(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

// A text with its evidence marked.
function message(text, verdicts = []) {
  const node = element("p", "text");
  node.dir = "auto";
  const spans = verdicts.filter((v) => v.length === 5).map(([status, , , from, to]) => [from, to, status]);
  if (!spans.length) {
    node.append(text);
    return node;
  }
  // Spans count characters as Python does; UTF-16 units would slip after an emoji.
  const characters = Array.from(text);
  let end = 0;
  for (const [from, to, status] of spans.sort((a, b) => a[0] - b[0] || b[1] - a[1])) {
    const start = Math.max(from, end);
    if (start >= to || to > characters.length) continue;
    node.append(characters.slice(end, start).join(""));
    node.append(element("mark", WORDS[status], characters.slice(start, to).join("")));
    end = to;
  }
  node.append(characters.slice(end).join(""));
  return node;
}

function verdictLine([status, rule, evidence], of = "") {
  const name = of || data.rules[rule];
  return element("li", WORDS[status], element("b", "", `${GLYPHS[status]} ${name}`), ` ${evidence}`);
}

function reply(transcript, number, { texts, rows }, hasName) {
  const row = rows[number];
  const status = transcript.status[number];
  const node = element("div", `reply ${WORDS[status]}`);
  const head = element("p", "said");
  if (hasName) head.append(element("b", `name arm-${transcript.arm % 8}`, transcript.armName), " ");
  head.append(element("b", "verdict", `${GLYPHS[status]} ${(transcript.instruction ? WORDS : PLAIN_WORDS)[status]}`));
  if (FINISHES[row.f]) head.append(`, ${FINISHES[row.f]}`);
  if (row.l) head.append(`, ${row.l} if read leniently`);
  node.append(head, message(texts[row.r], row.v));
  const lines = element("ul", "verdicts");
  for (const verdict of row.v ?? []) lines.append(verdictLine(verdict));
  if (row.c) lines.append(verdictLine(row.c, "task"));
  if (row.j) lines.append(verdictLine(row.j, "judge"));
  if (lines.childNodes.length) node.append(lines);
  return node;
}

function asked(transcript, number, { texts, rows }, isSide) {
  const { turn, isProbe, event } = transcript.turns[number];
  const node = element("div", "asked");
  const says = element("p", "said", isProbe ? "probe, off the record" : "user");
  if (event) says.append(" ", element("span", "event", `event: ${event.replaceAll("_", " ")}`));
  if (rows[number].x === "released") says.append(" ", element("span", "event", "the instruction no longer holds"));
  const at = element("a", "number", String(turn));
  at.href = hashOf(transcript.id, isSide ? { side: 1, at: turn } : { at: turn });
  at.setAttribute("aria-label", `Link to turn ${turn}`);
  node.append(at, says);
  if (rows[number].a) node.append(message(rows[number].a));
  node.append(message(texts[rows[number].u]));
  return node;
}

// The dialogue's own reply, once for all arms.
function ownReply({ texts, rows }, number) {
  const at = rows[number].o;
  if (at === undefined) return "";
  return element("details", "own", element("summary", "", "the dialogue’s own reply"), message(texts[at]));
}

function turnOf(transcript, number) {
  const { turn, isProbe } = transcript.turns[number];
  const node = element("div", isProbe ? "turn is-probe" : "turn");
  node.dataset.turn = turn;
  return node;
}

function gap(last, turn) {
  const from = last + 1;
  const words = turn === from + 1 ? `turn ${from} not asked` : `turns ${from} to ${turn - 1} not asked`;
  return turn > from ? [element("p", "gap", words)] : [];
}

// The turns of one arm.
function drawOne(transcript, found) {
  const nodes = [];
  let last = 0;
  transcript.turns.forEach(({ turn }, number) => {
    nodes.push(...gap(last, turn));
    const node = turnOf(transcript, number);
    node.classList.toggle("dim", !(hits.get(transcript)?.has(number) ?? true));
    node.append(asked(transcript, number, found, false), reply(transcript, number, found, false), ownReply(found, number));
    nodes.push(node);
    last = turn;
  });
  return nodes;
}

// The turns of all arms of a case: each user message once, the replies side by side.
async function drawSideBySide(arms) {
  const found = await Promise.all(arms.map(textsOf));
  const places = new Map();
  arms.forEach((transcript, arm) => {
    transcript.turns.forEach(({ turn, isProbe }, number) => {
      const key = JSON.stringify([turn, isProbe, found[arm].texts[found[arm].rows[number].u]]);
      if (!places.has(key)) places.set(key, { turn, isProbe, replies: [] });
      places.get(key).replies.push([arm, number]);
    });
  });
  const nodes = [];
  let last = 0;
  for (const { turn, replies } of [...places.values()].sort((a, b) => a.turn - b.turn || a.isProbe - b.isProbe)) {
    nodes.push(...gap(last, turn));
    const [first, number] = replies[0];
    const node = turnOf(arms[first], number);
    const columns = element("div", "columns");
    for (const [arm, at] of replies) columns.append(reply(arms[arm], at, found[arm], true));
    node.append(asked(arms[first], number, found[first], true), columns, ownReply(found[first], number));
    nodes.push(node);
    last = turn;
  }
  return nodes;
}
