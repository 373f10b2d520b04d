// What every page has: the theme switch, the keys, the tabs of a task.
import { byId, h } from "./dom.js";
import { getJson, pageAddress, send } from "./api.js";

const isDark = () =>
  (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function prepareTheme() {
  const button = byId("theme");
  const show = () => (button.textContent = isDark() ? "Light" : "Dark");
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // It holds for this page only, then.
    }
    show();
    dispatchEvent(new Event("themechange"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    show();
    dispatchEvent(new Event("themechange"));
  });
  show();
}

/** Fills the element with links to the pages of one task. */
export function taskTabs(element, task, present) {
  const pages = { notebook: "Notebook", files: "Files", runs: "Runs" };
  element.replaceChildren(
    ...Object.entries(pages).map(([page, title]) =>
      h("a", { href: pageAddress(page, { task }), "aria-current": page === present && "page" }, title),
    ),
  );
}

const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

const known = [["?", "this list"]];

/** Registers keys that act on this page: { j: ["next cell", act], … }. */
export function keys(table) {
  for (const [key, [meaning]] of Object.entries(table)) known.push([key, meaning]);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const entry = table[event.key];
    if (!entry) return;
    event.preventDefault();
    entry[1]();
  });
}

function showKeys() {
  const dialog = h(
    "dialog",
    { "aria-labelledby": "keys-title" },
    h("h2", { id: "keys-title" }, "Keys"),
    h("dl", null, ...known.flatMap(([key, meaning]) => [h("dt", null, h("kbd", null, key)), h("dd", null, meaning)])),
    h("form", { method: "dialog" }, h("div", { class: "row" }, h("button", null, "Close"))),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

addEventListener("keydown", (event) => {
  if (event.key === "?" && !isTyping(event.target) && !document.querySelector("dialog[open]")) showKeys();
});
// A menu closes when the reader goes elsewhere.
addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

const SCOPES = ["read", "run", "packages", "admin"];

/** Says who is logged in, and hides what they may not do (data-needs). Where
 * nobody has to be known, nothing changes. */
function showCaller({ name, by, scopes }) {
  document.documentElement.dataset.lacks = SCOPES.filter((scope) => !scopes.includes(scope)).join(" ");
  if (by === "nobody is asked") return;
  const mayDo = scopes.includes("admin") ? "everything" : scopes.join(", ");
  const out = h("button", { type: "button", class: "plain", id: "log-out" }, "Log out");
  out.addEventListener("click", async () => {
    await send("DELETE", "/v1/session");
    location.replace("/login.html");
  });
  byId("theme").before(h("span", { id: "caller", class: "quiet small", title: `May do: ${mayDo}` }, name), by === "session" ? out : "");
}

if (location.pathname !== "/login.html")
  getJson("/v1/session").then(showCaller, () => {}); // without the application nobody can be told

prepareTheme();
