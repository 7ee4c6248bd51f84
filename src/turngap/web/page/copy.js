// The list of a static copy: its rows are all there, and are narrowed down by their words and results.
(() => {
  "use strict";
  const list = document.getElementById("units");
  if (!turngap.isCopy || !list) return;
  const rows = [...list.children].map((row) => ({ row, text: row.textContent.toLowerCase() }));
  const protocols = list.dataset.protocols.split(" ").filter(Boolean);

  const words = turngap.make("input", { type: "search", id: "copy-words", placeholder: "Search these rows", dir: "auto" });
  const result = turngap.make("select", { id: "copy-result" }, turngap.make("option", { value: "" }, "any result"));
  for (const [at, protocol] of protocols.entries()) {
    for (const name of ["failed", "passed"]) {
      result.append(turngap.make("option", { value: `${at} ${name}` }, `${protocol} ${name}`));
    }
  }
  const narrow = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const [at, name] = result.value.split(" ");
    let shown = 0;
    for (const { row, text } of rows) {
      const outcome = row.querySelectorAll(".outcome")[Number(at)];
      const fits = wanted.every((word) => text.includes(word)) && (!name || outcome?.classList.contains(name));
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    turngap.say(`${shown} of ${rows.length}`);
  };
  for (const one of [words, result]) one.addEventListener("input", narrow);
  const labelled = (title, one) => [turngap.make("label", { class: "unseen", for: one.id }, title), one];
  list.before(
    turngap.make("div", { class: "copy-search", role: "search" }, ...labelled("Search these rows", words), ...labelled("Result", result)),
  );
  turngap.keys({ "/": ["search these rows", () => words.select()] });
})();
