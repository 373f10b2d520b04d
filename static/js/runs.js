// The audit: runs of all tasks, found by what is known of them.
import { getJson, pageAddress } from "./api.js";
import { chart, everyHour } from "./chart.js";
import { byId, h, parameter } from "./dom.js";
import { count, duration, statusElement, when } from "./format.js";
import { showRun } from "./run-details.js";
import { keys, taskTabs } from "./shell.js";

const DAY = 86400000;
const PAGE = 100;
const FILTERS = ["task", "status", "error", "text", "since", "until"];

let next = null;
let asked = 0; // of the latest question; answers to older ones are dropped

/** The filters that are set, as the interface takes them. */
function query(more = {}) {
  const chosen = { ...more };
  for (const name of FILTERS) {
    const value = byId(name).value.trim();
    if (value !== "") chosen[name] = name === "since" || name === "until" ? new Date(value).toISOString() : value;
  }
  return new URLSearchParams(chosen).toString().replaceAll("+", "%20");
}

function row(run) {
  const cell = (label, content, look = "") => h("td", { "data-label": label, class: look }, content);
  const open = (event) => {
    event.preventDefault();
    choose(run.run);
  };
  return h(
    "tr",
    { data: { run: run.run } },
    h("th", { scope: "row" }, h("a", { href: address({ run: run.run }), on: { click: open } }, when(run.queued))),
    cell("", h("a", { href: pageAddress("notebook", { task: run.task }) }, run.task)),
    cell("", statusElement(run.status)),
    cell("", h("code", { title: run.error ?? run.code }, run.error ?? run.code.split("\n").find((line) => line.trim()) ?? ""), run.error ? "error" : ""),
    cell("Took", duration(run.wall_ms), "number"),
    cell("By", run.caller),
  );
}

function tell(text) {
  byId("message").hidden = text === "";
  byId("message").textContent = text;
}

async function list(before = null) {
  const question = ++asked;
  try {
    const answer = await getJson(`/v1/runs?${query({ limit: PAGE, ...(before && { before }) })}`);
    if (question !== asked) return;
    const rows = answer.runs.map(row);
    if (before) byId("runs").append(...rows);
    else byId("runs").replaceChildren(...rows);
    next = answer.next;
    tell("");
  } catch (error) {
    if (question !== asked) return;
    if (!before) byId("runs").replaceChildren();
    next = null;
    tell(error.isAbsence ? "The application does not answer. The history comes with it." : error.message);
  }
  const shown = byId("runs").children.length;
  byId("more").hidden = next === null;
  byId("count").textContent = `${count(shown, "run")}${next ? " so far" : ""}`;
  byId("none").hidden = shown > 0;
}

async function draw() {
  const until = Date.now();
  const since = byId("since").value ? Math.max(new Date(byId("since").value), until - 14 * DAY) : until - DAY;
  const task = byId("task").value.trim();
  const parameters = { since: new Date(since).toISOString(), ...(task && { task }) };
  const { hours } = await getJson(`/v1/hours?${new URLSearchParams(parameters)}`);
  const all = everyHour(hours, since, until);
  const sum = (key) => all.reduce((total, hour) => total + hour[key], 0);
  const [runs, failed] = [sum("runs"), sum("failed")];
  const slowest = Math.max(...all.map((hour) => hour.p95_ms ?? 0));
  byId("charts").replaceChildren(
    chart({
      title: "Runs and failures",
      summary: `${count(runs, "run")}, ${runs > 0 ? ((100 * failed) / runs).toFixed(failed > 0 ? 1 : 0) : 0} % failed`,
      hours: all,
      series: [{ key: "runs", look: "runs" }, { key: "failed", look: "failed" }],
      tell: (hour) => `${count(hour.runs, "run")}, ${hour.failed} failed`,
      top: (most) => most.toLocaleString("en"),
    }),
    chart({
      title: "Latency",
      summary: slowest > 0 ? `95 % within ${duration(slowest)} in the slowest hour` : "no runs",
      hours: all,
      series: [{ key: "p95_ms", look: "slow" }, { key: "median_ms", look: "runs" }],
      tell: (hour) => (hour.runs > 0 ? `half within ${duration(hour.median_ms)}, 95 % within ${duration(hour.p95_ms)}` : "no runs"),
      top: (most) => duration(most),
    }),
  );
}

/** This page's address with the filters, for history and links. */
function address(more) {
  const parameters = new URLSearchParams();
  for (const name of FILTERS) if (byId(name).value !== "") parameters.set(name, byId(name).value);
  for (const [name, value] of Object.entries(more)) parameters.set(name, value);
  return `/runs.html?${parameters}`;
}

function choose(run) {
  history.pushState({ run }, "", address({ run }));
  showRun(run, close);
}

function close() {
  if (new URLSearchParams(location.search).has("run")) history.pushState({}, "", address({}));
}

let waiting = null;

function search() {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    history.replaceState({}, "", address({}));
    byId("csv").href = `/v1/runs.csv?${query()}`;
    list();
    draw().catch(() => {});
  }, 150);
}

for (const name of FILTERS) {
  byId(name).value = parameter(name);
  byId(name).addEventListener("input", search);
}
byId("csv").href = `/v1/runs.csv?${query()}`;
byId("more").addEventListener("click", () => list(next));
addEventListener("popstate", () => {
  if (parameter("run")) showRun(parameter("run"), close);
  else byId("run-dialog").close();
});
keys({ "/": ["search the code", () => byId("text").focus()] });

if (parameter("task") && !parameter("run")) {
  byId("tabs").hidden = false;
  taskTabs(byId("tabs"), parameter("task"), "runs");
}
list();
draw().catch(() => {});
if (parameter("run")) showRun(parameter("run"), close);
