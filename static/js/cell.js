// One cell of a notebook. Its source always stands in the page, so that it is
// found by the browser's search; outputs and colours come when it is in view.
import { copy, h } from "./dom.js";
import { highlighted } from "./code.js";
import { duration, statusLook } from "./format.js";
import { markdown } from "./markdown.js";
import { joined, outputElements } from "./output.js";

export const isCode = (cell) => cell.cell_type === "code";
export const statusOf = (cell) => cell.metadata?.cellpost?.status ?? (cell.execution_count === null ? "" : "ok");

function times(cell) {
  const noted = cell.metadata?.execution ?? {};
  const start = noted["iopub.execute_input"];
  const end = noted["shell.execute_reply"] ?? noted["iopub.status.idle"];
  return { start: start && new Date(start), ms: start && end ? new Date(end) - new Date(start) : null };
}

function name(cell) {
  if (!isCode(cell)) return cell.cell_type === "markdown" ? "Text" : "Raw text";
  const status = statusLook(statusOf(cell))[1];
  return `Code ${cell.execution_count ?? ""}${statusOf(cell) ? `, ${status}` : ""}`;
}

function head(cell) {
  const [look, words] = statusLook(statusOf(cell));
  const { start, ms } = times(cell);
  const button = h("button", { type: "button", class: "plain", "aria-label": "Copy the code" }, "Copy");
  button.addEventListener("click", () => copy(joined(cell.source), button));
  return h(
    "header",
    { class: "cell-head" },
    h("span", { class: "count", "aria-hidden": "true" }, `[${cell.execution_count ?? " "}]`),
    statusOf(cell) && h("span", { class: `state ${look}` }, words),
    h("span", { class: "took" }, duration(ms)),
    start && h("time", { datetime: start.toISOString() }, start.toLocaleString()),
    h("span", { class: "tools" }, h("a", { href: `#${cellId(cell)}`, "aria-label": "Link to this cell" }, "#"), button),
  );
}

export const cellId = (cell) => `cell-${cell.id}`;

/** Pixels that the outputs will take, more or less. */
function guess(cell) {
  let height = 0;
  for (const output of cell.outputs ?? []) {
    const text = joined(output.text ?? output.data?.["text/plain"] ?? "");
    const rich = Object.keys(output.data ?? {}).some((type) => /^image\/|html|javascript/.test(type));
    height += rich ? 320 : Math.min(text.split("\n", 61).length, 60) * 19.5 + 10;
  }
  return height;
}

/** { element, fill(), empty(), isFilled }: the cell, light at first. */
export function cellView(cell, context) {
  const [look] = isCode(cell) ? statusLook(statusOf(cell)) : [""];
  const element = h("article", {
    class: `cell ${cell.cell_type} ${look}`,
    id: cellId(cell),
    tabindex: "-1",
    "aria-label": name(cell),
  });
  const source = joined(cell.source);
  const code = h("code", null, source);
  const outputs = h("div", { class: "outputs", role: "group", "aria-label": "Output" });
  const view = { element, cell, isFilled: false, outputs };
  const height = guess(cell);

  const lighten = () => {
    if (!isCode(cell)) element.replaceChildren(h("pre", { class: "text wrap" }, source));
    else outputs.replaceChildren();
  };
  if (isCode(cell)) {
    const pre = h("pre", { class: "source", tabindex: "0", "aria-label": "Code" }, code);
    element.append(head(cell), pre, outputs);
    if (height > 0) outputs.style.minHeight = `${height}px`;
    outputs.hidden = (cell.outputs ?? []).length === 0;
  } else lighten();

  view.fill = () => {
    if (view.isFilled) return;
    view.isFilled = true;
    element.style.minHeight = "";
    if (isCode(cell)) {
      if (!view.isColoured) code.replaceChildren(highlighted(source, context.language));
      view.isColoured = true;
      outputs.replaceChildren(...outputElements(cell.outputs, context));
      outputs.style.minHeight = "";
    } else if (cell.cell_type === "markdown") element.replaceChildren(markdown(source, { ...context, attachments: cell.attachments }));
  };
  // Keeps the place that it takes.
  view.empty = () => {
    if (!view.isFilled) return;
    view.isFilled = false;
    if (isCode(cell)) outputs.style.minHeight = `${outputs.offsetHeight}px`;
    else element.style.minHeight = `${element.offsetHeight}px`;
    lighten();
  };
  return view;
}
