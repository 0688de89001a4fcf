// What the page holds packed: an index of all transcripts, read at once, and chunks of their texts,
// each read when one of its transcripts is opened. `packing.py` writes them.
"use strict";

const KEPT_CHUNKS = 6;
const kept = new Map();
const parsed = new Promise((resolve) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", resolve);
  else resolve();
});

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

async function unpack(id) {
  // The last chunks of a large file arrive after the page can be used.
  if (!document.getElementById(id)) await parsed;
  const stream = new Blob([bytesOf(document.getElementById(id).textContent)]).stream();
  return new Response(stream.pipeThrough(new DecompressionStream("deflate-raw"))).json();
}

// The cases of a chunk; of those read last some are kept.
function chunk(number) {
  const found = kept.get(number) ?? unpack(`chunk-${number}`);
  kept.delete(number);
  kept.set(number, found);
  if (kept.size > KEPT_CHUNKS) kept.delete(kept.keys().next().value);
  return found;
}

// Transcripts as objects, from the columns of the index; `turns` is shared by all of one pattern.
function transcriptsOf(index) {
  const columns = index.transcripts;
  const patterns = index.patterns.map((pattern) =>
    pattern.map(([turn, isProbe, event]) => ({ turn, isProbe: isProbe === 1, event: event < 0 ? "" : index.events[event] })),
  );
  return columns.id.map((id, i) => ({
    id,
    dialogue: columns.dialogue[i],
    history: columns.history[i],
    arm: columns.arm[i],
    armKey: index.arms[columns.arm[i]][0],
    armName: index.arms[columns.arm[i]][1],
    split: columns.split[i],
    family: columns.family[i],
    instruction: columns.instruction[i] === null ? null : index.instructions[columns.instruction[i]],
    turns: patterns[columns.pattern[i]],
    status: columns.status[i],
    marks: columns.marks[i],
    chunk: columns.chunk[i],
    case: columns.case[i],
    row: columns.row[i],
  }));
}

// The texts of one transcript: its rows, and the list that their numbers point into.
async function textsOf(transcript) {
  const found = (await chunk(transcript.chunk))[transcript.case];
  return { texts: found.texts, rows: found.arms[transcript.row] };
}
