// One conversation or trial: keys, folding, the rest of long texts. Everything here only moves, folds or fetches what
// the page already says; without it the page is whole.
(() => {
  "use strict";
  const rows = [...document.querySelectorAll(".row")];
  const select = document.getElementById("failures-of");
  const isOpen = (row) => row.open;

  /** The row in which the person is: the last one that begins above a third of the window. */
  let current = -1;
  const here = () => {
    if (current >= 0) {
      const { top, bottom } = rows[current].getBoundingClientRect();
      if (bottom > 0 && top < window.innerHeight) return current;
    }
    const line = window.innerHeight / 3;
    let at = -1;
    rows.forEach((row, place) => {
      if (row.getBoundingClientRect().top < line) at = place;
    });
    return at;
  };

  const go = (place) => {
    const row = rows[place];
    if (!row) return false;
    rows[current]?.removeAttribute("data-chosen");
    current = place;
    row.setAttribute("data-chosen", "");
    row.open = true;
    row.scrollIntoView({ block: row.offsetHeight > window.innerHeight * 0.8 ? "start" : "center" });
    row.querySelector("summary").focus({ preventScroll: true });
    if (row.dataset.decision) turngap.remember({ decision: row.dataset.decision });
    turngap.say(row.querySelector("summary").innerText);
    return true;
  };

  const fails = (row) => {
    const of = row.dataset.failing;
    return select?.value ? of.split(" ").includes(select.value) : of !== "";
  };
  const failure = (step) => {
    let place = here();
    for (let tries = 0; tries < rows.length; tries += 1) {
      place += step;
      if (place < 0 || place >= rows.length) break;
      if (fails(rows[place])) return go(place);
    }
    turngap.say(step > 0 ? "no further failure" : "no earlier failure");
    return false;
  };

  const foldButton = document.getElementById("fold-all");
  const fold = () => {
    const folding = rows.some(isOpen);
    for (const row of rows) row.open = !folding;
    foldButton.setAttribute("aria-pressed", String(folding));
    if (current >= 0) rows[current].scrollIntoView({ block: "center" });
  };
  const resultsButton = document.getElementById("show-results");
  const results = () => {
    const shown = resultsButton.getAttribute("aria-pressed") !== "true";
    for (const one of document.querySelectorAll("details.result")) one.open = shown;
    resultsButton.setAttribute("aria-pressed", String(shown));
  };
  const follow = (query) => () => document.querySelector(query)?.click();

  document.getElementById("next-failure").addEventListener("click", () => failure(1));
  foldButton.addEventListener("click", fold);
  resultsButton.addEventListener("click", results);
  turngap.keys({
    n: ["next failure", () => failure(1)],
    p: ["previous failure", () => failure(-1)],
    j: ["next decision", () => go(here() + 1)],
    k: ["previous decision", () => go(Math.max(here() - 1, 0))],
    "]": ["next in the list", follow('a[rel="next"]')],
    "[": ["previous in the list", follow('a[rel="prev"]')],
    u: ["back to the list", follow('a[rel="up"]')],
    f: ["fold or unfold all", fold],
    t: ["show or hide tool results", results],
    w: ["walk it", follow("#to-walk")],
  });

  // A link to a place opens what it lies in.
  const reveal = () => {
    const target = window.location.hash && document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    target?.scrollIntoView();
  };
  window.addEventListener("hashchange", reveal);

  // The rest of a long text takes its place where the first part stands.
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a.rest");
    if (!link || turngap.isCopy || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const paragraph = link.parentElement;
    const shown = paragraph.previousElementSibling;
    try {
      const answer = await fetch(link.href);
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      shown.textContent = await answer.text();
      shown.classList.add("long");
      shown.tabIndex = 0;
      paragraph.remove();
      turngap.say("all of the text is shown");
      shown.focus();
    } catch (error) {
      turngap.say(error.message);
      paragraph.append(` (${error.message})`);
    }
  });

  const query = new URLSearchParams(window.location.search);
  const wanted = query.getAll("protocol").at(-1);
  if (select && [...select.options].some((one) => one.value === wanted)) select.value = wanted;
  if (window.location.hash) reveal();
  else if (query.has("decision")) go(rows.findIndex((row) => row.dataset.decision === query.get("decision")));
})();
