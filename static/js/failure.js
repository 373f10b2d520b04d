// An error with its frames: those of cells are open, those of libraries folded.
import { ansiReader, withoutAnsi } from "./ansi.js";
import { h } from "./dom.js";

const isRule = (text) => /^-{20,}$/.test(text.trim());
const isHeading = (text) => /Traceback \(most recent call last\)/.test(text);
const isLibrary = (text) => /^File /.test(text) && !/^File (?:.*[\\/])?(?:ipykernel_\d+|<ipython-input)/.test(text);

function frame(text) {
  const plain = withoutAnsi(text);
  const nodes = ansiReader()(text);
  if (!isLibrary(plain)) return h("pre", { class: "frame" }, nodes);
  return h("details", { class: "frame" }, h("summary", null, plain.split("\n")[0]), h("pre", null, nodes));
}

/** Of an nbformat error output. */
export function failure({ ename, evalue, traceback }) {
  const what = evalue ? `${ename}: ${evalue}` : ename;
  const frames = (traceback ?? []).filter((text) => {
    const plain = withoutAnsi(text);
    return !isRule(plain) && !(isHeading(plain) && plain.split("\n").length === 1) && plain.trim() !== what.trim();
  });
  return h("div", { class: "failure" }, h("p", { class: "what" }, withoutAnsi(what ?? "")), frames.map(frame));
}
