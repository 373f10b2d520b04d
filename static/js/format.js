// Numbers and times as people read them.
import { h } from "./dom.js";

export function bytes(count) {
  if (count === null || count === undefined) return "";
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  let value = count;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export function duration(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1) return "< 1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
  const minutes = Math.floor(ms / 60000);
  if (minutes < 60) return `${minutes} min ${Math.floor(ms / 1000) % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const STEPS = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 30],
  ["month", 12],
  ["year", Infinity],
];

function ago(date) {
  let value = (date - Date.now()) / 1000;
  if (Math.abs(value) < 5) return "now";
  for (const [unit, many] of STEPS) {
    if (Math.abs(value) < many) return relative.format(Math.round(value), unit);
    value /= many;
  }
  return "";
}

/** A <time> that tells how long ago; the exact time is its title. */
export function when(text) {
  if (!text) return null;
  const date = new Date(text);
  return h("time", { datetime: date.toISOString(), title: date.toLocaleString() }, ago(date));
}

/** Keeps what `when` wrote true while the page stays open. */
setInterval(() => {
  for (const time of document.querySelectorAll("time[datetime][title]")) {
    const text = ago(new Date(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}, 10000);

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** How a run's status is shown: [class, words]. */
export function statusLook(status) {
  if (status === "ok") return ["ok", "ok"];
  if (status === "running" || status === "queued") return ["busy", status];
  if (status === "cancelled") return ["", "cancelled"];
  return status ? ["bad", status.replaceAll("_", " ")] : ["", "never run"];
}

export function statusElement(status) {
  const [look, words] = statusLook(status);
  return h("span", { class: `state ${look}` }, words);
}
