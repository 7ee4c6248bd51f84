// Keeps the overview up to date while something is at work, and sends its form as soon as something is chosen.
(() => {
  "use strict";
  if (turngap.isCopy) return;
  const INTERVAL = 2000;
  const runs = document.getElementById("runs");
  const form = document.getElementById("ask");
  const counted = (number) => number.toLocaleString("en");

  form?.addEventListener("change", () => {
    const fields = Object.fromEntries(new FormData(form));
    window.location.assign(turngap.address("/", fields));
  });

  /** Move the bars of a run; false where the page shows other parts than there are now. */
  const move = (row, work) => {
    const parts = [...row.querySelectorAll(".part")];
    if (parts.length !== work.length || parts.some((part, at) => part.dataset.part !== work[at].name)) return false;
    parts.forEach((part, at) => {
      const { done, errored, total } = work[at];
      const bar = part.querySelector("progress");
      if (total) {
        bar.max = total;
        bar.value = Math.min(done, total);
      }
      part.querySelector(".told").textContent =
        counted(done) + (total ? ` of ${counted(total)}` : "") + (errored ? `, ${counted(errored)} errored` : "");
    });
    return true;
  };

  /** Take the tables from the page as the server has it now. */
  const renew = async () => {
    const response = await fetch(window.location.href);
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const focused = runs.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    const scrolled = [...runs.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
    const fresh = page.getElementById("runs");
    runs.replaceChildren(...document.importNode(fresh, true).childNodes);
    runs.dataset.working = fresh.dataset.working;
    runs.querySelectorAll(".scroll").forEach((one, at) => (one.scrollLeft = scrolled[at] ?? 0));
    if (focused) runs.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  };

  const watch = async () => {
    if (runs.dataset.working && !document.hidden) {
      try {
        const found = await turngap.get(`/api/runs${window.location.search}`);
        const rows = new Map([...runs.querySelectorAll("tr[data-run]")].map((row) => [row.dataset.run, row]));
        const same = found.runs.every((run) => {
          const row = rows.get(run.id);
          return row && row.dataset.mark === run.mark && move(row, run.work);
        });
        if (!same || rows.size !== found.runs.length || !found.working) {
          await renew();
          turngap.say("The runs have changed.");
        }
      } catch (error) {
        turngap.say(error.message);
      }
    }
    window.setTimeout(watch, INTERVAL);
  };
  window.setTimeout(watch, INTERVAL);

  const links = () => [...runs.querySelectorAll("tbody th a")];
  const step = (by) => {
    const all = links();
    const at = all.indexOf(document.activeElement);
    all[Math.min(Math.max(at + by, 0), all.length - 1)]?.focus();
  };
  turngap.keys({ j: ["next run", () => step(1)], k: ["previous run", () => step(-1)] });
})();
