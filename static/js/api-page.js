// The OpenAPI document, for people; its examples run as they stand here.
import { getJson } from "./api.js";
import { byId, copy, h } from "./dom.js";
import { keys } from "./shell.js";

const resolve = (document_, value) =>
  value?.$ref ? value.$ref.slice(2).split("/").reduce((at, key) => at[key], document_) : value;

/** "text", "whole number 1 to 1000", "one of inline, link" … */
function typeOf(schema) {
  if (!schema) return "";
  if (schema.enum) return `one of ${schema.enum.join(", ")}`;
  if (schema.oneOf) return schema.oneOf.map(typeOf).join(", or ");
  const words = { string: "text", integer: "whole number", number: "number", boolean: "true or false", array: "list", object: "object", null: "null" };
  const name = [schema.type].flat().map((type) => words[type] ?? type).join(" or ");
  const range = schema.minimum !== undefined && schema.maximum !== undefined ? ` ${schema.minimum} to ${schema.maximum}` : "";
  return `${name}${range}${schema.type === "array" && schema.items?.type ? ` of ${typeOf(schema.items)}` : ""}`;
}

function table(title, rows) {
  if (rows.length === 0) return null;
  return [
    h("h4", null, title),
    h(
      "table",
      null,
      h("caption", { class: "unseen" }, title),
      h("tbody", null, rows.map(([name, type, text]) => h("tr", null, h("th", { scope: "row" }, h("code", null, name)), h("td", { class: "quiet" }, type), h("td", null, text)))),
    ),
  ];
}

function parameters(document_, operation) {
  const list = (operation.parameters ?? []).map((parameter) => resolve(document_, parameter));
  return table("Parameters", list.map(({ name, schema, description, required }) => [`${name}${required ? "" : "?"}`, typeOf(schema), description]));
}

function bodies(document_, operation) {
  return Object.entries(operation.requestBody?.content ?? {}).map(([type, { schema }]) => {
    const whole = resolve(document_, schema);
    const required = whole?.required ?? [];
    const fields = Object.entries(whole?.properties ?? {});
    if (fields.length === 0) return [h("h4", null, `Body: ${type}`), h("p", null, whole?.description ?? "")];
    return table(
      `Body: ${type}`,
      fields.map(([name, field]) => [`${name}${required.includes(name) ? "" : "?"}`, typeOf(resolve(document_, field)), resolve(document_, field).description]),
    );
  });
}

function answers(document_, operation) {
  return table(
    "Answers",
    Object.entries(operation.responses).map(([status, response]) => {
      const whole = resolve(document_, response);
      return [status, Object.keys(whole.content ?? {}).join(", "), whole.description];
    }),
  );
}

function example(operation) {
  return (operation["x-codeSamples"] ?? []).map(({ source }) => {
    const text = source.replaceAll("http://localhost:8080", location.origin);
    const button = h("button", { type: "button", class: "plain" }, "Copy");
    button.addEventListener("click", () => copy(text, button));
    return [h("div", { class: "row between" }, h("h4", null, "Try it"), button), h("pre", { class: "panel", tabindex: "0", "aria-label": "Example" }, text)];
  });
}

function section(document_, path, method, operation) {
  return h(
    "details",
    { class: "operation", id: operation.operationId },
    h("summary", null, h("span", { class: `method ${method}` }, method.toUpperCase()), h("span", { class: "where" }, path), h("span", { class: "quiet" }, operation.summary)),
    h("div", null, [
      operation.description && h("p", null, operation.description),
      example(operation),
      parameters(document_, operation),
      bodies(document_, operation),
      answers(document_, operation),
    ].flat(3).filter(Boolean)),
  );
}

function show(document_) {
  byId("about").textContent = document_.info.description;
  const groups = document_.tags.map((tag) => {
    const operations = Object.entries(document_.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, operation]) => operation.tags?.[0] === tag.name)
        .map(([method, operation]) => section(document_, path, method, operation)),
    );
    return h("section", { "aria-label": tag.name }, h("h2", null, tag.name), tag.description && h("p", { class: "quiet" }, tag.description), operations);
  });
  byId("operations").replaceChildren(...groups);
}

function filter() {
  const word = byId("filter").value.trim().toLowerCase();
  const all = [...document.querySelectorAll(".operation")];
  for (const operation of all) operation.hidden = !operation.textContent.toLowerCase().includes(word);
  for (const group of document.querySelectorAll("#operations > section"))
    group.hidden = group.querySelectorAll(".operation:not([hidden])").length === 0;
  byId("count").textContent = `${all.filter((operation) => !operation.hidden).length} requests`;
}

function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.matches(".operation")) return;
  byId("filter").value = "";
  filter();
  target.open = true;
  target.scrollIntoView();
}

byId("filter").addEventListener("input", filter);
addEventListener("hashchange", openTarget);
keys({ "/": ["find a request", () => byId("filter").focus()] });
try {
  show(await getJson("/openapi.json"));
  filter();
  openTarget();
} catch (error) {
  byId("message").hidden = false;
  byId("message").textContent = `The document cannot be read: ${error.message}.`;
}
