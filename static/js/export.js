// The notebook as a script, and as one HTML file that needs nothing else.
import { cellView, isCode } from "./cell.js";
import { h } from "./dom.js";
import { markdown } from "./markdown.js";
import { joined } from "./output.js";

const COMMENT = { r: "#", python: "#", julia: "#", bash: "#", octave: "%", javascript: "//", "c++": "//", haskell: "--" };
const EXTENSION = { r: "r", julia: "jl", bash: "sh", octave: "m", javascript: "js", "c++": "cpp", haskell: "hs" };

export const scriptExtension = (language) => EXTENSION[language.toLowerCase()] ?? "py";

/** In the percent format, which editors know as cells. */
export function asScript(cells, language) {
  const sign = COMMENT[language.toLowerCase()] ?? "#";
  const comment = (text) => text.split("\n").map((line) => `${sign} ${line}`.trimEnd()).join("\n");
  return cells
    .map((cell) => (isCode(cell) ? `${sign} %%\n${joined(cell.source)}\n` : `${sign} %% [markdown]\n${comment(joined(cell.source))}\n`))
    .join("\n");
}

const asScriptElement = (text) => `<script>{const element = document.body;${text}}<\/script>`;

const asPart = ({ kind, text, isLibrary }) => {
  const html = kind === "html" ? text : asScriptElement(text);
  return isLibrary ? `<div hidden>${html}</div>` : html;
};

// A frame's content is handed over by this page; in a file it stands in the frame.
function freezeFrames(element) {
  for (const frame of element.querySelectorAll("iframe.sandbox")) {
    const attribute = document.createAttribute("data-content");
    attribute.value = frame.parts.map(asPart).join("\n");
    frame.setAttributeNode(attribute);
    frame.removeAttribute("src");
    frame.style.height = "30rem";
  }
}

async function frozen(cell, context) {
  if (cell.cell_type === "markdown") {
    const prose = markdown(joined(cell.source), { ...context, attachments: cell.attachments, mathsOutput: "mathml" });
    await prose.settled;
    return h("article", { class: "cell markdown" }, prose);
  }
  const view = cellView(cell, context);
  view.fill();
  freezeFrames(view.element);
  for (const needless of view.element.querySelectorAll(".tools, .cut")) needless.remove();
  return view.element;
}

const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

/** Resolves to the file's text. */
export async function asHtml(title, cells, context) {
  const style = await (await fetch("/style.css")).text();
  const parts = [];
  for (const cell of cells) {
    const element = await frozen(cell, context);
    parts.push(element.outerHTML.replaceAll(' data-content="', ' srcdoc="'));
    await new Promise((resolve) => setTimeout(resolve)); // the page stays alive meanwhile
  }
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; script-src 'unsafe-inline' 'unsafe-eval'";
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${escaped(title)}</title><style>${style}</style></head>
<body><main><div class="head"><h1>${escaped(title)}</h1></div>
${parts.join("\n")}
</main></body></html>
`;
}
