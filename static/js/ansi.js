// Terminal text as elements: ansi_up reads the codes, the colours are ours.
import { AnsiUp } from "../vendor/ansi_up/ansi_up.js";

const PALETTE = /^ansi-(?:bright-)?(black|red|green|yellow|blue|magenta|cyan|white)$/;

class AnsiNodes extends AnsiUp {
  nodes = [];

  // Called by ansi_up for each piece of text of one look.
  transform_to_html(piece) {
    if (piece.text !== "") this.nodes.push(styled(piece));
    return "";
  }

  // A link's text only: where it leads was the code's choice.
  process_hyperlink(packet) {
    this.nodes.push(document.createTextNode(packet.text));
    return "";
  }
}

function styled({ text, fg, bg, bold, faint, italic, underline }) {
  if (!fg && !bg && !bold && !faint && !italic && !underline) return document.createTextNode(text);
  const span = document.createElement("span");
  const look = span.classList;
  const named = fg && PALETTE.exec(fg.class_name);
  if (named) look.add(`ansi-${named[1]}`);
  else if (fg) {
    look.add("ansi-chosen");
    span.style.setProperty("--chosen", `rgb(${fg.rgb.join(" ")})`);
  }
  if (bg) look.add("ansi-marked");
  for (const [name, on] of Object.entries({ bold, faint, italic, underline })) if (on) look.add(`ansi-${name}`);
  span.textContent = text;
  return span;
}

/** A reader that keeps its colours from one call to the next. */
export function ansiReader() {
  const reader = new AnsiNodes();
  return (text) => {
    reader.nodes = [];
    reader.ansi_to_html(text);
    return reader.nodes;
  };
}

// eslint-disable-next-line no-control-regex
export const withoutAnsi = (text) => text.replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g, "");
