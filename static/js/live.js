// Keeps a notebook in step with its task while cells run: by the live feed, or,
// where there is none, by asking.
import { getJson, send, taskAddress } from "./api.js";
import { duration } from "./format.js";
import { follow } from "./feed.js";
import { Growing } from "./growing.js";

const ASK = 1000; // ms between two questions without a feed

const runAddress = (run) => `/v1/runs/${run}`;
const isOpen = (status) => status === "running" || status === "queued";

/** The cell of a run, from its request and its answer so far. */
function cellOf(request, answer, id) {
  const times = request.started && { "iopub.execute_input": request.started };
  if (times && request.ended) times["shell.execute_reply"] = request.ended;
  return {
    cell_type: "code",
    id,
    metadata: { cellpost: { run: answer.run, status: answer.status }, ...(times && { execution: times }) },
    execution_count: answer.execution_count ?? null,
    source: request.code,
    outputs: answer.outputs ?? [],
  };
}

export class Live {
  #open = new Map(); // run → { status, started, growing, cell }
  #isByFeed = false;
  #isFollowing = false;
  #unknown = 0; // questions that will not be asked: there is no such task
  #early = []; // events that came while the notebook was being read
  #isReading = false;

  /** page: { onChange(live), onCells(), onFault(text), onFinished(run) } */
  constructor(book, page) {
    this.book = book;
    this.page = page;
    this.task = null; // as GET /v1/tasks/{task} gives it
    this.isThere = true; // the application
  }

  get runs() {
    return [...this.#open.entries()].map(([run, { status, started }]) => ({ run, status, started }));
  }

  async start() {
    await this.#ask();
    setInterval(() => !this.#isByFeed && document.visibilityState === "visible" && this.#ask(), ASK);
    setInterval(() => this.#open.size > 0 && this.page.onChange(this), 200);
  }

  #follow() {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    follow(taskAddress(this.book.task, "/events"), {
      onState: (state) => this.#state(state),
      onEvent: (event) => {
        this.#isByFeed = true;
        this.#event(event);
      },
      onAbsence: () => (this.#isByFeed = false),
    });
  }

  // By the feed

  async #state({ task, runs }) {
    this.#isByFeed = true;
    this.isThere = true;
    this.task = task;
    this.#isReading = true;
    try {
      if (await this.#missesSome()) await this.book.load();
      for (const run of [...this.#open.keys()]) if (!runs.some((other) => other.run === run)) await this.#finish(run);
      for (const open of runs) this.#show(open.run, open.status, open.code, open);
    } catch (error) {
      this.page.onFault(error.message);
    }
    this.#isReading = false;
    for (const event of this.#early.splice(0)) this.#event(event);
    this.page.onCells();
    this.page.onChange(this);
  }

  /** True when runs have ended since the notebook was read. */
  async #missesSome() {
    if (!this.task || this.task.runs === 0) return false;
    const { runs } = await getJson(taskAddress(this.book.task, "/runs?limit=20"));
    const statusHere = (id) => this.book.view(id)?.cell.metadata?.cellpost?.status;
    return runs.some(({ run, status }) => !isOpen(status) && statusHere(run) !== status);
  }

  #event(event) {
    if (this.#isReading) return void this.#early.push(event);
    const { run, kind, content } = event;
    const act = {
      "run.queued": () => !content.silent && this.#begin(run, "queued"),
      "run.started": () => content.cell && this.#begin(run, "running", event.at),
      "run.output": () => this.#output(run, content),
      "run.finished": () => this.#finish(run),
      "run.late": () => this.#late(run, content),
      "kernel.started": () => this.#kernel({ id: content.kernel, state: "alive", ...content }),
      "kernel.ended": () => this.#kernel({ id: content.kernel, state: "dead", ...content }),
      "cell.added": () => this.#reload(),
      "notebook.set_aside": () => this.#reload(),
    }[kind];
    act?.();
    this.page.onChange(this);
  }

  #kernel(kernel) {
    if (this.task) this.task = { ...this.task, kernel: { ...this.task.kernel, ...kernel } };
  }

  async #reload() {
    try {
      await this.book.load();
      this.page.onCells();
    } catch (error) {
      this.page.onFault(error.message);
    }
  }

  /** A run was accepted or has begun; its code may still have to be asked for. */
  #begin(run, status, started = null) {
    const known = this.#open.get(run);
    if (known?.cell) return this.#show(run, status, known.cell.source, { started });
    if (known) return void Object.assign(known, { status, started: started && Date.parse(started) }); // its code is on the way
    this.#open.set(run, { status, started: started && Date.parse(started), pending: [] });
    getJson(`${runAddress(run)}/request`)
      .then((request) => this.#open.has(run) && this.#show(run, this.#open.get(run).status, request.code, { started: request.started ?? started }))
      .catch(() => this.#open.delete(run));
  }

  #show(run, status, code, { started = null, outputs, silent = false }) {
    if (silent) return;
    const known = this.#open.get(run) ?? {};
    const at = started ? Date.parse(started) : (known.started ?? null);
    if (known.cell && known.status === status && outputs === undefined) return;
    const cell = cellOf({ code, started }, { run, status, outputs: [] }, run);
    const view = this.book.put(cell);
    view.fill();
    const growing = new Growing(view.outputs, this.book.context);
    growing.reset(outputs ?? []);
    growing.apply(known.pending ?? []);
    this.#open.set(run, { status, started: at, cell, growing });
    this.page.onCells(view);
  }

  #output(run, { messages, left_out: leftOut }) {
    const known = this.#open.get(run);
    if (!known) return;
    if (leftOut) return void this.#catchUp(run);
    if (known.growing) known.growing.apply(messages);
    else known.pending?.push(...messages);
    this.page.onGrowth?.();
  }

  /** What was too large for the feed stands in the run's answer. */
  async #catchUp(run) {
    const answer = await getJson(runAddress(run)).catch(() => null);
    if (answer && isOpen(answer.status)) this.#open.get(run)?.growing?.reset(answer.outputs);
  }

  async #finish(run) {
    const known = this.#open.get(run);
    this.#open.delete(run);
    try {
      const [request, answer] = await Promise.all([getJson(`${runAddress(run)}/request`), getJson(runAddress(run))]);
      if (!request.silent && (answer.cell || this.book.view(run))) {
        const view = this.book.put(cellOf(request, answer, answer.cell ?? run));
        if (known) view.fill();
        this.page.onCells(view);
      }
      if (known?.growing?.touchesOthers) await this.#reload();
      this.page.onFinished(answer);
    } catch (error) {
      this.page.onFault(error.message);
    }
    this.page.onChange(this);
  }

  #late(run, { position, outputs }) {
    const cell = this.book.view(run)?.cell;
    if (!cell || this.#open.has(run)) return;
    this.book.put({ ...cell, outputs: [...cell.outputs.slice(0, position), ...outputs] });
  }

  // By asking

  async #ask() {
    if (this.#isByFeed || this.#unknown-- > 0) return;
    this.#unknown = 0;
    try {
      const before = this.task;
      this.task = await getJson(taskAddress(this.book.task));
      this.isThere = true;
      this.#follow();
      if (this.#isByFeed) return;
      if (before && before.runs !== this.task.runs && !isOpen(this.task.last_status)) await this.#reload();
      await this.#askRuns();
    } catch (error) {
      this.isThere = error.status === 404;
      if (error.status === 404) {
        this.task = null;
        this.#unknown = 10;
      }
    }
    this.page.onChange(this);
  }

  async #askRuns() {
    const open = isOpen(this.task.last_status) || this.task.queue > 0 ? await this.#openRuns() : [];
    for (const run of [...this.#open.keys()]) if (!open.includes(run)) await this.#finish(run);
    for (const run of open) {
      const [request, answer] = await Promise.all([getJson(`${runAddress(run)}/request`), getJson(runAddress(run))]);
      if (isOpen(answer.status) && !this.#isByFeed) this.#show(run, answer.status, request.code, { ...request, outputs: answer.outputs });
    }
  }

  async #openRuns() {
    const lists = await Promise.all(
      ["running", "queued"].map((status) => getJson(taskAddress(this.book.task, `/runs?status=${status}&limit=20`))),
    );
    return lists.flatMap(({ runs }) => runs.map(({ run }) => run).reverse());
  }

  // What a person does

  stop() {
    const [first] = this.runs.filter(({ status }) => status === "running").concat(this.runs);
    return first && send("DELETE", runAddress(first.run));
  }

  restart() {
    return send("POST", taskAddress(this.book.task, "/restart"));
  }

  run(code) {
    this.#unknown = 0;
    return send("POST", taskAddress(this.book.task, "/execute"), { code, wait: false });
  }

  /** [class, words] for what the kernel does. */
  look() {
    if (!this.isThere) return ["bad", "application stopped"];
    const running = this.runs.find(({ status }) => status === "running");
    const queued = this.runs.filter(({ status }) => status === "queued").length;
    const more = queued > 0 ? `, ${queued} queued` : "";
    if (running) return ["busy", `running ${duration(running.started ? Math.max(Date.now() - running.started, 1) : 0)}${more}`];
    if (queued > 0) return ["busy", `${queued} queued`];
    const kernel = this.task?.kernel;
    if (!kernel) return ["", "no kernel"];
    return kernel.state === "alive" ? ["alive", `idle, kernel ${kernel.generation}`] : ["bad", kernel.reason || "kernel ended"];
  }
}
