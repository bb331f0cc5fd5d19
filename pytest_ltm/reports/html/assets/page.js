"use strict";
// Texts reach the page as text nodes only: nothing here turns a text into markup.
const INDEX = JSON.parse(document.getElementById("index").textContent);
const parcels = new Map();

function byId(id) {
  return document.getElementById(id);
}

function make(name, options, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(options || {})) {
    if (key === "class") element.className = value;
    else if (key === "click") element.addEventListener("click", value);
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

function button(text, click) {
  return make("button", { type: "button", click }, text);
}

// What a parcel holds, or null where there is none; it is unpacked once.
function unpacked(id) {
  if (!parcels.has(id)) parcels.set(id, unpack(byId("z-" + id)));
  return parcels.get(id);
}

// An example, as the parcel of its conversation holds it beside others.
async function opened(key, conversation) {
  const place = key - INDEX.conversations[conversation].first;
  return (await unpacked(`e${conversation}.${Math.floor(place / INDEX.together)}`) || {})[key] || null;
}

async function unpack(element) {
  if (!element) return null;
  const letters = atob(element.textContent.trim()), bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(plain).text());
}

function number(value) {
  return value.toLocaleString("en-US");
}

// What can be opened in a table is one tab stop: arrow keys, Home and End go from cell to cell, and past hidden rows.
const stops = new WeakMap();

function openers(table) {
  const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden && !row.classList.contains("detail"));
  return rows.map((row) => [...row.cells].map((cell) => cell.querySelector("a, button")));
}

function rove(event) {
  const lines = openers(event.currentTarget);
  const down = lines.findIndex((line) => line.includes(event.target)), right = down < 0 ? -1 : lines[down].indexOf(event.target);
  const ways = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -Infinity], End: [0, Infinity] };
  const way = ways[event.key];
  if (!way || down < 0) return;
  event.preventDefault();
  const line = way[0] ? lines.map((each) => each[right]) : lines[down];
  const here = way[0] ? down : right, by = way[0] + way[1];
  const further = by > 0 ? line.slice(here + 1) : line.slice(0, here).reverse();
  const found = further.filter(Boolean).at(Math.abs(by) > 1 ? -1 : 0);
  if (found) found.focus();
}

function stopAt(opener) {
  const table = opener.closest("table"), before = stops.get(table);
  if (before) before.tabIndex = -1;
  opener.tabIndex = 0;
  stops.set(table, opener);
}

// Leaves the table its stop if that can still be seen, else gives it the first one.
function settleStop(table) {
  const now = stops.get(table), row = now && now.isConnected && now.closest("tr");
  if (row && !row.hidden) return;
  for (const each of table.tBodies[0].rows) {
    const first = !each.hidden && !each.classList.contains("detail") && each.querySelector("a, button");
    if (first) return stopAt(first);
  }
}

function resetStop(table) {
  for (const each of table.tBodies[0].querySelectorAll("a, button")) each.tabIndex = -1;
  settleStop(table);
}

function oneStop(table) {
  resetStop(table);
  table.addEventListener("keydown", rove);
  table.addEventListener("focusin", (event) => {
    if (event.target.closest("tbody") && !event.target.closest(".detail")) stopAt(event.target);
  });
}
