// The one door to DOMPurify: HTML from outside becomes nodes that cannot act.
import DOMPurify from "../vendor/dompurify/purify.js";

const OWN_CLASS = /^(?:maths|maths display|language-[\w+#-]+|hljs-[\w -]+)$/;

DOMPurify.addHook("uponSanitizeAttribute", (node, data) => {
  if (data.attrName === "class" && !OWN_CLASS.test(data.attrValue)) data.keepAttr = false;
  // A picture begins to load as soon as it belongs to this document, so its
  // address is put aside before that.
  if (node.localName === "img" && data.attrName === "src") {
    node.setAttribute("data-src", data.attrValue);
    data.keepAttr = false;
  }
});

// The page's policy refuses styles in HTML even while it is being cleaned, and
// says so in the console. What this leaves is cleaned all the same.
const withoutStyles = (html) =>
  html
    .replace(/<style\b[\s\S]*?(?:<\/style\s*>|$)/gi, "")
    .replace(/<[a-z][^<>]*>/gi, (tag) => tag.replace(/([\s"'/])style(\s*=)/gi, "$1data-style$2"));

/** { fragment, removed }: DOMPurify's options say what may stay. */
export function clean(html, options) {
  const fragment = DOMPurify.sanitize(withoutStyles(html), { ...options, RETURN_DOM_FRAGMENT: true });
  return { fragment, removed: DOMPurify.removed };
}
