// The page of one notebook.
import { Problem } from "./api.js";
import { cellId, cellView, isCode } from "./cell.js";
import { showContents } from "./contents.js";
import { byId, download, parameter, say } from "./dom.js";
import { asHtml, asScript, scriptExtension } from "./export.js";
import { count } from "./format.js";
import { librariesBefore } from "./output.js";
import { keys, taskTabs } from "./shell.js";
import { windowOf } from "./window.js";

const task = parameter("task");
const cellsPlace = byId("cells");
const book = { notebook: null, cells: [], views: new Map() };
const shown = windowOf();
const context = { task, language: "python", libraries: (output) => librariesBefore(book.cells, output) };

function add(cell, before = null) {
  const view = cellView(cell, context);
  book.views.set(cell.id, view);
  cellsPlace.insertBefore(view.element, before);
  shown.add(view);
  return view;
}

/** Puts a cell in place of the one with its id. */
function replace(cell) {
  const old = book.views.get(cell.id);
  const view = add(cell, old.element);
  if (old.isFilled) view.fill();
  shown.remove(old);
  old.element.remove();
}

const fingerprint = (cell) => JSON.stringify([cell.cell_type, cell.metadata, cell.execution_count, cell.outputs?.length, cell.source]);

function take(notebook) {
  book.notebook = notebook;
  context.language = notebook.metadata?.language_info?.name ?? notebook.metadata?.kernelspec?.language ?? "python";
  const before = new Map(book.cells.map((cell) => [cell.id, fingerprint(cell)]));
  book.cells = notebook.cells.map((cell, index) => ({ ...cell, id: cell.id ?? `number-${index}` }));
  for (const cell of book.cells) {
    if (!before.has(cell.id)) add(cell);
    else if (before.get(cell.id) !== fingerprint(cell)) replace(cell);
    before.delete(cell.id);
  }
  for (const id of before.keys()) {
    book.views.get(id).element.remove();
    book.views.delete(id);
  }
  showContents(byId("contents"), book.cells);
  byId("size").textContent = count(book.cells.filter(isCode).length, "code cell");
}

async function load() {
  const response = await fetch(`/tasks/${encodeURIComponent(task)}/notebook.ipynb`, { cache: "no-store" });
  if (response.status === 404) throw new Problem(404, "This task has no notebook yet. It comes with the first cell.");
  if (!response.ok) throw new Problem(response.status, `The notebook cannot be read: the answer was ${response.status}.`);
  take(await response.json());
}

function tell(text, look = "") {
  const place = byId("message");
  place.hidden = text === "";
  place.className = `notice ${look}`;
  place.textContent = text;
}

function goTo(id) {
  const element = document.getElementById(id);
  if (!element) return;
  book.views.get(id.slice("cell-".length))?.fill();
  element.scrollIntoView();
  element.focus({ preventScroll: true });
}

/** The cell that has the focus, or the first one in view. */
function presentIndex() {
  const focused = document.activeElement?.closest(".cell");
  const elements = [...cellsPlace.children];
  if (focused) return elements.indexOf(focused);
  return elements.findIndex((element) => element.getBoundingClientRect().bottom > 120) - 1;
}

function step(by) {
  const elements = cellsPlace.children;
  const to = Math.min(Math.max(presentIndex() + by, 0), elements.length - 1);
  if (elements[to]) goTo(elements[to].id);
}

const failed = (view) => view.element.classList.contains("bad");

function nextFailure() {
  const views = [...cellsPlace.children].map((element) => book.views.get(element.id.slice("cell-".length)));
  const from = presentIndex() + 1;
  const found = [...views.slice(from), ...views.slice(0, from)].find(failed);
  if (found) goTo(cellId(found.cell));
  else say("No cell failed");
}

const name = (extension) => `${task}.${extension}`;

async function save(kind) {
  byId("download").open = false;
  if (kind === "ipynb") download(JSON.stringify(book.notebook, null, 1), "application/x-ipynb+json", name("ipynb"));
  else if (kind === "script") download(asScript(book.cells, context.language), "text/plain", name(scriptExtension(context.language)));
  else download(await asHtml(task, book.cells, context), "text/html", name("html"));
}

for (const button of document.querySelectorAll("#download button")) button.addEventListener("click", () => save(button.value));
keys({
  j: ["next cell", () => step(1)],
  k: ["cell before", () => step(-1)],
  e: ["next cell that failed", nextFailure],
});
addEventListener("hashchange", () => goTo(decodeURIComponent(location.hash.slice(1))));
addEventListener("themechange", () => {
  for (const view of book.views.values())
    if (view.isFilled && view.element.querySelector("iframe")) {
      view.empty();
      view.fill();
    }
});

byId("name").textContent = task || "No task";
document.title = `${task}: notebook`;
taskTabs(byId("tabs"), task, "notebook");
load()
  .then(() => location.hash && goTo(decodeURIComponent(location.hash.slice(1))))
  .catch((error) => tell(error.message, error.status === 404 ? "" : "bad"));
