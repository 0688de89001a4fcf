// What the page holds packed: an index of all cases, read at once, and their texts, read when the first
// case is opened or searched. `transcripts.py` writes them.
"use strict";

let texts = null;
const parsed = new Promise((resolve) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", resolve);
  else resolve();
});

async function unpack(id) {
  // The texts of a large file arrive after the page can be used.
  if (!document.getElementById(id)) await parsed;
  const letters = atob(document.getElementById(id).textContent);
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).json();
}

// Cases as objects.
function casesOf(index) {
  return index.cases.map((found, number) => ({
    ...found, number,
    arms: found.arms.map(([arm, turns, status, marks], row) => ({
      row, arm, key: index.arms[arm][0], name: index.arms[arm][1], status, marks,
      turns: turns.map(([turn, isProbe, event]) => ({ turn, isProbe: isProbe === 1, event })),
    })),
  }));
}

async function readTexts() {
  texts ??= await unpack("texts");
}

// The rows of each arm of a case: one a reply, with its texts, which must have been read.
function rowsOf(found) {
  return texts[found.number];
}
