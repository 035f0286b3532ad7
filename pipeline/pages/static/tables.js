// What a table does beyond its rows: it sorts and filters what is on the page, says how many rows
// that is, and is copied. Where a page has only a part of the rows, it sorts nothing and says so.
import { copy, say } from "./state.js";

const FEW = 8; // of fewer rows one sees all: no filter
const NONE = "–";
const CARDS = 8; // a narrow window shows so many rows at first, as the style says
const isNarrow = matchMedia("(max-width: 600px)");

// What a cell is sorted by: its exact number, in a column of numbers the one that is written, or its
// text. An id such as 1234e567 is no number.
function value(cell, isNumber) {
  const text = cell.textContent.trim();
  if (text === "" || text.startsWith(NONE)) return null;
  const exact = cell.querySelector("data[value]")?.value ?? (isNumber ? text.replaceAll(",", "") : "");
  const number = exact === "" ? NaN : Number(exact.replace("−", "-"));
  return Number.isNaN(number) ? text : number;
}

function compared(one, other, sign) {
  if (one === null || other === null) return (one === null) - (other === null);
  const isNumber = typeof one === "number" && typeof other === "number";
  const order = isNumber ? one - other : String(one).localeCompare(String(other), undefined, { numeric: true });
  return sign * order;
}

function sortable(table, rows) {
  const heads = [...table.tHead.rows[0].cells];
  if (rows.some((row) => row.cells.length !== heads.length)) return;
  for (const [column, head] of heads.entries()) {
    if (head.querySelector("a, button") || !head.textContent.trim()) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, rows, heads, column));
  }
}

// Down first for numbers and up for texts, then the other way, then as the page has it.
function sort(table, rows, heads, column) {
  const head = heads[column];
  const isOfNumbers = head.classList.contains("n");
  const values = new Map(rows.map((row) => [row, value(row.cells[column], isOfNumbers)]));
  const isNumber = rows.some((row) => typeof values.get(row) === "number");
  const orders = isNumber ? ["descending", "ascending", null] : ["ascending", "descending", null];
  const order = orders[(orders.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
  for (const one of heads) if (!one.querySelector("a")) one.removeAttribute("aria-sort");
  if (order) head.setAttribute("aria-sort", order);
  const sign = order === "descending" ? -1 : 1;
  const sorted = order ? rows.toSorted((a, b) => compared(values.get(a), values.get(b), sign)) : rows;
  table.tBodies[0].append(...sorted);
  say(order ? `Sorted by ${head.textContent.trim()}, ${order}.` : "Sorted as before.");
}

function filter(rows, place, whole) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  input.type = "search";
  input.autocomplete = "off";
  input.placeholder = whole ? "Filter rows" : "Filter this page only";
  input.ariaLabel = input.placeholder;
  label.append(input);
  let texts = null;
  input.addEventListener("input", () => {
    texts ??= rows.map((row) => row.textContent.toLowerCase());
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const [at, row] of rows.entries()) {
      row.hidden = !words.every((word) => texts[at].includes(word));
      n += !row.hidden;
    }
    place.textContent = words.length ? `${n.toLocaleString("en")} of ${counted(rows, whole)}` : counted(rows, whole);
  });
  return label;
}

function counted(rows, whole) {
  const n = `${rows.length.toLocaleString("en")} row${rows.length === 1 ? "" : "s"}`;
  return whole ? n : `${n} on this page`;
}

// The table's other forms, by the page's: they have all rows, whatever is filtered here.
function copies(frame) {
  const links = [...document.querySelectorAll(".bottom a[data-form]")];
  const menu = document.createElement("details");
  menu.className = "copies";
  const summary = document.createElement("summary");
  summary.textContent = "Copy";
  menu.append(summary);
  for (const link of links.filter((one) => one.dataset.form !== "JSON")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = link.dataset.form;
    button.addEventListener("click", async () => {
      const address = new URL(link.href);
      if (frame !== "rows") address.searchParams.set("frame", frame);
      const answer = await fetch(address);
      const text = await answer.text();
      if (answer.ok) copy(text, button);
      else say(text);
    });
    menu.append(button);
  }
  return menu;
}

// Values say their interval and what they count also in words, and no column is left out.
function details(table) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Details";
  button.ariaPressed = "false";
  button.title = "All columns, and intervals in numbers";
  button.addEventListener("click", () => {
    button.ariaPressed = String(table.classList.toggle("details"));
  });
  return button;
}

function dress(table) {
  const rows = [...(table.tBodies[0]?.rows ?? [])];
  if (table.matches(".transcript, .players, .dressed") || !table.tHead || !rows.length) return;
  table.classList.add("dressed");
  const region = table.closest(".scroll") ?? table;
  const whole = !region.nextElementSibling?.matches(".more, .pager:has(a)");
  if (whole && rows.length > 1) sortable(table, rows);
  const tools = document.createElement("div");
  tools.className = "tools";
  const place = document.createElement("span");
  place.className = "place";
  place.role = "status";
  place.textContent = counted(rows, whole);
  if (rows.length >= FEW) tools.append(filter(rows, place, whole));
  tools.append(place);
  if (table.querySelector("td .cell .vh")) tools.append(details(table));
  if (table.dataset.frame) tools.append(copies(table.dataset.frame));
  region.before(tools);
  if (table.matches(".cards") && isNarrow.matches && rows.length > CARDS) few(table, region, tools, rows.length);
}

// The other rows are shown when they are asked for, or filtered.
function few(table, region, tools, n) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = `Show all ${n.toLocaleString("en")} rows`;
  const show = () => {
    table.classList.remove("few");
    button.remove();
  };
  button.addEventListener("click", show);
  tools.addEventListener("input", show, { once: true });
  table.classList.add("few");
  region.after(button);
}

function begin() {
  document.querySelectorAll("main table").forEach(dress);
  if (isNarrow.matches) for (const one of document.querySelectorAll("main details.fold")) one.open = false;
}

document.addEventListener("htmx:finally:swap", begin);
begin();
