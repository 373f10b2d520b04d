// Elements made by hand, so that no text is ever taken for HTML.

/** h("a", { class: "x", href: "/", on: { click } }, "text", node, null, …) */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, listen] of Object.entries(value)) element.addEventListener(event, listen);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** The query parameter, or "". */
export const parameter = (name) => new URLSearchParams(location.search).get(name) ?? "";

/** Says something to everybody, screen readers too. */
export function say(text) {
  let place = byId("said");
  if (!place) {
    place = h("p", { id: "said", class: "unseen", role: "status" });
    document.body.append(place);
  }
  place.textContent = text;
}

export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text); // no secure context: plain HTTP on another machine
  }
  const before = button.textContent;
  button.textContent = "Copied";
  say("Copied");
  setTimeout(() => (button.textContent = before), 1500);
}

function copyBySelection(text) {
  const area = h("textarea", { class: "unseen", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** Offers bytes or text as a download. */
export function download(content, type, name) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/** Asks in a dialog; resolves to true or false. */
export function confirmed(question, action) {
  const dialog = h(
    "dialog",
    { "aria-label": question },
    h("p", null, question),
    h(
      "form",
      { method: "dialog" },
      h("div", { class: "row" }, h("button", { value: "no" }, "Cancel"), h("button", { value: "yes", class: "primary" }, action)),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    }),
  );
}
