// What differs between two columns, row by row.
function keyOf(row) {
  return [row.cells[0].textContent, row.cells[1].dataset.n, row.dataset.t].join("\n");
}

function scoreOf(row) {
  const said = row ? row.cells[4].dataset.n : "";
  return said === "" ? null : Number(said);
}

function compare() {
  const one = byId("one").value, other = byId("other").value;
  const rows = exampleRows();
  const theirs = new Map(rows.filter((row) => row.dataset.c === other).map((row) => [keyOf(row), row]));
  const pairs = rows.filter((row) => row.dataset.c === one && theirs.has(keyOf(row))).map((row) => [row, theirs.get(keyOf(row))]);
  const differing = pairs.filter(([a, b]) => scoreOf(a) !== scoreOf(b));
  const shown = byId("differing").checked ? differing : pairs;
  shown.sort((first, second) => gain(second) - gain(first));
  byId("pairs").tBodies[0].replaceChildren(...shown.map(pairRow));
  resetStop(byId("pairs"));
  byId("verdict").textContent = told(one, other, pairs);
}

function gain([a, b]) {
  return scoreOf(a) === null || scoreOf(b) === null ? -1 : Math.abs(scoreOf(a) - scoreOf(b));  // no score: below the others
}

function told(one, other, pairs) {
  if (one === other) return "Choose two different columns.";
  if (!pairs.length) return "These two have no example in common.";
  const test = INDEX.tests[`${one}|${other}`] ?? INDEX.tests[`${other}|${one}`];
  const parts = [test ?? counts(one, pairs)];
  const texts = pairs.filter(([a, b]) => a.dataset.d !== b.dataset.d).length;
  if (texts) parts.push(`${texts} of the pairs were asked with different texts.`);
  return parts.join(" ");
}

function counts(one, pairs) {
  const scored = pairs.filter(([a, b]) => scoreOf(a) !== null && scoreOf(b) !== null);
  const better = scored.filter(([a, b]) => scoreOf(a) > scoreOf(b)).length;
  const worse = scored.filter(([a, b]) => scoreOf(a) < scoreOf(b)).length;
  return `${INDEX.series[one]} is better in ${better}, worse in ${worse}, equal in ${scored.length - better - worse} of ${scored.length} examples that both have a score for.`;
}

function pairRow([a, b]) {
  const opener = make("button", { type: "button", "aria-expanded": "false", click: () => unfoldPair(row, a, b) }, a.cells[0].textContent);
  const row = make("tr", {}, make("th", { scope: "row" }, opener), make("td", {}, a.cells[1].textContent));
  for (const each of [a, b]) row.append(make("td", { class: "n" }, make("a", { href: "#" + each.id, class: each.cells[4].firstElementChild.className }, each.cells[4].textContent)));
  for (const each of [a, b]) row.append(make("td", { class: "why" }, each.cells[5].textContent));
  return row;
}

// Both replies, below the pair; a second time folds them.
async function unfoldPair(row, a, b) {
  if (openRow(row)) return fold(row);
  const cell = make("td", { colspan: String(row.cells.length) });
  row.after(make("tr", { class: "detail" }, cell));
  row.querySelector("button").setAttribute("aria-expanded", "true");
  cell.append(await sideBySide([a, b]));
}

function startCompare() {
  oneStop(byId("pairs"));
  for (const id of ["one", "other", "differing"]) byId(id).addEventListener("input", compare);
}
