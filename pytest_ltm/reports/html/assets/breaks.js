// The tables of where it breaks: a cell opens its worst example.
const panel = { box: null, row: null };
const MOST_CHIPS = 60;

// The examples of a cell, those that went worst first.
function cellRows(row) {
  const score = (each) => scoreOf(each) ?? 2;
  return exampleRows().filter((each) => each.dataset.c === row.dataset.c && each.cells[0].textContent === row.cells[0].textContent).sort((one, other) => score(one) - score(other));
}

function chips(row) {
  const rows = cellRows(row);
  if (rows.length < 2) return [];
  const list = rows.slice(0, MOST_CHIPS).map((each) => {
    const chip = make("button", { type: "button", class: each.cells[4].firstElementChild.className, title: nameOf(each), click: () => openBeside(each) }, each.cells[4].textContent);
    if (each === row) chip.setAttribute("aria-current", "true");
    return chip;
  });
  const more = rows.length > MOST_CHIPS ? [` … of ${number(rows.length)}`] : [];
  return [make("p", { class: "chips" }, "its examples, worst first: ", ...list, ...more)];
}

function nameOf(row) {
  return `${row.cells[0].textContent}/${row.cells[1].textContent}`.replace(" trial", ", trial");
}

function chooser(row, other) {
  const select = make("select", {}, ...others(row).map((each) => make("option", { value: each.id }, INDEX.series[each.dataset.c])));
  select.value = other.id;
  select.addEventListener("input", () => openBeside(row, byId(select.value)));
  return make("label", {}, "beside ", select);
}

// The cell that an example is in; none where its scenario loses nothing.
function cellOf(row) {
  const alike = (link) => {
    const worst = byId(link.hash.slice(1));
    return worst.dataset.c === row.dataset.c && worst.cells[0].textContent === row.cells[0].textContent;
  };
  return [...document.querySelectorAll("#breaks td a")].find(alike) || null;
}

// Leads to the two conversations, one over the other, where both are in the file.
function onLine(row, other) {
  if (!other || !byId("z-c" + row.dataset.v) || !byId("z-c" + other.dataset.v)) return [];
  return [button("both on the time line", async () => {
    const { questions, talk } = await opened(Number(row.id.slice(1)), row.dataset.v);
    const last = questions.at(-1) || talk.at(-1);
    if (last) showMark(row.dataset.v, last.n, other.dataset.v);
  })];
}

// Shows an example beside another: below the table that its cell is in. `chosen`: the other, where somebody chose it,
// which the address then says, too.
async function openBeside(row, chosen = null) {
  const other = chosen || partner(row), cell = cellOf(row);
  const address = { beside: row.dataset.i, with: chosen ? INDEX.series[chosen.dataset.c] : "" };
  panel.row = row;
  const content = await sideBySide(other ? [row, other] : [row]);
  if (panel.row !== row) return;
  const title = make("h3", { tabindex: "-1" }, `${nameOf(row)}, ${INDEX.series[row.dataset.c]}`);
  const bar = make("div", { class: "controls" }, ...(other ? [chooser(row, other)] : []), make("a", { href: "#" + row.id }, "all of this example"), ...onLine(row, other), copyLink(address), button("close", () => closeBeside(cell)));
  const box = make("div", { class: "beside", role: "region", "aria-label": "An example beside the same of another agent" }, title, ...(cell ? [make("p", { class: "note" }, cell.closest("td").title)] : []), bar, ...chips(row), content);
  box.addEventListener("keydown", (event) => { if (event.key === "Escape") closeBeside(cell); });
  closeBeside(null);
  panel.box = box;
  if (cell) {
    const folded = cell.closest("details");
    if (folded) folded.open = true;
    stopAt(cell);
    cell.setAttribute("aria-current", "true");
    cell.closest("figure").after(box);
  } else document.querySelector("#breaks .many").append(box);
  remember({ ...address, ex: "" });
  title.focus({ preventScroll: true });
  box.scrollIntoView({ block: "nearest" });
}

function closeBeside(cell) {
  document.querySelectorAll("#breaks a[aria-current]").forEach((each) => each.removeAttribute("aria-current"));
  if (panel.box) panel.box.remove();
  panel.box = null;
  if (!cell) return;
  remember({ beside: "", with: "" });
  cell.focus();
}

// Opens what the address names.
function followBeside() {
  const said = address(), row = exampleNamed(said.get("beside"));
  if (row) openBeside(row, others(row).find((each) => INDEX.series[each.dataset.c] === said.get("with")) || null);
}

function startBreaks() {
  for (const table of document.querySelectorAll("#breaks .breaks table, #depth table")) {
    if (!table.querySelector("td a")) {
      table.parentElement.tabIndex = 0;  // it scrolls with keys
      continue;
    }
    table.setAttribute("role", "grid");
    oneStop(table);
  }
  byId("breaks").addEventListener("click", (event) => {
    const link = event.target.closest("td a");
    if (!link) return;
    event.preventDefault();
    openBeside(byId(link.hash.slice(1)));
  });
  addEventListener("hashchange", followBeside);
}
