// The workspace of a task: lists, previews, upload.
import { Problem, filesAddress, getJson, pageAddress, request, taskAddress } from "./api.js";
import { byId, confirmed, h, parameter, say } from "./dom.js";
import { bytes, count, when } from "./format.js";
import { preview } from "./preview.js";
import { keys, taskTabs } from "./shell.js";

const task = parameter("task");
const path = parameter("path").replace(/^\/+|\/+$/g, "");
const within = (name) => (path === "" ? name : `${path}/${name}`);
const interfaceAddress = (file) => taskAddress(task, `/files${file === "" ? "" : `/${file.split("/").map(encodeURIComponent).join("/")}`}`);

function tell(text, look = "bad") {
  byId("message").hidden = text === "";
  byId("message").className = `notice ${look}`;
  byId("message").textContent = text;
}

function showPath() {
  const parts = path === "" ? [] : path.split("/");
  const link = (text, to) => h("a", { href: pageAddress("files", to === "" ? { task } : { task, path: to }) }, text);
  const crumbs = parts.map((part, index) => [" / ", link(part, parts.slice(0, index + 1).join("/"))]);
  byId("path").replaceChildren(link("files", ""), ...crumbs.flat());
}

async function list(address) {
  const all = [];
  let after = null;
  do {
    const answer = await getJson(`${address}?limit=1000${after === null ? "" : `&after=${encodeURIComponent(after)}`}`);
    all.push(...answer.entries);
    after = answer.next;
  } while (after !== null && all.length < 10000);
  return all;
}

/** Everything that the directory holds; of a deleted task, too, while its files are there. */
async function entries() {
  try {
    return await list(interfaceAddress(path));
  } catch (error) {
    if (error.status !== 404) throw error;
    const left = await list(filesAddress(task, path === "" ? "" : `${path}/`));
    byId("drop").hidden = true;
    return left;
  }
}

function nameLink(entry) {
  if (entry.kind === "directory") return h("a", { href: pageAddress("files", { task, path: within(entry.name) }) }, `${entry.name}/`);
  const open = (event) => {
    if (event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    show(entry);
  };
  return h("a", { href: filesAddress(task, within(entry.name)), on: { click: open } }, entry.name);
}

function row(entry) {
  const isFile = entry.kind === "file";
  const cell = (content, look = "") => h("td", { class: look }, content);
  return h(
    "tr",
    { data: { name: entry.name } },
    h("th", { scope: "row" }, nameLink(entry)),
    cell(isFile ? (entry.mime ?? "") : "folder", "quiet"),
    cell(isFile ? bytes(entry.bytes) : "", "number"),
    cell(when(entry.modified)),
    h(
      "td",
      { class: "buttons" },
      isFile && h("a", { href: filesAddress(task, within(entry.name)), download: entry.name, "aria-label": `Download ${entry.name}` }, "Download"),
      h("button", { type: "button", class: "plain", "data-needs": "run", "aria-label": `Delete ${entry.name}`, on: { click: () => remove(entry) } }, "Delete"),
    ),
  );
}

async function load() {
  try {
    const found = (await entries()).sort((a, b) => a.kind.localeCompare(b.kind) || a.name.localeCompare(b.name));
    byId("files").replaceChildren(...found.map(row));
    byId("count").textContent = count(found.length, "entry", "entries");
    byId("none").hidden = found.length > 0;
  } catch (error) {
    tell(error.status === 404 ? "There is no such folder." : `The files cannot be listed: ${error.message}.`);
  }
}

async function show(entry) {
  byId("preview-name").textContent = entry.name;
  byId("preview-download").href = filesAddress(task, within(entry.name));
  byId("preview-download").download = entry.name;
  byId("preview-body").replaceChildren(h("p", { class: "quiet" }, "…"));
  byId("preview").showModal();
  try {
    byId("preview-body").replaceChildren(await preview(entry, filesAddress(task, within(entry.name)), task));
  } catch (error) {
    byId("preview-body").replaceChildren(h("p", { class: "notice bad" }, error.message));
  }
}

async function remove(entry) {
  const what = entry.kind === "directory" ? "the folder and all that it holds" : "the file";
  if (!(await confirmed(`Delete ${entry.name}? This removes ${what}.`, "Delete"))) return;
  try {
    await request(interfaceAddress(within(entry.name)), { method: "DELETE" });
    say(`${entry.name} was deleted`);
    tell("");
  } catch (error) {
    tell(error.message);
  }
  await load();
}

async function upload(files) {
  for (const file of files) {
    tell(`Uploading ${file.name} (${bytes(file.size)}) …`, "");
    try {
      await request(interfaceAddress(within(file.name)), { method: "PUT", body: file, headers: { "Content-Type": "application/octet-stream" } });
      say(`${file.name} was uploaded`);
      tell("");
    } catch (error) {
      tell(error instanceof Problem ? `${file.name}: ${error.message}` : String(error));
      break;
    }
  }
  await load();
}

byId("upload").addEventListener("change", (event) => upload([...event.target.files]).then(() => (event.target.value = "")));
const drop = byId("drop");
for (const kind of ["dragover", "dragleave", "drop"])
  drop.addEventListener(kind, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", kind === "dragover");
    if (kind === "drop") upload([...event.dataTransfer.files]);
  });
byId("preview-close").addEventListener("click", () => byId("preview").close());
keys({ u: ["upload files", () => drop.offsetParent !== null && byId("upload").click()] });

byId("name").textContent = task || "No task";
document.title = `${task}: files`;
taskTabs(byId("tabs"), task, "files");
showPath();
load();
