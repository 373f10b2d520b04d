// The page of one notebook: reading, the keys, downloads, and running cells.
import { Book } from "./book.js";
import { cellId, isCode } from "./cell.js";
import { showContents } from "./contents.js";
import { byId, confirmed, download, parameter, say } from "./dom.js";
import { asHtml, asScript, scriptExtension } from "./export.js";
import { count, statusLook } from "./format.js";
import { Live } from "./live.js";
import { keys, taskTabs } from "./shell.js";

const task = parameter("task");
const cellsPlace = byId("cells");
const book = new Book(cellsPlace, task);

function tell(text, look = "") {
  const place = byId("message");
  place.hidden = text === "";
  place.className = `notice ${look}`;
  place.textContent = text;
}

// Reading

function showCells() {
  showContents(byId("contents"), book.cells);
  byId("size").textContent = count(book.cells.filter(isCode).length, "code cell");
  if (book.cells.length > 0 && byId("message").dataset.empty) tell("");
}

function goTo(id) {
  const element = document.getElementById(id);
  if (!element) return;
  book.viewOf(element)?.fill();
  element.scrollIntoView();
  element.focus({ preventScroll: true });
}

/** The cell that has the focus, or the one before the first in view. */
function presentIndex() {
  const elements = [...cellsPlace.children];
  const focused = document.activeElement?.closest(".cell");
  return focused ? elements.indexOf(focused) : elements.findIndex((element) => element.getBoundingClientRect().bottom > 120) - 1;
}

function step(by) {
  const elements = cellsPlace.children;
  const to = Math.min(Math.max(presentIndex() + by, 0), elements.length - 1);
  if (elements[to]) goTo(elements[to].id);
}

function nextFailure() {
  const views = [...cellsPlace.children].map((element) => book.viewOf(element));
  const from = presentIndex() + 1;
  const found = [...views.slice(from), ...views.slice(0, from)].find((view) => view.element.classList.contains("bad"));
  if (found) goTo(cellId(found.cell));
  else say("No cell failed");
}

// Downloads

async function save(kind) {
  byId("download").open = false;
  const name = (extension) => `${task}.${extension}`;
  if (kind === "ipynb") download(JSON.stringify(book.asNotebook(), null, 1), "application/x-ipynb+json", name("ipynb"));
  else if (kind === "script") download(asScript(book.cells, book.context.language), "text/plain", name(scriptExtension(book.context.language)));
  else download(await asHtml(task, book.cells, book.context), "text/html", name("html"));
}

// Running

const isAtEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 120;

/** Stays at the end when the reader was there. */
function keepAtEnd(act) {
  const wasAtEnd = isAtEnd();
  act();
  if (wasAtEnd) requestAnimationFrame(() => scrollTo(0, document.documentElement.scrollHeight));
}

function showState(live) {
  const [look, words] = live.look();
  const place = byId("kernel");
  place.hidden = false;
  place.className = `state ${look}`;
  if (place.textContent !== words) place.textContent = words;
  byId("stop").hidden = live.runs.length === 0;
  byId("restart").disabled = live.task?.kernel?.state !== "alive";
  byId("run").disabled = !live.isThere;
}

const live = new Live(book, {
  onChange: showState,
  onCells: () => keepAtEnd(showCells),
  onGrowth: () => keepAtEnd(() => {}),
  onFault: (text) => tell(text, "bad"),
  onFinished: (answer) => say(`Cell ${answer.execution_count ?? ""}: ${statusLook(answer.status)[1]}`),
});

/** Resolves to whether it succeeded. */
async function attempt(act) {
  try {
    await act();
    if (byId("message").classList.contains("bad")) tell("");
    return true;
  } catch (error) {
    tell(error.message, "bad");
    return false;
  }
}

// The field is free at once: the next cell may be written while this one is sent.
async function run() {
  const field = byId("code");
  const code = field.value;
  if (code.trim() === "") return;
  field.value = "";
  if (await attempt(() => live.run(code))) scrollTo(0, document.documentElement.scrollHeight);
  else field.value = field.value === "" ? code : `${code}\n${field.value}`;
}

async function restart() {
  if (await confirmed(`Restart the kernel of ${task}? Its variables are lost.`, "Restart")) await attempt(() => live.restart());
}

byId("stop").addEventListener("click", () => attempt(() => live.stop()));
byId("restart").addEventListener("click", restart);
byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
byId("code").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.shiftKey || event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  run();
});
for (const button of document.querySelectorAll("#download button")) button.addEventListener("click", () => save(button.value));
keys({
  j: ["next cell", () => step(1)],
  k: ["cell before", () => step(-1)],
  e: ["next cell that failed", nextFailure],
  r: ["write a cell; Shift+Enter runs it", () => byId("code").focus()],
  s: ["stop the running cell", () => live.runs.length > 0 && attempt(() => live.stop())],
});
addEventListener("hashchange", () => goTo(decodeURIComponent(location.hash.slice(1))));
addEventListener("themechange", () => {
  for (const view of book.views)
    if (view.isFilled && view.element.querySelector("iframe")) {
      view.empty();
      view.fill();
    }
});

byId("name").textContent = task || "No task";
document.title = `${task}: notebook`;
taskTabs(byId("tabs"), task, "notebook");
try {
  if (!(await book.load()) || book.cells.length === 0) {
    tell("This notebook has no cells yet.");
    byId("message").dataset.empty = "yes";
  }
  showCells();
  if (location.hash) goTo(decodeURIComponent(location.hash.slice(1)));
} catch (error) {
  tell(error.message, "bad");
}
live.start();
