"""What a page owes to people who do not see it, or not well: names, landmarks,
contrast. The names are those of the browser's own accessibility tree."""

NAMED = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "image", "img", "dialog", "iframe", "navigation"}

# Text and the ground behind it, by computed values. Text that cannot be seen and
# controls that are switched off need no contrast (WCAG 2.2, 1.4.3).
CONTRAST = r"""
const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const rgba = (color) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = color;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
};
const over = (front, back) => front.slice(0, 3).map((value, i) => value * front[3] + back[i] * (1 - front[3])).concat(1);
const linear = (value) => ((value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
const groundOf = (element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
};
const opacityOf = (element) => {
  let opacity = 1;
  for (let at = element; at; at = at.parentElement) opacity *= getComputedStyle(at).opacity;
  return opacity;
};
const found = new Map();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node; (node = walker.nextNode()); ) {
  const element = node.parentElement;
  if (!node.data.trim() || element.closest(".unseen, :disabled, .katex-mathml, option, noscript")) continue;
  if (!element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })) continue;
  const style = getComputedStyle(element);
  const ground = groundOf(element);
  const color = rgba(style.color);
  color[3] *= opacityOf(element);
  const lights = [luminance(over(color, ground)), luminance(ground)].sort((a, b) => b - a);
  const ratio = (lights[0] + 0.05) / (lights[1] + 0.05);
  const size = parseFloat(style.fontSize);
  const least = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700) ? 3 : 4.5;
  if (ratio < least) found.set(`${element.tagName}.${element.className}`, `${ratio.toFixed(2)} "${node.data.trim().slice(0, 40)}"`);
}
return [...found].map(([where, what]) => `${where}: ${what}`);
"""

STRUCTURE = r"""
const faults = [];
const need = (fits, fault) => fits || faults.push(fault);
need(document.documentElement.lang === "en", "no language");
need(document.title !== "", "no title");
need(document.querySelectorAll("main").length === 1, "not one main");
need(document.querySelectorAll("h1:not(.prose *)").length === 1, "not one h1");
need(document.querySelectorAll("header.bar nav[aria-label]").length === 1, "no navigation");
const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
for (const id of new Set(ids)) need(ids.filter((other) => other === id).length === 1, `id ${id} twice`);
for (const image of document.images) need(image.hasAttribute("alt"), "an image without alt");
for (const head of document.querySelectorAll("th")) need(head.scope !== "" || head.closest(".prose"), `th "${head.textContent}" without scope`);
for (const element of document.querySelectorAll("[tabindex]")) need(element.tabIndex <= 0, "a tabindex over 0");
for (const element of document.querySelectorAll("[aria-labelledby]"))
  need(document.getElementById(element.getAttribute("aria-labelledby")), "a label that is not there");
need(document.documentElement.scrollWidth <= innerWidth, `wider than the window: ${document.documentElement.scrollWidth}`);
return faults;
"""


def check_access(page):
    """Asserts all of it for the page as it stands."""
    assert page.script(STRUCTURE) == []
    assert page.script(CONTRAST) == []
    tree = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    nameless = [
        node["role"]["value"]
        for node in tree
        if not node["ignored"] and node["role"]["value"].lower() in NAMED and not node.get("name", {}).get("value")
    ]
    assert nameless == []
