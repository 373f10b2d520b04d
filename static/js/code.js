// Highlighted code. What highlight.js gives is cleaned like anything else.
import hljs from "../vendor/highlight/highlight.js";
import { clean } from "./clean.js";

const MOST = 100000; // characters; beyond, colours cost more than they help

hljs.configure({ throwUnescapedHTML: false });

/** The code's nodes, coloured when the language is known. */
export function highlighted(code, language) {
  if (!language || code.length > MOST || !hljs.getLanguage(language)) return document.createTextNode(code);
  const html = hljs.highlight(code, { language, ignoreIllegals: true }).value;
  return clean(html, { ALLOWED_TAGS: ["span", "#text"], ALLOWED_ATTR: ["class"] }).fragment;
}
