// Long text is shown by its beginning; all of it on request, in blocks of which
// the browser lays out only those in view.
import { ansiReader } from "./ansi.js";
import { h } from "./dom.js";

const FIRST_LINES = 60;
const FIRST_CHARACTERS = 20000;
const BLOCK = 400; // lines

function beginningOf(text) {
  let end = -1;
  for (let line = 0; line < FIRST_LINES; line++) {
    const next = text.indexOf("\n", end + 1);
    if (next < 0) return Math.min(text.length, FIRST_CHARACTERS);
    if (next > FIRST_CHARACTERS) return FIRST_CHARACTERS;
    end = next;
  }
  return end + 1;
}

function* blocks(text) {
  let start = 0;
  while (start < text.length) {
    let end = start;
    for (let line = 0; line < BLOCK && end < text.length; line++) {
      const next = text.indexOf("\n", end);
      end = next < 0 ? text.length : next + 1;
    }
    yield text.slice(start, end);
    start = end;
  }
}

function showWhole(pre, text) {
  const read = ansiReader();
  pre.classList.add("whole");
  pre.tabIndex = 0;
  pre.setAttribute("role", "group");
  pre.setAttribute("aria-label", "Text output");
  pre.replaceChildren(
    ...[...blocks(text)].map((block) => {
      const lines = h("div", { class: "lines" }, read(block));
      lines.style.containIntrinsicSize = `auto ${block.split("\n").length * 19.5}px`;
      return lines;
    }),
  );
}

/** Text of a terminal. look: a class, such as "stderr". */
export function textBlock(text, look = "") {
  const pre = h("pre", { class: `text ${look}` });
  const shown = beginningOf(text);
  pre.append(...ansiReader()(text.slice(0, shown)));
  if (shown === text.length) return pre;
  const lines = text.split("\n").length;
  const cut = h("div", { class: "cut" });
  const more = h("button", { type: "button", on: { click: open } }, `Show all ${lines.toLocaleString("en")} lines`);
  function open() {
    showWhole(pre, text);
    cut.remove();
    pre.focus();
  }
  cut.append(more);
  return h("div", null, pre, cut);
}
