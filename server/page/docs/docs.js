// The page of the routes: shows openapi.json, and sends requests. Text from elsewhere is set as text, never as markup. The key is kept in
// the page alone.
"use strict";

const root = new URL(".", location.href); // wherever the router is mounted
let key = "";

// Returns an element with properties and children; children that are texts become text nodes.
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// Returns what a reference names, and anything else as it is.
function resolve(api, value) {
  const place = value && value.$ref;
  if (typeof place !== "string" || !place.startsWith("#/")) return value || {};
  return place.slice(2).split("/").reduce((inside, name) => (inside || {})[name], api) || {};
}

function nameOf(schema) {
  return typeof schema.$ref === "string" ? schema.$ref.split("/").pop() : "";
}

// Returns the type of a schema in a few words.
function typeOf(api, schema) {
  if (!schema || Object.keys(schema).length === 0) return "any JSON";
  if (nameOf(schema)) return nameOf(schema);
  const several = schema.anyOf || schema.oneOf;
  if (several) return several.map((one) => typeOf(api, one)).join(" or ");
  if (schema.allOf) return schema.allOf.map((one) => typeOf(api, one)).join(" with ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(", ");
  const types = [].concat(schema.type || "any JSON");
  return types.map((type) => (type === "array" ? "list of " + typeOf(api, schema.items) : type)).join(" or ");
}

// Returns the fields of an object with all that it is made of.
function fieldsOf(api, schema) {
  const here = resolve(api, schema);
  const parts = (here.allOf || []).map((part) => fieldsOf(api, part));
  const needed = new Set(here.required || []);
  const own = Object.entries(here.properties || {}).map(([name, field]) => ({ name, field, needed: needed.has(name) }));
  return own.concat(...parts);
}

function descriptionOf(api, field) {
  return field.description || (resolve(api, field).description ?? "");
}

// Returns a table of the fields of a schema; none for a schema without fields.
function fieldTable(api, schema) {
  const item = schema && schema.type === "array" ? schema.items : schema;
  const shown = item && item.anyOf ? item.anyOf[0] : item;
  const rows = fieldsOf(api, shown || {}).map(({ name, field, needed }) =>
    make("tr", {}, make("td", {}, make("code", {}, name), needed ? " *" : ""),
      make("td", {}, typeOf(api, field)), make("td", {}, descriptionOf(api, field))));
  return rows.length === 0 ? null : make("table", {}, make("tbody", {}, ...rows));
}

// Returns a body to begin with: the fields that are needed, or all of them if none is.
function exampleOf(api, schema, depth = 0) {
  const here = resolve(api, schema);
  if (here.enum) return here.enum[0];
  const type = [].concat(here.type || [])[0];
  if (type === "array") return [exampleOf(api, here.items, depth + 1)];
  if (type === "string") return "";
  if (type === "integer" || type === "number") return 0;
  if (type === "boolean") return false;
  const fields = fieldsOf(api, here).filter(({ needed }) => needed);
  if (depth > 3) return {};
  return Object.fromEntries(fields.map(({ name, field }) => [name, exampleOf(api, field, depth + 1)]));
}

function jsonContent(part) {
  return ((part && part.content) || {})["application/json"];
}

function parameterInput(api, parameter) {
  const input = make("input", { placeholder: parameter.required ? "needed" : "", spellcheck: false });
  const row = make("tr", {}, make("td", {}, make("code", {}, parameter.name), parameter.required ? " *" : ""),
    make("td", {}, parameter.in + ", " + typeOf(api, parameter.schema)),
    make("td", {}, parameter.description || ""), make("td", {}, input));
  return { row, parameter, input };
}

// Returns the address and the settings of a request.
function requestOf(method, path, inputs, body) {
  const url = new URL(path.replace(/^\//, "").replace(/\{(\w+)\}/g, (_, name) => {
    const found = inputs.find(({ parameter }) => parameter.in === "path" && parameter.name === name);
    return encodeURIComponent(found ? found.input.value : "");
  }), root);
  const headers = {};
  for (const { parameter, input } of inputs.filter(({ input }) => input.value !== "")) {
    if (parameter.in === "query") url.searchParams.append(parameter.name, input.value);
    if (parameter.in === "header") headers[parameter.name] = input.value;
  }
  if (key) headers["x-api-key"] = key;
  if (body !== null) headers["content-type"] = "application/json";
  return [url, { method: method.toUpperCase(), headers, body: body === null ? undefined : body }];
}

function pretty(text, type) {
  if (!type.includes("json")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// Sends a request, and shows its answer as it comes.
async function send([url, settings], output, signal) {
  output.textContent = settings.method + " " + url.pathname + url.search + "\n";
  const answer = await fetch(url, { ...settings, signal });
  output.append(answer.status + " " + answer.statusText + "\n");
  for (const name of ["content-location", "location", "x-pagination-total", "x-pagination-next", "retry-after"]) {
    if (answer.headers.has(name)) output.append(name + ": " + answer.headers.get(name) + "\n");
  }
  const type = answer.headers.get("content-type") || "";
  if (!type.includes("event-stream")) {
    output.append("\n" + pretty(await answer.text(), type));
    return;
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) output.append(piece.value);
}

// Returns the part of an operation with which it is tried.
function trial(api, method, path, operation, inputs) {
  const content = jsonContent(operation.requestBody);
  const body = content && make("textarea", { rows: 8, spellcheck: false,
    value: JSON.stringify(exampleOf(api, content.schema), null, 2), ariaLabel: "body" });
  const output = make("pre", { hidden: true, ariaLive: "polite" });
  const start = make("button", { type: "button" }, "Send");
  const stop = make("button", { type: "button", hidden: true }, "Stop");
  start.addEventListener("click", async () => {
    const abort = new AbortController();
    stop.onclick = () => abort.abort();
    [output.hidden, stop.hidden, start.disabled] = [false, false, true];
    try {
      await send(requestOf(method, path, inputs, body ? body.value : null), output, abort.signal);
    } catch (error) {
      output.append("\n" + (abort.signal.aborted ? "stopped" : String(error)));
    }
    [stop.hidden, start.disabled] = [true, false];
  });
  return [body, make("p", {}, start, " ", stop), output];
}

function answerRow(api, status, part) {
  const answer = resolve(api, part);
  const kinds = Object.entries(answer.content || {});
  const shown = kinds.map(([kind, content]) => kind + ": " + typeOf(api, content.schema)).join(", ");
  return make("tr", {}, make("td", {}, make("code", {}, status)), make("td", {}, shown), make("td", {}, answer.description || ""));
}

function details(api, method, path, operation) {
  const inputs = (operation.parameters || []).map((parameter) => parameterInput(api, resolve(api, parameter)));
  const content = jsonContent(operation.requestBody);
  const answers = Object.entries(operation.responses || {});
  const first = answers.map(([, part]) => jsonContent(resolve(api, part))).find((found) => found);
  return [
    make("p", {}, operation.description || ""),
    inputs.length === 0 ? null : make("h4", {}, "Parameters"),
    inputs.length === 0 ? null : make("table", {}, make("tbody", {}, ...inputs.map(({ row }) => row))),
    content ? make("h4", {}, "Body: ", typeOf(api, content.schema)) : null,
    content ? fieldTable(api, content.schema) : null,
    make("h4", {}, "Answers"),
    make("table", {}, make("tbody", {}, ...answers.map(([status, part]) => answerRow(api, status, part)))),
    first ? fieldTable(api, first.schema) : null,
    make("h4", {}, "Try it"),
    ...trial(api, method, path, operation, inputs),
  ];
}

// Returns an operation, whose details are made when it is opened.
function operationElement(api, method, path, operation) {
  const summary = make("summary", {}, make("span", { className: "method " + method }, method.toUpperCase()), " ",
    make("code", {}, path), " ", make("span", { className: "about" }, operation.summary || ""));
  const element = make("details", { id: operation.operationId }, summary);
  element.addEventListener("toggle", () => element.append(...details(api, method, path, operation).filter((part) => part)), { once: true });
  return element;
}

function show(api) {
  const operations = Object.entries(api.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })));
  const section = (tag) => {
    const own = operations.filter(({ operation }) => (operation.tags || []).includes(tag.name));
    return make("section", {}, make("h2", { id: "tag-" + tag.name }, tag.name), make("p", {}, tag.description || ""),
      ...own.map(({ method, path, operation }) => operationElement(api, method, path, operation)));
  };
  document.getElementById("operations").replaceChildren(...api.tags.map(section));
  document.getElementById("version").textContent = api.info.title + " " + api.info.version;
}

async function load() {
  const main = document.getElementById("operations");
  try {
    const answer = await fetch(new URL("openapi.json", root), { headers: key ? { "x-api-key": key } : {} });
    if (!answer.ok) throw new Error(((await answer.json()) || {}).detail || answer.statusText);
    show(await answer.json());
  } catch (error) {
    main.replaceChildren(make("p", { className: "error" }, "The description cannot be read: " + error.message));
  }
}

document.getElementById("key").addEventListener("change", (event) => {
  key = event.target.value.trim();
  if (!document.querySelector("section")) load();
});
load();
