// Follows the live feed, of one task or of all. A connection that ends is made
// anew with the last id that was seen, so that nothing is lost or comes twice.
// onAbsence tells that there is none for now: time to ask oneself.
const AGAIN = 1000; // ms

const KINDS = ["run.queued", "run.started", "run.output", "run.finished", "run.late", "kernel.started", "kernel.output",
  "kernel.ended", "task.created", "task.deleted", "cell.added", "notebook.set_aside"];

/** watch: { onState(state), onEvent(event), onAbsence() }. */
export function follow(address, watch) {
  let last = null; // id of the last event
  let source = null;
  let failures = 0;

  const parse = (message) => {
    failures = 0;
    if (message.lastEventId) last = message.lastEventId;
    return JSON.parse(message.data);
  };

  const open = () => {
    if (document.visibilityState === "hidden" && failures > 0) return void setTimeout(open, AGAIN);
    source = new EventSource(last === null ? address : `${address}?last_event_id=${last}`);
    source.addEventListener("state", (message) => watch.onState(parse(message)));
    source.addEventListener("gap", (message) => {
      if (JSON.parse(message.data).reason === "unknown") last = null; // a state follows
    });
    for (const kind of KINDS) source.addEventListener(kind, (message) => watch.onEvent(parse(message)));
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) return; // it connects again by itself
      failures++;
      watch.onAbsence();
      setTimeout(open, AGAIN * Math.min(failures, 5));
    });
  };

  open();
  addEventListener("pagehide", () => source?.close());
}
