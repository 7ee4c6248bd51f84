// The explore page: sliders that compute as they move, and a gate that answers as it is chosen.
// The arithmetic is that of turngap.analysis.chain; a test holds its numbers against Python's.
const turngapExplore = (() => {
  "use strict";

  /** Mean over conversations of pText^nText * pTool^nTool; `lengths` are [nText, nTool, count]. Null without any. */
  const completion = (pText, pTool, lengths) => {
    let total = 0;
    let sum = 0;
    for (const [nText, nTool, count] of lengths) {
      total += count;
      sum += count * pText ** nText * pTool ** nTool;
    }
    return total ? sum / total : null;
  };

  /** What is left of chains of one length. */
  const left = (rate, length) => completion(rate, rate, [[0, length, 1]]);

  /** A share in percent with one decimal, halves away from zero as everywhere in turngap; a dash for null. */
  const percent = (share) => {
    if (share === null) return "–";
    return (Math.round(Number((1000 * share).toPrecision(12))) / 10).toFixed(1);
  };

  const section = document.getElementById("chain");
  const mixes = JSON.parse(section.dataset.mixes);
  const most = Number(section.dataset.most);
  const box = Number(section.dataset.box);
  const height = Number(section.dataset.height);
  const field = (id) => document.getElementById(id);
  const rate = field("rate");
  const length = field("length");
  const slides = { rate: field("rate-slide"), length: field("length-slide") };

  const fill = (name, text) => {
    for (const place of section.querySelectorAll(`[data-out="${name}"]`)) place.textContent = text;
  };

  const draw = (p, n, finished) => {
    const points = Array.from({ length: most + 1 }, (_, at) => `${(box * at) / most},${box * (1 - left(p, at))}`);
    field("asked").setAttribute("d", `M${points.join("L")}`);
    const x = `${(100 * Math.min(n, most)) / most}%`;
    const y = height * (1 - (n > most ? left(p, most) : finished));
    field("here").setAttribute("cx", x);
    field("here").setAttribute("cy", y);
    for (const end of ["x1", "x2"]) field("drop").setAttribute(end, x);
    field("drop").setAttribute("y1", y);
  };

  const compute = () => {
    const p = Number(rate.value) / 100;
    const n = Number(length.value);
    if (rate.value === "" || length.value === "" || !rate.checkValidity() || !length.checkValidity()) return;
    slides.rate.value = rate.value;
    slides.length.value = length.value;
    const finished = left(p, n);
    fill("rate", percent(p));
    fill("length", String(n));
    fill("finished", percent(finished));
    for (const place of section.querySelectorAll('[data-out="mix"]')) {
      place.textContent = percent(completion(p, p, mixes[Number(place.dataset.mix)]));
    }
    for (const row of section.querySelectorAll("#chain-table tbody tr")) {
      const at = Number(row.dataset.at);
      row.querySelector('[data-out="left"]').textContent = percent(left(p, at));
      row.classList.toggle("here", at === n);
    }
    draw(p, n, finished);
    turngap.remember({ rate: rate.value, length: length.value });
  };

  for (const [name, slide] of Object.entries(slides)) {
    slide.addEventListener("input", () => {
      field(name).value = slide.value;
      compute();
    });
    field(name).addEventListener("input", compute);
  }

  // ---- what the server has to say anew: whatever the form asks, without losing the place on the page

  const form = field("ask");
  let asking = null;

  const address = () => {
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (value === "") continue;
      query.set(name, query.has(name) ? `${query.get(name)},${value}` : value);
    }
    return `${form.action.split("?")[0]}?${query}`;
  };

  const renew = async (id) => {
    asking?.abort();
    asking = new AbortController();
    const place = field(id);
    place.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(address(), { signal: asking.signal });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const found = page.getElementById(id);
      if (!response.ok || !found) throw new Error(page.querySelector("main p")?.textContent ?? "no answer");
      place.replaceChildren(...found.childNodes);
      window.history.replaceState(null, "", address() + window.location.hash);
    } catch (error) {
      if (error.name !== "AbortError") turngap.say(error.message);
    } finally {
      place.removeAttribute("aria-busy");
    }
  };

  if (!turngap.isCopy) {
    for (const name of ["metric", "kind", "bound", "confidence", "errored", "baseline"]) {
      field(name).addEventListener("change", () => renew("gate-answer"));
    }
    field("curve")?.addEventListener("change", () => form.requestSubmit());
    form.addEventListener("submit", (event) => {
      // The same address that the page keeps: ids with commas, nothing empty.
      event.preventDefault();
      const inside = event.submitter?.closest("section")?.id;
      window.location.assign(address() + (inside ? `#${inside}` : ""));
      if (inside && window.location.search === new URL(address()).search) window.location.reload();
    });
  }

  const step = (name, by) => () => {
    const input = field(name);
    const next = Math.min(Math.max(Number(input.value) + by, Number(input.min)), Number(input.max));
    input.value = String(Math.round(10 * next) / 10);
    compute();
    turngap.say(`${field("chain-answer").textContent.trim()}`);
  };
  turngap.keys({
    "+": ["each decision one point better", step("rate", 1)],
    "-": ["each decision one point worse", step("rate", -1)],
    ">": ["one decision more in the chain", step("length", 1)],
    "<": ["one decision less", step("length", -1)],
  });

  return { completion, left, percent };
})();
