// nbformat outputs as elements.
import { h } from "./dom.js";
import { failure } from "./failure.js";
import { markdown } from "./markdown.js";
import { setMaths } from "./maths.js";
import { sandbox } from "./sandbox.js";
import { textBlock } from "./stream.js";
import { isFrame, tableOf } from "./table.js";
import { tree } from "./tree.js";

export const joined = (value) => (Array.isArray(value) ? value.join("") : String(value ?? ""));

const base64OfText = (text) => {
  const bytes = new TextEncoder().encode(text);
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary);
};

function size(metadata, type) {
  const wanted = metadata?.[type] ?? metadata ?? {};
  const pixels = (value) => (Number.isFinite(+value) && +value > 0 ? String(Math.round(+value)) : null);
  return { width: pixels(wanted.width), height: pixels(wanted.height) };
}

function picture(type, encoded, output) {
  return h("img", {
    class: type === "image/svg+xml" ? "on-paper" : null,
    src: `data:${type};base64,${encoded}`,
    alt: joined(output.data["text/plain"]).slice(0, 200) || "picture without a description",
    ...size(output.metadata, type),
  });
}

const bitmap = (type) => (output) => picture(type, joined(output.data[type]).replace(/\s/g, ""), output);

function latex(output) {
  const text = joined(output.data["text/latex"]).trim();
  const inner = /^\$\$?([\s\S]+?)\$?\$$/.exec(text);
  const place = h("div", { class: "maths display" });
  setMaths(place, inner ? inner[1] : text, true);
  return place;
}

/** What of the output runs as a script or is HTML, or null. */
function scriptedPart({ output_type: type, data = {} }) {
  if (type === "stream" || type === "error" || "application/vnd.jupyter.widget-view+json" in data) return null;
  if ("text/html" in data) {
    const text = joined(data["text/html"]);
    return isFrame(text) ? null : { kind: "html", text };
  }
  return "application/javascript" in data ? { kind: "javascript", text: joined(data["application/javascript"]) } : null;
}

const html = (output, context) => {
  const text = joined(output.data["text/html"]);
  return tableOf(text) ?? sandbox([...context.libraries(output), { kind: "html", text }]);
};

const javascript = (output, context) => sandbox([...context.libraries(output), scriptedPart(output)]);

function json(value) {
  if (typeof value !== "string" && !Array.isArray(value)) return tree(value);
  try {
    return tree(JSON.parse(joined(value)));
  } catch {
    return tree(value);
  }
}

function widget(output) {
  const text = joined(output.data["text/plain"]);
  return h("div", null, h("p", { class: "label" }, "Interactive widget, as text:"), textBlock(text || "(no text)"));
}

// The best first.
const KINDS = [
  ["application/vnd.jupyter.widget-view+json", widget],
  ["text/html", html],
  ["application/javascript", javascript],
  ["image/svg+xml", (output) => picture("image/svg+xml", base64OfText(joined(output.data["image/svg+xml"])), output)],
  ...["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"].map((type) => [type, bitmap(type)]),
  ["text/latex", latex],
  ["text/markdown", (output, context) => markdown(joined(output.data["text/markdown"]), context)],
  ["application/geo+json", (output) => json(output.data["application/geo+json"])],
  ["application/json", (output) => json(output.data["application/json"])],
  ["text/plain", (output) => textBlock(joined(output.data["text/plain"]))],
];

function data(output, context) {
  const found = KINDS.find(([type]) => type in (output.data ?? {}));
  if (found) return found[1](output, context);
  const other = Object.keys(output.data ?? {});
  const structured = other.find((type) => type.endsWith("json"));
  if (structured) return h("div", null, h("p", { class: "label" }, structured), json(output.data[structured]));
  return other.length === 0 ? null : h("p", { class: "label" }, `Output of type ${other.join(", ")}, which has no view here.`);
}

/** The element of one output, or null. context: { task, libraries(output) }. */
export function outputElement(output, context) {
  if (output.output_type === "stream") return textBlock(joined(output.text), output.name);
  if (output.output_type === "error") return failure(output);
  return data(output, context);
}

/** The elements of a cell's outputs. Neighbours that may run scripts share a frame:
 * one makes the place that another draws in. */
export function outputElements(outputs, context) {
  const elements = [];
  let run = null; // parts of the frame that is being put together
  for (const output of outputs) {
    const part = scriptedPart(output);
    if (part && run) run.push(part);
    else if (part) {
      run = [...context.libraries(output), part];
      elements.push(run);
    } else {
      run = null;
      elements.push(outputElement(output, context));
    }
  }
  return elements.filter(Boolean).map((element) => (Array.isArray(element) ? sandbox(element) : element));
}

const LIBRARY = 50000; // characters from which on a script output is a library, not a figure

/** Scripts of earlier outputs that load a library, which later outputs need. */
export function librariesBefore(cells, output) {
  const found = [];
  for (const cell of cells)
    for (const other of cell.outputs ?? []) {
      if (other === output) return found;
      const script = joined(other.data?.["application/javascript"]);
      const text = script || joined(other.data?.["text/html"]);
      if (text.length > LIBRARY && (script || /<script/i.test(text)))
        found.push({ kind: script ? "javascript" : "html", text, isLibrary: true });
    }
  return found;
}
