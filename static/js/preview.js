// A file as it is best seen, by the type that its content has.
import { request } from "./api.js";
import { highlighted } from "./code.js";
import { h } from "./dom.js";
import { bytes } from "./format.js";
import { markdown } from "./markdown.js";
import { sandbox } from "./sandbox.js";
import { textBlock } from "./stream.js";
import { tree } from "./tree.js";

const MOST = 2000000; // bytes of a text that are looked at
const ROWS = 500;

const LANGUAGES = { py: "python", r: "r", js: "javascript", sql: "sql", sh: "bash", c: "c", cpp: "cpp", json: "json", yaml: "yaml", yml: "yaml", html: "xml", xml: "xml", css: "css", tex: "latex" };
const extensionOf = (name) => name.split(".").at(-1).toLowerCase();

async function textOf(entry, address) {
  const response = await request(address, entry.bytes > MOST ? { headers: { Range: `bytes=0-${MOST - 1}` } } : {});
  return response.text();
}

const cutNote = (entry) => entry.bytes > MOST && h("p", { class: "label" }, `The first ${bytes(MOST)} of ${bytes(entry.bytes)}.`);

/** Rows of a text with separators, where quotes may hold separators and line ends. */
export function rowsOf(text, separator, most = ROWS) {
  const rows = [[""]];
  let isQuoted = false;
  for (let at = 0; at < text.length && rows.length <= most; at++) {
    const sign = text[at];
    const row = rows.at(-1);
    if (isQuoted && sign === '"' && text[at + 1] === '"') row[row.length - 1] += text[at++];
    else if (sign === '"' && (isQuoted || row.at(-1) === "")) isQuoted = !isQuoted;
    else if (isQuoted) row[row.length - 1] += sign;
    else if (sign === separator) row.push("");
    else if (sign === "\n") rows.push([""]);
    else if (sign !== "\r") row[row.length - 1] += sign;
  }
  if (rows.at(-1).length === 1 && rows.at(-1)[0] === "") rows.pop();
  return rows.slice(0, most);
}

function tableOf(text, separator) {
  const [head = [], ...rows] = rowsOf(text, separator);
  return h(
    "div",
    { class: "table-output", tabindex: "0", role: "group", "aria-label": "Table" },
    h("table", null, h("thead", null, h("tr", null, head.map((name) => h("th", { scope: "col" }, name)))), h("tbody", null, rows.map((row) => h("tr", null, row.map((value) => h("td", null, value)))))),
    rows.length === ROWS - 1 && h("p", { class: "label" }, `The first ${ROWS} rows.`),
  );
}

function jsonOf(text) {
  try {
    return tree(JSON.parse(text));
  } catch {
    return textBlock(text);
  }
}

function codeOf(text, name) {
  const language = LANGUAGES[extensionOf(name)];
  return language ? h("pre", { class: "text", tabindex: "0" }, h("code", null, highlighted(text, language))) : textBlock(text);
}

const TEXTS = [
  [/^text\/csv$/, (text) => tableOf(text, ",")],
  [/^text\/tab-separated-values$/, (text) => tableOf(text, "\t")],
  [/^text\/markdown$/, (text, entry, task) => markdown(text, { task })],
  [/^text\/html$/, (text) => sandbox([{ kind: "html", text }])],
  [/json$/, (text) => jsonOf(text)],
  [/^text\/|xml$|javascript$|x-(?:python|shellscript|sh|tex|r)$|yaml|toml/, (text, entry) => codeOf(text, entry.name)],
];

/** Resolves to an element. */
export async function preview(entry, address, task) {
  const mime = entry.mime ?? "";
  if (/^image\//.test(mime)) return h("img", { src: address, alt: `The picture ${entry.name}` });
  if (/^video\//.test(mime)) return h("video", { src: address, controls: true, "aria-label": entry.name });
  if (/^audio\//.test(mime)) return h("audio", { src: address, controls: true, "aria-label": entry.name });
  const found = TEXTS.find(([pattern]) => pattern.test(mime));
  if (!found) return h("p", { class: "quiet" }, `${mime || "A file of unknown type"}, ${bytes(entry.bytes)}: there is no view of this here.`);
  return h("div", null, cutNote(entry), found[1](await textOf(entry, address), entry, task));
}
