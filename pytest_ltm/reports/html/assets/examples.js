// Folding, sorting and filtering of tables.
function openRow(row) {
  return row.nextElementSibling && row.nextElementSibling.classList.contains("detail") ? row.nextElementSibling : null;
}

async function unfold(row) {
  if (openRow(row)) return;
  const cell = make("td", { colspan: String(row.cells.length) });
  row.after(make("tr", { class: "detail" }, cell));
  row.querySelector("button").setAttribute("aria-expanded", "true");
  try {
    cell.append(make("p", { class: "link" }, copyLink({ ex: row.dataset.i })), await detail(row));
  } catch (error) {
    cell.append(make("p", { class: "note" }, "This browser cannot unpack the transcript: " + error.message));
  }
}

function fold(row) {
  const open = openRow(row);
  if (open) open.remove();
  row.querySelector("button").setAttribute("aria-expanded", "false");
}

function toggle(row) {
  return openRow(row) ? fold(row) : unfold(row);
}

function sortKey(cell) {
  if (!cell) return "";
  const said = cell.dataset.n;
  if (said === undefined) return cell.textContent.trim().toLowerCase();
  return said !== "" && isFinite(said) ? Number(said) : said;
}

function compared(one, other) {
  if (one === "" || other === "") return one === other ? 0 : one === "" ? Infinity : -Infinity;
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), "en", { numeric: true });
}

function sortBy(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  const direction = heads[column].getAttribute("aria-sort") === "ascending" ? -1 : 1;
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
  const body = table.tBodies[0];
  const rows = [...body.rows].filter((row) => !row.classList.contains("detail"));
  const keyed = rows.map((row) => ({ row, open: openRow(row), key: sortKey(row.cells[column]) }));
  keyed.sort((one, other) => {
    const found = compared(one.key, other.key);
    return Math.abs(found) === Infinity ? Math.sign(found) : direction * found;  // what is missing stays below
  });
  body.append(...keyed.flatMap(({ row, open }) => (open ? [row, open] : [row])));
  if (table.id === "rows") filterRows();
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const text = button(head.textContent, () => sortBy(table, column));
    head.replaceChildren(text);
    head.addEventListener("click", (event) => { if (event.target === head) sortBy(table, column); });
  });
}

// Shows the rows that fit, at first no more than a reader scrolls through.
let most = INDEX.first_rows;

function fits(row, wanted, series, outcome) {
  if ((series && row.dataset.c !== series) || (outcome && row.dataset.o !== outcome)) return false;
  const text = wanted.length ? row.textContent.toLowerCase() : "";
  return wanted.every((word) => text.includes(word));
}

function filterRows() {
  const wanted = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const series = byId("by-series").value;
  const outcome = byId("by-outcome").value;
  const rows = exampleRows();
  let found = 0;
  for (const row of rows) {
    const fit = fits(row, wanted, series, outcome);
    found += fit;
    show(row, fit && found <= most);
  }
  const shown = Math.min(found, most);
  byId("count").textContent = counted(shown, found, rows.length);
  byId("more").hidden = shown === found;
  settleStop(byId("rows"));
}

function counted(shown, found, all) {
  const first = shown === found ? "" : `, showing the first ${number(shown)}`;
  return (found === all ? `${number(all)} examples` : `${number(found)} of ${number(all)} examples`) + first;
}

function show(row, shown) {
  if (row.hidden === !shown) return;
  row.hidden = !shown;
  const open = openRow(row);
  if (open) open.hidden = !shown;
}

function exampleRows() {
  return [...byId("rows").tBodies[0].rows].filter((row) => !row.classList.contains("detail"));
}

function startExamples() {
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  for (const id of ["search", "by-series", "by-outcome"]) byId(id).addEventListener("input", filterRows);
  byId("rows").tBodies[0].addEventListener("click", (event) => {
    const opener = event.target.closest("th button");
    if (!opener) return;
    const row = opener.closest("tr");
    toggle(row);
    remember({ ex: openRow(row) ? row.dataset.i : "", say: "" });
  });
  oneStop(byId("rows"));
  byId("more").addEventListener("click", () => { most = Infinity; filterRows(); });
}
