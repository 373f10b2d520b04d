// Charts as SVG of our own: bars by the hour, and a line over them.
import { h } from "./dom.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
const WIDTH = 480;
const HEIGHT = 110;
const HOUR = 3600000;

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Every hour from `since` to `until`, those without runs too. */
export function everyHour(hours, since, until) {
  const known = new Map(hours.map((hour) => [Date.parse(hour.at), hour]));
  const all = [];
  for (let at = Math.floor(since / HOUR) * HOUR; at < until; at += HOUR)
    all.push({ runs: 0, failed: 0, median_ms: null, p95_ms: null, ...known.get(at), at });
  return all;
}

const hourName = (at) => new Date(at).toLocaleString([], { weekday: "short", hour: "2-digit", minute: "2-digit" });

/** series: [{ key, look }] drawn over each other; tell(hour) gives an hour's words. */
function bars(hours, series, most, tell) {
  const step = WIDTH / hours.length;
  const tall = (value) => (most > 0 ? Math.max((value / most) * HEIGHT, value > 0 ? 2 : 0) : 0);
  const groups = hours.map((hour, index) => {
    const rects = series.map(({ key, look }) =>
      svg("rect", {
        class: look,
        x: index * step + step * 0.1,
        width: step * 0.8,
        y: HEIGHT - tall(hour[key] ?? 0),
        height: tall(hour[key] ?? 0),
        rx: Math.min(2, step * 0.2),
      }),
    );
    const space = svg("rect", { class: "space", x: index * step, width: step, y: 0, height: HEIGHT });
    return svg("g", {}, svg("title", {}, `${hourName(hour.at)}: ${tell(hour)}`), space, ...rects);
  });
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...groups);
}

/** A figure with its summary in words, which is what a screen reader gets. */
export function chart({ title, summary, hours, series, tell, top }) {
  const most = Math.max(...hours.map((hour) => Math.max(...series.map(({ key }) => hour[key] ?? 0))), 0);
  return h(
    "figure",
    { class: "chart" },
    h("figcaption", null, h("strong", null, title), h("span", { class: "quiet" }, summary)),
    h("div", { class: "plot" }, h("span", { class: "top quiet" }, most > 0 ? top(most) : ""), bars(hours, series, most, tell)),
    h("p", { class: "axis quiet" }, h("span", null, hourName(hours[0].at)), h("span", null, "now")),
  );
}
