// Fills the list of tasks from the web server's own listing of the directory:
// [{"name", "type", "mtime"}, …].

const rows = document.getElementById("tasks");
const filter = document.getElementById("filter");
const count = document.getElementById("count");
const message = document.getElementById("message");

let tasks = [];

function link(text, address) {
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.textContent = text;
  return anchor;
}

function cell(content) {
  const td = document.createElement("td");
  td.append(content);
  return td;
}

function changed(task) {
  const time = document.createElement("time");
  time.dateTime = task.when.toISOString();
  time.textContent = task.when.toLocaleString();
  return time;
}

function row(task) {
  const tr = document.createElement("tr");
  const base = `/tasks/${encodeURIComponent(task.name)}`;
  const name = document.createElement("th");
  name.scope = "row";
  name.textContent = task.name;
  const notebook = link("notebook.ipynb", `${base}/notebook.ipynb`);
  notebook.download = `${task.name}.ipynb`;
  tr.append(name, cell(changed(task)), cell(notebook), cell(link("files", `${base}/files/`)));
  return tr;
}

function show() {
  const wanted = filter.value.trim().toLowerCase();
  const shown = tasks.filter((task) => task.name.toLowerCase().includes(wanted));
  rows.replaceChildren(...shown.map(row));
  count.textContent = wanted ? `${shown.length} of ${tasks.length}` : `${tasks.length} tasks`;
}

async function load() {
  const response = await fetch("/tasks/", { headers: { Accept: "application/json" } });
  if (!response.ok) {
    throw new Error(`the list of tasks answered ${response.status}`);
  }
  const entries = await response.json();
  tasks = entries
    .filter((entry) => entry.type === "directory" && !entry.name.startsWith("."))
    .map((entry) => ({ name: entry.name, when: new Date(entry.mtime) }))
    .sort((a, b) => b.when - a.when || a.name.localeCompare(b.name));
  show();
}

filter.addEventListener("input", show);
load().catch((error) => {
  message.textContent = `The tasks cannot be listed: ${error.message}.`;
  message.hidden = false;
});
