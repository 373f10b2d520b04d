// Tables that data frames give as HTML, as tables of our own: only the text and
// the spans of their cells are taken.
import { clean } from "./clean.js";
import { h } from "./dom.js";

const MOST = 2000000; // characters
const PARTS = {
  ALLOWED_TAGS: ["table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption", "div", "p", "#text"],
  ALLOWED_ATTR: ["colspan", "rowspan"],
  ALLOW_DATA_ATTR: false,
  KEEP_CONTENT: false,
};
const NEEDLESS = ["border", "class", "data-style", "halign", "valign"];

/** Styles that are not merely those of every data frame mean something. */
export const isFrame = (html) =>
  html.length < MOST && /<table[^>]*class="[^"]*\bdataframe\b/.test(html) && !/<style(?! scoped>)/i.test(html);

// The <body> is that of the document in which the HTML was parsed.
const isNeedless = ({ attribute, element }) =>
  element ? element.localName === "body" : NEEDLESS.includes(attribute?.name);

/** The table, or null when the HTML is more than one. */
export function tableOf(html) {
  if (!isFrame(html)) return null;
  const { fragment, removed } = clean(html, PARTS);
  if (!removed.every(isNeedless) || fragment.querySelectorAll("table").length !== 1) return null;
  for (const head of fragment.querySelectorAll("thead th")) head.scope = "col";
  for (const head of fragment.querySelectorAll("tbody th")) head.scope = "row";
  return h("div", { class: "table-output", tabindex: "0", role: "group", "aria-label": "Table" }, fragment);
}
