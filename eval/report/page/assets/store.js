// What the page holds packed: all cases with their replies. `transcripts.py` writes them.
"use strict";

async function unpack(id) {
  const letters = atob(document.getElementById(id).textContent);
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).json();
}

// Cases with the names of their arms.
function casesOf(data) {
  return data.cases.map((found) => ({
    ...found,
    arms: found.arms.map(([arm, replies]) => ({ arm, key: data.arms[arm][0], name: data.arms[arm][1], replies })),
  }));
}
