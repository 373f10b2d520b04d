// A JSON value as a tree whose branches are made when they are opened.
import { h } from "./dom.js";

const MOST = 500; // members shown at once

const isBranch = (value) => value !== null && typeof value === "object";

function leaf(value) {
  return typeof value === "string"
    ? h("span", { class: "string" }, JSON.stringify(value))
    : h("span", { class: "other" }, String(value));
}

function members(value) {
  const entries = Array.isArray(value) ? value.map((item, index) => [index, item]) : Object.entries(value);
  const items = entries.slice(0, MOST).map(([key, item]) => h("li", null, node(item, String(key), false)));
  if (entries.length > MOST) items.push(h("li", { class: "quiet" }, `… ${entries.length - MOST} more`));
  return h("ul", null, items);
}

function node(value, key, open) {
  const label = key === null ? null : [h("span", { class: "key" }, key), ": "];
  if (!isBranch(value)) return h("span", null, label, leaf(value));
  const size = Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value).length}}`;
  const branch = h("details", null, h("summary", null, label, h("span", { class: "quiet" }, size)));
  const fill = () => branch.open && branch.children.length === 1 && branch.append(members(value));
  branch.addEventListener("toggle", fill);
  branch.open = open;
  if (open) fill();
  return branch;
}

export const tree = (value) => h("div", { class: "tree" }, node(value, null, true));
