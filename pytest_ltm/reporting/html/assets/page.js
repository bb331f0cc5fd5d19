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
