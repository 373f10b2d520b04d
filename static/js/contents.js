// The table of contents, from the headings of the markdown cells.
import { h } from "./dom.js";
import { headings } from "./markdown.js";
import { joined } from "./output.js";
import { cellId } from "./cell.js";

const DEEPEST = 3;

/** [{ level, text, cell }] of the notebook. */
export function contentsOf(cells) {
  return cells
    .filter((cell) => cell.cell_type === "markdown" && joined(cell.source).includes("#"))
    .flatMap((cell) => headings(joined(cell.source)).map((heading) => ({ ...heading, cell })))
    .filter((heading) => heading.level <= DEEPEST);
}

/** Fills the navigation; marks where the reader is. */
export function showContents(nav, cells) {
  const entries = contentsOf(cells);
  nav.hidden = entries.length === 0;
  nav.parentElement.classList.toggle("with-contents", entries.length > 0);
  const least = Math.min(...entries.map((entry) => entry.level));
  const links = entries.map((entry) =>
    h("a", { href: `#${cellId(entry.cell)}`, class: `level-${entry.level - least + 1}` }, entry.text),
  );
  nav.replaceChildren(h("h2", null, "Contents"), h("ol", null, links.map((link) => h("li", null, link))));
  followReader(entries, links);
}

let following = null;

function followReader(entries, links) {
  following?.disconnect();
  const mark = (element) => {
    const at = entries.findLastIndex((entry) => cellId(entry.cell) === element.id);
    links.forEach((link, index) => (index === at ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
  };
  following = new IntersectionObserver(
    (seen) => {
      const entry = seen.find((one) => one.isIntersecting);
      if (entry) mark(entry.target);
    },
    { rootMargin: "-15% 0px -70% 0px" },
  );
  for (const entry of entries) {
    const element = document.getElementById(cellId(entry.cell));
    if (element) following.observe(element);
  }
}
