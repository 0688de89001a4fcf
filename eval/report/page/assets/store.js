// What the page holds packed: an index of all cases, read at once, and chunks of their texts, each read
// when one of its cases is opened. `transcripts.py` writes them.
"use strict";

const KEPT_CHUNKS = 6;
const kept = new Map();
const parsed = new Promise((resolve) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", resolve);
  else resolve();
});

async function unpack(id) {
  // The last chunks of a large file arrive after the page can be used.
  if (!document.getElementById(id)) await parsed;
  const letters = atob(document.getElementById(id).textContent);
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).json();
}

// The cases of a chunk; of those read last some are kept.
function chunk(number) {
  const found = kept.get(number) ?? unpack(`chunk-${number}`);
  kept.delete(number);
  kept.set(number, found);
  if (kept.size > KEPT_CHUNKS) kept.delete(kept.keys().next().value);
  return found;
}

// Cases as objects.
function casesOf(index) {
  return index.cases.map((found) => ({
    ...found,
    arms: found.arms.map(([arm, turns, status, marks], row) => ({
      row, arm, key: index.arms[arm][0], name: index.arms[arm][1], status, marks,
      turns: turns.map(([turn, isProbe, event]) => ({ turn, isProbe: isProbe === 1, event })),
    })),
  }));
}

// The rows of each arm of a case: one a reply, with its texts.
async function rowsOf(found) {
  return (await chunk(found.chunk))[found.place];
}
