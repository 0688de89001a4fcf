// One case drawn: every text enters the page through textContent, never as HTML.

const GLYPHS = { p: "✓", f: "✗", u: "?" };
const WORDS = { p: "pass", f: "fail", u: "undecided" };
const PLAIN_WORDS = { p: "no false trigger", f: "false trigger", u: "undecided" };
const FINISHES = {
  length: "cut at the length limit",
  context_limit: "no room left in the context",
  content_filter: "withheld by the server’s filter",
  other: "ended by the server",
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
  const name = of || rule;
  return element("li", WORDS[status], element("b", "", `${GLYPHS[status]} ${name}`), ` ${evidence}`);
}

function reply(found, arm, row) {
  const status = row.s;
  const node = element("div", `reply ${WORDS[status]}`);
  if (!hits.get(found)?.has(row)) node.classList.add("dim");
  const head = element("p", "said", element("b", `name arm-${arm.arm % 8}`, arm.name), " ");
  const words = row.n ? `${GLYPHS[row.k]} keeps ${GLYPHS[row.n[0]]} answers`
    : `${GLYPHS[status]} ${(found.instruction ? WORDS : PLAIN_WORDS)[status]}`;
  head.append(element("b", "verdict", words));
  if (FINISHES[row.f]) head.append(`, ${FINISHES[row.f]}`);
  if (row.l) head.append(`, ${row.l} if read leniently`);
  node.append(head, message(row.r, row.v));
  const lines = element("ul", "verdicts");
  for (const verdict of row.v ?? []) lines.append(verdictLine(verdict));
  if (row.n) lines.append(verdictLine(row.n, "answers"));
  if (row.c) lines.append(verdictLine(row.c, "task"));
  if (row.j) lines.append(verdictLine(row.j, "judge"));
  if (lines.childNodes.length) node.append(lines);
  if (!row.p) node.append(thumbs(found, arm, row));
  return node;
}

function asked(found, row) {
  const node = element("div", "asked");
  const says = element("p", "said", row.p ? "probe, off the record" : "user");
  if (row.e) says.append(" ", element("span", "event", `event: ${row.e.replaceAll("_", " ")}`));
  if (row.x === "released") says.append(" ", element("span", "event", "the instruction no longer holds"));
  const at = element("a", "number", String(row.t));
  at.href = hashOf(found.id, { at: row.t });
  at.setAttribute("aria-label", `Link to turn ${row.t}`);
  node.append(at, says);
  if (row.a) node.append(message(row.a));
  node.append(message(row.u));
  return node;
}

function gap(last, turn) {
  const from = last + 1;
  const words = turn === from + 1 ? `turn ${from} not asked` : `turns ${from} to ${turn - 1} not asked`;
  return turn > from ? [element("p", "gap", words)] : [];
}

// The turns of a case: each user message once, the replies of its arms side by side.
function drawTurns(found, shownArms) {
  const places = new Map();
  for (const arm of shownArms) {
    for (const row of arm.replies) {
      const key = JSON.stringify([row.t, row.p, row.u]);
      if (!places.has(key)) places.set(key, { row, replies: [] });
      places.get(key).replies.push(reply(found, arm, row));
    }
  }
  const nodes = [];
  let last = 0;
  const sorted = [...places.values()].sort((a, b) => a.row.t - b.row.t || (a.row.p ?? 0) - (b.row.p ?? 0));
  for (const { row, replies } of sorted) {
    nodes.push(...gap(last, row.t));
    const node = element("div", row.p ? "turn is-probe" : "turn", asked(found, row));
    node.dataset.turn = row.t;
    node.classList.toggle("dim", replies.every((one) => one.classList.contains("dim")));
    node.append(element("div", "columns", ...replies));
    if (row.o !== undefined) {
      node.append(element("details", "own", element("summary", "", "the dialogue’s own reply"), message(row.o)));
    }
    nodes.push(node);
    last = row.t;
  }
  return nodes;
}
