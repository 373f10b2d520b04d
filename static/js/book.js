// The cells of one notebook: what they are, and where they stand in the page.
import { Problem } from "./api.js";
import { cellView } from "./cell.js";
import { librariesBefore } from "./output.js";
import { windowOf } from "./window.js";

const fingerprint = (cell) => JSON.stringify([cell.cell_type, cell.metadata, cell.execution_count, cell.outputs?.length, cell.source]);

export class Book {
  notebook = null;
  cells = [];
  #views = new Map();
  #window = windowOf();

  constructor(place, task) {
    this.place = place;
    this.task = task;
    this.context = { task, language: "python", libraries: (output) => librariesBefore(this.cells, output) };
  }

  view(id) {
    return this.#views.get(id);
  }

  viewOf(element) {
    return this.#views.get(element.id.slice("cell-".length));
  }

  get views() {
    return this.#views.values();
  }

  #add(cell, before = null) {
    const view = cellView(cell, this.context);
    this.#views.set(cell.id, view);
    this.place.insertBefore(view.element, before);
    this.#window.add(view);
    return view;
  }

  #remove(view) {
    this.#window.remove(view);
    view.element.remove();
    if (this.#views.get(view.cell.id) === view) this.#views.delete(view.cell.id);
  }

  /** Adds the cell at the end, or puts it in place of the one with its id. */
  put(cell) {
    const old = this.#views.get(cell.id);
    if (!old) {
      this.cells.push(cell);
      return this.#add(cell);
    }
    this.cells[this.cells.findIndex((other) => other.id === cell.id)] = cell;
    const view = this.#add(cell, old.element);
    const hadFocus = old.element.contains(document.activeElement);
    if (old.isFilled) view.fill();
    this.#remove(old);
    if (hadFocus) view.element.focus({ preventScroll: true });
    return view;
  }

  /** Takes the notebook as it is now; cells that did not change stay as they are. */
  take(notebook) {
    this.notebook = notebook;
    this.context.language = notebook.metadata?.language_info?.name ?? notebook.metadata?.kernelspec?.language ?? "python";
    const before = new Map(this.cells.map((cell) => [cell.id, fingerprint(cell)]));
    const cells = notebook.cells.map((cell, index) => ({ ...cell, id: cell.id ?? `number-${index}` }));
    for (const cell of cells) {
      if (before.get(cell.id) !== fingerprint(cell)) this.put(cell);
      before.delete(cell.id);
    }
    for (const id of before.keys()) this.#remove(this.#views.get(id));
    this.cells = cells;
  }

  /** Reads it from the web server. Tells whether there is one. */
  async load() {
    const response = await fetch(`/tasks/${encodeURIComponent(this.task)}/notebook.ipynb`, { cache: "no-store" });
    if (response.status === 404) return false;
    if (!response.ok) throw new Problem(response.status, `The notebook cannot be read: the answer was ${response.status}.`);
    this.take(await response.json());
    return true;
  }

  /** As nbformat wants it, with what came since it was read. */
  asNotebook() {
    return { ...(this.notebook ?? { metadata: {}, nbformat: 4, nbformat_minor: 5 }), cells: this.cells };
  }
}
