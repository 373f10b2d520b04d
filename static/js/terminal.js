// What a terminal would show of a stream that is still being written: a carriage
// return begins the line anew, so that progress bars move in place. Colours stay
// in the text. Only the last lines are kept; the ended cell has all of it.
const KEPT = 1000; // lines

// eslint-disable-next-line no-control-regex
const PIECE = /\r\n|\n|\r|\u0008|\u001b\[(\d*)([A-HJKfsu])|(?:\u001b\[[\d;]*m|[^\r\n\u0008\u001b]|\u001b(?!\[\d*[A-HJKfsu]))+/g;

export class Terminal {
  lines = [""];
  row = 0;
  isAtStart = false; // of the row: the next text replaces it
  dropped = 0;

  write(text) {
    for (const [piece, number, command] of text.matchAll(PIECE)) {
      if (piece === "\n" || piece === "\r\n") this.#nextLine();
      else if (piece === "\r") this.isAtStart = true;
      else if (piece === "\b") this.lines[this.row] = this.lines[this.row].slice(0, -1);
      else if (command) this.#move(command, Number(number || 1));
      else this.#put(piece);
    }
    if (this.lines.length > KEPT * 2) this.#forget(this.lines.length - KEPT);
  }

  #put(text) {
    this.lines[this.row] = this.isAtStart ? text : this.lines[this.row] + text;
    this.isAtStart = false;
  }

  #nextLine() {
    this.row++;
    this.isAtStart = this.row < this.lines.length;
    if (this.row === this.lines.length) this.lines.push("");
  }

  #move(command, by) {
    if (command === "A") this.row = Math.max(this.row - by, 0);
    else if (command === "B") this.row = Math.min(this.row + by, this.lines.length - 1);
    else if (command === "K") this.lines[this.row] = "";
  }

  #forget(count) {
    this.lines.splice(0, count);
    this.row = Math.max(this.row - count, 0);
    this.dropped += count;
  }

  text() {
    return this.lines.join("\n");
  }
}
