// Markdown with maths. Whatever stands in it, nothing of it acts, and pictures
// come from the task or not at all.
import { Marked } from "../vendor/marked/marked.js";
import { clean } from "./clean.js";
import { highlighted } from "./code.js";
import { h } from "./dom.js";
import { setMaths } from "./maths.js";
import { filesAddress } from "./api.js";

const escaped = (text) =>
  text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);

const maths = (token) => `<span class="maths${token.display ? " display" : ""}">${escaped(token.formula)}</span>`;

// `pattern` stands at the start of the text; its group, or all of it, is the formula.
function mathsRule(name, level, start, pattern, { display, whole = false }) {
  return {
    name,
    level,
    start: (text) => {
      const at = text.search(start);
      return at < 0 ? undefined : at;
    },
    tokenizer: (text) => {
      const found = pattern.exec(text);
      return found ? { type: name, raw: found[0], formula: found[whole ? 0 : 1].trim(), display } : undefined;
    },
    renderer: maths,
  };
}

const marked = new Marked({ gfm: true, breaks: false });
marked.use({
  extensions: [
    mathsRule("mathsBlock", "block", /\$\$|\\\[/, /^(?:\$\$|\\\[)([\s\S]+?)(?:\$\$|\\\])(?:\n|$)/, { display: true }),
    mathsRule("mathsEnvironment", "block", /\\begin\{/, /^\\begin\{([a-zA-Z]+\*?)\}[\s\S]+?\\end\{\1\}(?:\n|$)/, { display: true, whole: true }),
    mathsRule("mathsDisplay", "inline", /\$\$|\\\[/, /^(?:\$\$|\\\[)([\s\S]+?)(?:\$\$|\\\])/, { display: true }),
    mathsRule("mathsInline", "inline", /\$/, /^\$(?!\s)((?:\\.|[^\\$\n])+?)(?<!\s)\$(?!\d)/, { display: false }),
    mathsRule("mathsParenthesis", "inline", /\\\(/, /^\\\(([\s\S]+?)\\\)/, { display: false }),
  ],
});

const CLEAN = {
  USE_PROFILES: { html: true },
  FORBID_TAGS: ["style", "form", "button", "select", "option", "textarea", "video", "audio", "source", "track", "picture",
    "dialog", "template", "slot", "label", "fieldset", "map", "area", "menu", "nav", "main", "header", "footer", "marquee"],
  FORBID_ATTR: ["style", "id", "name", "srcset", "usemap", "background", "tabindex", "popover", "popovertarget", "contenteditable", "is"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

const LINK = /^(?:https?:|mailto:|#)/i;
const HAS_SCHEME = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i;

/** Where a picture's bytes are, or null when they are not the task's own. */
function pictureAddress(address, { task, attachments }) {
  if (/^data:image\/(?:png|jpeg|gif|webp|bmp|svg\+xml)[;,]/i.test(address)) return address;
  if (address.startsWith("attachment:")) {
    const [type, data] = Object.entries(attachments?.[decodeURIComponent(address.slice(11))] ?? {})[0] ?? [];
    return /^image\//.test(type ?? "") ? `data:${type};base64,${[data].flat().join("")}` : null;
  }
  if (!task || HAS_SCHEME.test(address) || address.startsWith("/")) return null;
  const path = decodeURIComponentSafely(address.split(/[?#]/)[0]).replace(/^(?:\.\/)+/, "");
  return path.split("/").includes("..") ? null : filesAddress(task, path);
}

function decodeURIComponentSafely(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function settlePicture(image, context) {
  const wanted = image.getAttribute("data-src") ?? "";
  const address = pictureAddress(wanted, context);
  if (address) {
    image.removeAttribute("data-src");
    image.setAttribute("src", address);
    image.setAttribute("loading", "lazy");
    if (!image.hasAttribute("alt")) image.setAttribute("alt", "");
  } else {
    const words = `picture not loaded: ${image.getAttribute("alt") || wanted}`;
    image.replaceWith(LINK.test(wanted) ? h("a", { href: wanted, rel: "noopener noreferrer", target: "_blank" }, words) : h("em", null, words));
  }
}

function settleLink(link, { task }) {
  const address = link.getAttribute("href") ?? "";
  if (LINK.test(address)) {
    if (address.startsWith("#")) return;
    link.rel = "noopener noreferrer";
    link.target = "_blank";
  } else if (task && !HAS_SCHEME.test(address) && !address.startsWith("/") && address !== "") {
    link.setAttribute("href", filesAddress(task, decodeURIComponentSafely(address.split(/[?#]/)[0])));
  } else link.removeAttribute("href");
}

/** A <div> of the markdown. `context`: { task, attachments, mathsOutput }. */
export function markdown(text, context) {
  const { fragment } = clean(marked.parse(text, { async: false }), CLEAN);
  for (const image of fragment.querySelectorAll("img")) settlePicture(image, context);
  for (const link of fragment.querySelectorAll("a")) settleLink(link, context);
  for (const input of fragment.querySelectorAll("input")) {
    if (input.type !== "checkbox") input.remove();
    else {
      input.disabled = true;
      input.setAttribute("aria-label", "done");
    }
  }
  for (const code of fragment.querySelectorAll("pre > code[class^=language-]"))
    code.replaceChildren(highlighted(code.textContent, code.className.slice(9)));
  const waiting = [];
  for (const formula of fragment.querySelectorAll("span.maths"))
    waiting.push(setMaths(formula, formula.textContent, formula.classList.contains("display"), context.mathsOutput));
  const prose = h("div", { class: "prose" }, fragment);
  prose.settled = Promise.all(waiting);
  return prose;
}

/** The headings of a markdown text: [{ level, text }]. */
export function headings(text) {
  return marked
    .lexer(text)
    .filter((token) => token.type === "heading")
    .map((token) => ({ level: token.depth, text: plain(token.tokens) }));
}

const plain = (tokens) => tokens.map((token) => token.formula ?? (token.tokens ? plain(token.tokens) : token.text ?? "")).join("");
