// The outputs of a cell while it runs, from the kernel's messages.
import { ansiReader } from "./ansi.js";
import { h } from "./dom.js";
import { joined, outputElement } from "./output.js";
import { Terminal } from "./terminal.js";

const SHOWN = 200; // lines of a stream

const KINDS = { display_data: "display_data", execute_result: "execute_result", error: "error" };

export class Growing {
  #entries = []; // { output, element, terminal, displayId, isStale }
  #clearsAtNext = false;
  #isWaiting = false;

  /** place: the element that is filled; context: as for outputElement. */
  constructor(place, context) {
    this.place = place;
    this.context = context;
    /** True once something of another cell was to be changed. */
    this.touchesOthers = false;
  }

  /** nbformat outputs in place of what there is. */
  reset(outputs) {
    this.#clear();
    for (const output of outputs ?? []) this.#add(output);
    this.#draw();
  }

  apply(messages) {
    for (const { type, content } of messages) this.#take(type, content);
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    requestAnimationFrame(() => {
      this.#isWaiting = false;
      this.#draw();
    });
  }

  #take(type, content) {
    if (type === "clear_output") {
      if (content.wait) this.#clearsAtNext = true;
      else this.#clear();
      return;
    }
    if (type === "update_display_data") return this.#update(content);
    if (this.#clearsAtNext) this.#clear();
    if (type === "stream") this.#stream(content);
    else if (KINDS[type]) this.#add({ output_type: KINDS[type], ...content });
  }

  #clear() {
    this.#clearsAtNext = false;
    for (const entry of this.#entries) entry.element?.remove();
    this.#entries = [];
  }

  #stream({ name, text }) {
    const last = this.#entries.at(-1);
    if (last?.terminal && last.output.name === name) last.terminal.write(text);
    else this.#add({ output_type: "stream", name, text });
    this.#entries.at(-1).isStale = true;
  }

  #add(output) {
    const entry = { output, isStale: true, displayId: output.transient?.display_id };
    if (output.output_type === "stream") {
      entry.terminal = new Terminal();
      entry.terminal.write(joined(output.text));
    }
    this.#entries.push(entry);
  }

  #update({ data, metadata, transient }) {
    const meant = this.#entries.filter((entry) => entry.displayId && entry.displayId === transient?.display_id);
    if (meant.length === 0) this.touchesOthers = true;
    for (const entry of meant) {
      entry.output = { ...entry.output, data, metadata };
      entry.isStale = true;
    }
  }

  #draw() {
    for (const entry of this.#entries) {
      if (!entry.isStale) continue;
      entry.isStale = false;
      const element = entry.terminal ? drawStream(entry) : outputElement(entry.output, this.context);
      if (!element) continue;
      if (entry.element) entry.element.replaceWith(element);
      else this.place.append(element);
      entry.element = element;
    }
    this.place.hidden = this.place.children.length === 0;
  }
}

function drawStream({ terminal, output }) {
  const from = Math.max(terminal.lines.length - SHOWN, 0);
  const before = terminal.dropped + from;
  const nodes = ansiReader()(terminal.lines.slice(from).join("\n"));
  const note = before > 0 && h("span", { class: "quiet" }, `… ${before.toLocaleString("en")} lines before\n`);
  return h("pre", { class: `text ${output.name}` }, note, nodes);
}
