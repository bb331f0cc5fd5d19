// Full-text search over what was said: each text once, with the places where it was said. Read when somebody searches.
const MOST_TEXTS = 50, MOST_PLACES = 8, BESIDE_WORDS = 90, AT_ONCE = 32;
const heard = { own: null, filler: null, turn: 0, all: false };

// Puts a text among those known, under who said it.
function hear(known, who, text, place) {
  if (!text) return;
  const id = who + text;
  if (!known.has(id)) known.set(id, { who, text, low: text.toLowerCase(), places: [] });
  known.get(id).places.push(place);
}

// Unpacks parcels without keeping them, several at once.
async function eachParcel(kind, take) {
  const all = [...document.querySelectorAll(`script[id^="z-${kind}"]`)];
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const some = all.slice(at, at + AT_ONCE);
    const data = await Promise.all(some.map(unpack));
    some.forEach((element, place) => take(data[place], parseInt(element.id.slice(3), 10)));
    byId("found").textContent = `reading ${number(Math.min(at + AT_ONCE, all.length))} of ${number(all.length)} …`;
  }
}

async function ownTexts() {
  const known = new Map();
  await eachParcel("e", (examples) => {
    for (const [key, data] of Object.entries(examples)) {
      const row = byId("e" + key);
      for (const talk of data.talk) {
        hear(known, "told", talk.m, { row, n: talk.n });
        hear(known, "replied", talk.r, { row, n: talk.n });
      }
      if (data.talk.length) continue;
      for (const question of data.questions) {
        for (const needle of question.needles) hear(known, "told", needle.text, { row, n: needle.n });
        hear(known, "told", question.q, { row, n: question.n });
        hear(known, "replied", question.a, { row, n: question.n });
      }
    }
  });
  return [...known.values()];
}

async function fillerTexts() {
  const known = new Map();
  await eachParcel("c", (line, conversation) => {
    for (const [n, [told, replied]] of Object.entries(line.texts)) {
      hear(known, "told", told, { conversation, n: Number(n) });
      hear(known, "replied", replied, { conversation, n: Number(n) });
    }
  });
  return [...known.values()];
}

// Words, and phrases in double quotes.
function wordsOf(text) {
  return [...text.toLowerCase().matchAll(/"([^"]+)"|[^\s"]+/g)].map((found) => found[1] || found[0]);
}

function seriesOf(place) {
  return place.row ? place.row.dataset.c : String(INDEX.conversations[place.conversation].series);
}

async function findTexts() {
  const turn = ++heard.turn;
  const words = wordsOf(byId("find").value);
  byId("hits").replaceChildren();
  byId("more-hits").hidden = true;
  byId("found").textContent = "";
  if (!words.length) return;
  heard.own = heard.own || ownTexts();
  if (byId("find-filler").checked) heard.filler = heard.filler || fillerTexts();
  const texts = [...await heard.own, ...(byId("find-filler").checked ? await heard.filler : [])];
  if (turn !== heard.turn) return;
  const who = byId("find-who").value, series = byId("find-in").value;
  const hits = texts.filter((each) => (!who || each.who === who) && words.every((word) => each.low.includes(word)))
    .map((each) => ({ ...each, places: series ? each.places.filter((place) => seriesOf(place) === series) : each.places }))
    .filter((each) => each.places.length);
  const places = hits.reduce((sum, each) => sum + each.places.length, 0);
  const shown = heard.all ? hits : hits.slice(0, MOST_TEXTS);
  byId("found").textContent = hits.length ? `${number(hits.length)} text${hits.length > 1 ? "s" : ""} in ${number(places)} place${places > 1 ? "s" : ""}` + (shown.length < hits.length ? `, showing the first ${MOST_TEXTS}` : "") : "nothing found";
  byId("more-hits").hidden = shown.length === hits.length;
  byId("hits").append(...shown.map((each) => hit(each, words)));
}

// The text around the first of the words, with all of them marked.
function excerpt(each, words) {
  if (each.low.length !== each.text.length) return [each.text.slice(0, 2 * BESIDE_WORDS)];
  const at = Math.min(...words.map((word) => each.low.indexOf(word)));
  const from = Math.max(at - BESIDE_WORDS, 0), to = Math.min(at + 2 * BESIDE_WORDS, each.text.length);
  const parts = from ? ["… "] : [];
  for (let here = from; here < to;) {
    const next = words.map((word) => [each.low.indexOf(word, here), word.length]).filter(([place]) => place >= 0 && place < to).sort(([one, long], [other, longer]) => one - other || longer - long)[0];
    if (!next) {
      parts.push(each.text.slice(here, to));
      break;
    }
    parts.push(each.text.slice(here, next[0]), make("mark", {}, each.text.slice(next[0], next[0] + next[1])));
    here = next[0] + next[1];
  }
  return to < each.text.length ? [...parts, " …"] : parts;
}

function placeLink(place) {
  if (!place.row) return make("a", { href: "#talks", click: (event) => { event.preventDefault(); showMark(place.conversation, place.n); } }, `${INDEX.conversations[place.conversation].label} #${place.n}`);
  const address = { ex: place.row.dataset.i, say: String(place.n) };
  const follow = (event) => {
    event.preventDefault();
    remember(address);
    followAddress();
  };
  return make("a", { href: "#" + new URLSearchParams(address), click: follow }, `${nameOf(place.row)}, ${INDEX.series[place.row.dataset.c]}`);
}

function hit(each, words) {
  const list = make("div", { class: "places" }, ...each.places.slice(0, MOST_PLACES).map(placeLink));
  if (each.places.length > MOST_PLACES) {
    const rest = button(`and ${number(each.places.length - MOST_PLACES)} more`, () => rest.replaceWith(...each.places.slice(MOST_PLACES).map(placeLink)));
    list.append(rest);
  }
  return make("li", { class: "talk" }, make("p", {}, make("span", { class: "who" }, each.who), ...excerpt(each, words)), list);
}

const SOUGHT = { find: "find", who: "find-who", within: "find-in", filler: "find-filler" };

function soughtValue(control) {
  if (control.type === "checkbox") return control.checked ? "yes" : "";
  return control.id === "find-in" && control.value ? INDEX.series[control.value] : control.value;
}

function startSearch() {
  const said = address();
  byId("find").value = said.get("find") || "";
  byId("find-who").value = said.get("who") || "";
  byId("find-in").value = INDEX.series.includes(said.get("within")) ? String(INDEX.series.indexOf(said.get("within"))) : "";
  byId("find-filler").checked = Boolean(said.get("filler"));
  let waiting = 0;
  for (const [name, id] of Object.entries(SOUGHT)) {
    byId(id).addEventListener("input", () => {
      remember({ [name]: soughtValue(byId(id)) });
      heard.all = false;
      clearTimeout(waiting);
      waiting = setTimeout(findTexts, 150);
    });
  }
  byId("more-hits").addEventListener("click", () => { heard.all = true; findTexts(); });
  findTexts();
}
