// One run: what it was asked, what it gave, what it used.
import { filesAddress, getJson, pageAddress } from "./api.js";
import { highlighted } from "./code.js";
import { byId, copy, h } from "./dom.js";
import { bytes, duration, statusElement } from "./format.js";
import { outputElements } from "./output.js";

const exact = (text) => text && h("time", { datetime: text }, new Date(text).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" }));

function facts(request, answer) {
  const { usage, kernel } = answer;
  const cell = answer.cell && h("a", { href: `${pageAddress("notebook", { task: answer.task })}#cell-${encodeURIComponent(answer.cell)}` }, "in the notebook");
  const list = {
    Status: statusElement(answer.status),
    Task: h("a", { href: pageAddress("notebook", { task: answer.task }) }, `${answer.task}, run ${request.number}`),
    Cell: cell,
    Accepted: exact(request.queued),
    Started: exact(request.started),
    Ended: exact(request.ended),
    Waited: duration(usage.queue_ms),
    Ran: duration(usage.wall_ms),
    "Processor time": duration(usage.cpu_ms),
    "Most memory": bytes(usage.memory_peak_bytes),
    "Put out": bytes(usage.output_bytes),
    Kernel: kernel?.generation && `generation ${kernel.generation}, variables ${kernel.state}${kernel.reason ? `: ${kernel.reason}` : ""}`,
    "Ended by": answer.ended_by,
    "Stop asked": exact(request.stop_asked),
    Section: request.section,
    Tags: request.tags.join(", "),
    Caller: request.caller,
    Address: request.address,
    Limit: request.timeout && duration(request.timeout * 1000),
    Notes: answer.notes?.join(" "),
    "Left out": answer.truncated && JSON.stringify(answer.truncated),
    Run: h("code", null, answer.run),
  };
  const shown = Object.entries(list).filter(([, value]) => value);
  return h("dl", { class: "facts" }, shown.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
}

function links(title, items) {
  return items.length > 0 && [h("h3", null, title), h("ul", { class: "plain-list" }, items.map((item) => h("li", null, item)))];
}

const fileLink = (task) => (file) =>
  file.uri
    ? h("span", null, h("a", { href: filesAddress(task, file.path) }, file.path), h("span", { class: "quiet" }, ` ${file.change}, ${file.mime}, ${bytes(file.bytes)}`))
    : h("span", null, `${file.path} ${file.change}`);

const imageLink = (image) => h("a", { href: image.uri }, `${image.mime}, ${image.width ?? "?"} × ${image.height ?? "?"}, ${bytes(image.bytes)}`);

function hint(error) {
  return error?.hint && h("p", { class: "notice" }, error.hint);
}

function body(request, answer) {
  const context = { task: answer.task, libraries: () => [] };
  const button = h("button", { type: "button", class: "plain" }, "Copy");
  button.addEventListener("click", () => copy(request.code, button));
  return [
    h("div", { class: "row between" }, h("h3", null, "Code"), button),
    h("pre", { class: "source panel", tabindex: "0", "aria-label": "Code" }, h("code", null, highlighted(request.code, "python"))),
    hint(answer.error),
    h("h3", null, "Output"),
    answer.outputs.length > 0
      ? h("div", { class: "outputs panel" }, outputElements(answer.outputs, context))
      : h("p", { class: "quiet" }, "none"),
    links("Artifacts", answer.images.filter((image) => image.uri).map(imageLink)),
    links("Files", answer.files.map(fileLink(answer.task))),
    h("h3", null, "Facts"),
    facts(request, answer),
  ];
}

/** Opens the dialog; `closed` is called when it is closed by the reader. */
export async function showRun(run, closed) {
  const dialog = byId("run-dialog");
  dialog.onclose = closed;
  if (!dialog.open) dialog.showModal();
  byId("run-body").replaceChildren(h("p", { class: "quiet" }, "…"));
  try {
    const [request, answer] = await Promise.all([getJson(`/v1/runs/${encodeURIComponent(run)}/request`), getJson(`/v1/runs/${encodeURIComponent(run)}`)]);
    byId("run-title").textContent = `Run ${request.number} of ${answer.task}`;
    byId("run-body").replaceChildren(...body(request, answer).flat().filter(Boolean));
    byId("run-body").scrollTop = 0;
  } catch (error) {
    byId("run-body").replaceChildren(h("p", { class: "notice bad" }, error.message));
  }
}
