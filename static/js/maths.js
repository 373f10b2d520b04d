// KaTeX, fetched when the first formula comes.
let loading = null;

async function load() {
  const sheet = document.createElement("link");
  sheet.rel = "stylesheet";
  sheet.href = "/vendor/katex/katex.css";
  document.head.append(sheet);
  await import("../vendor/katex/katex.js"); // a script that sets a global
  return globalThis.katex;
}

/** Sets the formula into the element. `output`: htmlAndMathml, or mathml alone. */
export async function setMaths(element, formula, displayMode, output = "htmlAndMathml") {
  element.textContent = formula;
  loading ??= load();
  const katex = await loading;
  try {
    katex.render(formula, element, { displayMode, output, throwOnError: false, trust: false, maxExpand: 1000, maxSize: 50, strict: "ignore" });
  } catch {
    element.textContent = formula; // as it was written
  }
}
