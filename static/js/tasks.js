// The list of tasks: what the application knows of them, or, while it is stopped,
// the web server's own listing.
import { getJson, listDirectories, listTasks, pageAddress, send, taskAddress } from "./api.js";
import { byId, confirmed, h, parameter, say } from "./dom.js";
import { follow } from "./feed.js";
import { bytes, count, statusElement, when } from "./format.js";
import { keys } from "./shell.js";

const EVERY = 2000; // ms between two looks while the page is seen
const SELDOM = 10000; // the same while the live feed tells what happens
const SOON = 150; // ms from an event to the look that it asks for
const STEP = 200; // rows

const list = { tasks: [], shown: STEP, isAlone: false };

const KERNEL = { alive: ["alive", "kernel alive"], dead: ["bad", "kernel ended"], none: ["", "no kernel"] };
const look = (task) => (task.last_status === "running" || task.last_status === "queued" ? "busy" : (task.kernel?.state ?? "none"));

/** One list of both sources; tasks that the application does not know are stopped. */
function merge(known, directories) {
  const names = new Set(known.map((task) => task.task));
  return [...known, ...directories.filter(({ task }) => !names.has(task))];
}

const SORTS = {
  task: (a, b) => a.task.localeCompare(b.task),
  state: (a, b) => look(a).localeCompare(look(b)),
  last: (a, b) => (a.last_run ?? a.changed ?? "").localeCompare(b.last_run ?? b.changed ?? ""),
  runs: (a, b) => (a.runs ?? 0) - (b.runs ?? 0),
  failures: (a, b) => (a.failures ?? 0) - (b.failures ?? 0),
  memory: (a, b) => (a.kernel?.memory_bytes ?? 0) - (b.kernel?.memory_bytes ?? 0),
};
const sort = { by: "last", down: true };

function chosen() {
  const word = byId("filter").value.trim().toLowerCase();
  const state = byId("state").value;
  const fits = (task) =>
    task.task.toLowerCase().includes(word) &&
    (state === "" || look(task) === state || (state === "failed" && statusIsBad(task.last_status)));
  const order = SORTS[sort.by];
  return list.tasks.filter(fits).sort((a, b) => (sort.down ? -order(a, b) : order(a, b)) || a.task.localeCompare(b.task));
}

const statusIsBad = (status) => Boolean(status) && !["ok", "running", "queued", "cancelled"].includes(status);

function kernelState(task) {
  if (list.isAlone) return h("span", { class: "state" }, "unknown");
  if (look(task) === "busy") return h("span", { class: "state busy" }, task.last_status);
  const [state, words] = KERNEL[task.kernel?.state ?? "none"] ?? KERNEL.none;
  return h("span", { class: `state ${state}`, title: task.kernel?.reason }, words);
}

function act(task, verb, words) {
  return h("button", { type: "button", class: "plain", "data-needs": "run", "aria-label": `${words} ${task.task}`, on: { click: () => perform(task.task, verb) } }, words);
}

function actions(task) {
  if (list.isAlone) return null;
  const alive = task.kernel?.state === "alive";
  return [
    look(task) === "busy" && act(task, "interrupt", "Interrupt"),
    alive && act(task, "restart", "Restart"),
    alive && act(task, "stop", "Stop"),
  ];
}

function row(task) {
  const cell = (label, content, extra = "") => h("td", { "data-label": label, class: extra }, content);
  return h(
    "tr",
    { data: { task: task.task } },
    h("th", { scope: "row" }, h("a", { href: pageAddress("notebook", { task: task.task }) }, task.task)),
    cell("", kernelState(task)),
    cell("", [task.last_status && statusElement(task.last_status), " ", h("span", { class: "quiet" }, when(task.last_run ?? task.changed))]),
    cell("Runs", task.runs?.toLocaleString("en") ?? "", "number"),
    cell("Failures", task.failures ? h("a", { href: pageAddress("runs", { task: task.task, status: "failed" }) }, String(task.failures)) : "", "number"),
    cell("Memory", bytes(task.kernel?.memory_bytes), "number"),
    h("td", { class: "buttons" }, actions(task)),
  );
}

/** Replaces rows that changed only, so that what has the focus keeps it. */
function show() {
  const tasks = chosen();
  const body = byId("tasks");
  const rows = new Map([...body.children].map((element) => [element.dataset.task, element]));
  const wanted = tasks.slice(0, list.shown).map((task) => {
    const text = JSON.stringify([task, list.isAlone]);
    const old = rows.get(task.task);
    if (old?.text === text) return old;
    const made = row(task);
    made.text = text;
    if (old?.contains(document.activeElement)) queueMicrotask(() => made.querySelector("a, button").focus());
    return made;
  });
  wanted.forEach((element, index) => {
    if (body.children[index] !== element) body.insertBefore(element, body.children[index] ?? null);
  });
  while (body.children.length > wanted.length) body.lastElementChild.remove();
  byId("count").textContent =
    tasks.length === list.tasks.length ? count(tasks.length, "task") : `${tasks.length} of ${count(list.tasks.length, "task")}`;
  byId("more").hidden = tasks.length <= list.shown;
  byId("none").hidden = tasks.length > 0;
  byId("none").textContent = list.tasks.length > 0 ? "No task fits." : "There are no tasks yet.";
}

function tell(text, isBad = false) {
  const place = byId("message");
  place.hidden = text === "";
  place.className = `notice ${isBad ? "bad" : ""}`;
  if (place.textContent !== text) place.textContent = text;
}

async function read() {
  const directories = await listDirectories();
  try {
    list.tasks = merge(await listTasks(), directories);
    list.isAlone = false;
    tell("");
  } catch {
    list.tasks = directories;
    list.isAlone = true;
    tell("The application does not answer. Notebooks and files can still be read.");
  }
  byId("start").disabled = list.isAlone;
  show();
}

async function refresh() {
  try {
    await read();
  } catch (error) {
    tell(`The tasks cannot be listed: ${error.message}.`, true);
  }
}

const VERBS = {
  interrupt: { method: "POST", more: "/interrupt", done: "was interrupted" },
  restart: { method: "POST", more: "/restart", done: "has a new kernel", ask: "Restart the kernel of", loss: "Its variables are lost.", action: "Restart" },
  stop: { method: "DELETE", more: "", done: "was stopped", ask: "Stop", loss: "Its kernel ends and its variables are lost; notebook and files stay.", action: "Stop" },
};

async function perform(task, verb) {
  const { method, more, done, ask, loss, action } = VERBS[verb];
  if (ask && !(await confirmed(`${ask} ${task}? ${loss}`, action))) return;
  try {
    await send(method, taskAddress(task, more));
    say(`${task} ${done}`);
  } catch (error) {
    tell(error.message, true);
  }
  await refresh();
}

async function openStart() {
  const dialog = byId("start-dialog");
  if (byId("start").offsetParent === null) return; // the reader may not
  const { kernelspecs } = await getJson("/v1/kernelspecs");
  byId("kernelspec").replaceChildren(
    ...kernelspecs.map((spec) => h("option", { value: spec.name, selected: spec.default }, spec.display_name)),
  );
  byId("start-fault").textContent = "";
  dialog.showModal();
}

async function start(event) {
  event.preventDefault();
  const name = byId("new-name").value.trim();
  try {
    await send("PUT", taskAddress(name), { kernelspec: byId("kernelspec").value });
    location.href = pageAddress("notebook", { task: name });
  } catch (error) {
    byId("start-fault").textContent = error.message;
  }
}

function sortBy(button) {
  const by = button.value;
  sort.down = sort.by === by ? !sort.down : by !== "task";
  sort.by = by;
  for (const other of document.querySelectorAll("th[aria-sort]"))
    other.setAttribute("aria-sort", other.contains(button) ? (sort.down ? "descending" : "ascending") : "none");
  show();
}

byId("filter").value = parameter("filter");
byId("filter").addEventListener("input", show);
byId("state").addEventListener("change", show);
for (const button of document.querySelectorAll("th[aria-sort] button")) button.addEventListener("click", () => sortBy(button));
byId("more").addEventListener("click", () => {
  list.shown += STEP;
  show();
});
byId("start").addEventListener("click", openStart);
byId("start-form").addEventListener("submit", start);
byId("start-cancel").addEventListener("click", () => byId("start-dialog").close());
keys({ "/": ["filter the list", () => byId("filter").focus()], n: ["start a task", openStart] });

// Looks again when something happened, and now and then for the memory.
let isByFeed = false;
let waiting = null;
let looked = 0;

function lookIn(ms) {
  waiting ??= setTimeout(async () => {
    looked = Date.now();
    await refresh();
    waiting = null;
  }, ms);
}

follow("/v1/events", {
  onState: () => {
    isByFeed = true;
    lookIn(SOON);
  },
  onEvent: ({ kind }) => {
    isByFeed = true;
    if (kind !== "run.output" && kind !== "run.late") lookIn(SOON);
  },
  onAbsence: () => (isByFeed = false),
});
setInterval(() => {
  if (document.visibilityState === "visible" && Date.now() - looked >= (isByFeed ? SELDOM : EVERY)) lookIn(0);
}, 1000);
lookIn(0);
