// Offers the other versions of a page, where the site has several: their names stand above the folder of each.
(async () => {
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  if (!root.protocol.startsWith("http")) return;
  const answer = await fetch(new URL("../versions.json", root)).catch(() => null);
  if (!answer || !answer.ok) return;
  const here = root.pathname.split("/").at(-2), page = location.pathname.slice(root.pathname.length);
  const select = document.createElement("select"), label = document.createElement("label");
  for (const name of await answer.json()) select.add(new Option(name, name, name === here, name === here));
  select.addEventListener("change", async () => {
    const there = new URL(`../${select.value}/`, root), same = new URL(page, there);
    const found = await fetch(same, { method: "HEAD" }).catch(() => null);
    location.href = found && found.ok ? same : new URL("index.html", there);
  });
  label.className = "versions";
  label.append("Version ", select);
  document.querySelector(".sidebar-brand")?.after(label);
})();
