// Where HTML and JavaScript of outputs run: a frame without this origin, whose
// own policy (nginx/pages.conf.in) lets it load nothing. It is told what to show
// and tells its height; nothing else it says is listened to.
import { h } from "./dom.js";

const TALLEST = 8000; // pixels; beyond, the frame scrolls

function look() {
  const style = getComputedStyle(document.body);
  const value = (name) => style.getPropertyValue(name).trim();
  return {
    scheme: matchesDark() ? "dark" : "light",
    text: style.color,
    line: value("--line"),
    accent: value("--accent"),
    sans: style.fontFamily,
    mono: value("--mono"),
  };
}

const matchesDark = () =>
  (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

/** parts: [{ kind: "html" | "javascript", text, isLibrary }], run in their order;
 * what a library shows is hidden. They stay readable as `parts` of the frame. */
export function sandbox(parts) {
  const frame = h("iframe", {
    class: "sandbox",
    src: "/frame.html",
    sandbox: "allow-scripts",
    title: "Output in a sandbox",
    referrerpolicy: "no-referrer",
  });
  frame.parts = parts;
  frame.addEventListener("load", () => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => {
      if (Number.isFinite(data?.height)) frame.style.height = `${Math.min(Math.max(data.height, 8), TALLEST)}px`;
    };
    frame.contentWindow.postMessage({ parts, look: look() }, "*", [port2]);
  });
  return frame;
}
