// Replies rated by hand: kept in this browser, saved as JSON lines for `gatt report --ratings`.

const RATED = `gatt-ratings ${location.pathname}`;
const saveRatings = document.getElementById("save-ratings");
const ratings = new Map(storedRatings());

// A browser may refuse to store what a file from the disk asks for: then the ratings live as long as the page.
function storedRatings() {
  try {
    return JSON.parse(localStorage.getItem(RATED) ?? "[]");
  } catch {
    return [];
  }
}

function keepRatings() {
  try {
    localStorage.setItem(RATED, JSON.stringify([...ratings]));
  } catch {
    // Saving as a file still works.
  }
  saveRatings.hidden = ratings.size === 0;
  saveRatings.textContent = `Save ${ratings.size} rating${ratings.size === 1 ? "" : "s"}`;
}

function keyOf(found, arm, row) {
  return JSON.stringify([found.id, arm.key, row.t]);
}

// Drops the ratings of replies that a later evaluation has replaced, and says how many they were.
function dropReplaced(cases) {
  const replies = new Map();
  for (const found of cases) {
    for (const arm of found.arms) {
      for (const row of arm.replies) if (!row.p) replies.set(keyOf(found, arm, row), row.r);
    }
  }
  const replaced = [...ratings].filter(([key, rating]) => replies.has(key) && replies.get(key) !== rating.reply);
  if (!replaced.length) return;
  for (const [key] of replaced) ratings.delete(key);
  keepRatings();
  const line = document.getElementById("dropped-ratings");
  line.textContent = `Ratings dropped, since a later evaluation has replaced their replies: ${replaced.length}`;
  line.hidden = false;
}

// The two buttons of a reply; the one that is pressed again is taken back.
function thumbs(found, arm, row) {
  const key = keyOf(found, arm, row);
  const node = element("span", "thumbs");
  node.dataset.key = key;
  for (const [thumb, word] of [["up", "good"], ["down", "bad"]]) {
    const button = element("button", "", word);
    button.type = "button";
    button.setAttribute("aria-label", `${word} reply`);
    button.dataset.thumb = thumb;
    button.addEventListener("click", () => {
      if (ratings.get(key)?.rating === thumb) ratings.delete(key);
      else ratings.set(key, ratingOf(found, arm, row, thumb));
      keepRatings();
      // The reply may stand on the page twice.
      for (const one of document.querySelectorAll(".thumbs")) if (one.dataset.key === key) showPressed(one, key);
    });
    node.append(button);
  }
  showPressed(node, key);
  return node;
}

function showPressed(node, key) {
  const rating = ratings.get(key)?.rating;
  for (const button of node.children) button.setAttribute("aria-pressed", String(button.dataset.thumb === rating));
}

function ratingOf(found, arm, row, thumb) {
  return {
    case: found.id, arm: arm.key, turn: row.t, rating: thumb,
    instruction: row.i ?? found.instruction?.[0] ?? "", message: row.u, reply: row.r,
  };
}

// Puts the buttons under the replies that stand outside of the transcripts.
function addThumbs(cases) {
  const byId = new Map(cases.map((found) => [found.id, found]));
  for (const node of document.querySelectorAll(".example .reply")) {
    const found = byId.get(node.dataset.anchor);
    const arm = found?.arms.find((one) => one.key === node.dataset.arm);
    const row = arm?.replies.find((one) => !one.p && String(one.t) === node.dataset.turn);
    if (row) node.append(thumbs(found, arm, row));
  }
}

saveRatings.addEventListener("click", () => {
  const lines = [...ratings.values()].map((one) => `${JSON.stringify(one)}\n`);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
  link.download = "ratings.jsonl";
  link.click();
  URL.revokeObjectURL(link.href);
});
keepRatings();
