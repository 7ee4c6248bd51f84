// One long list of which only the rows in sight exist. The server filters, sorts and counts; the address says all of it.
(() => {
  "use strict";
  const list = document.getElementById("units");
  if (turngap.isCopy) return;
  const form = document.getElementById("ask");
  const template = document.getElementById("row");
  const { run, noun } = list.dataset;
  const live = noun === "trial";
  const protocols = list.dataset.protocols.split(" ");
  const PAGE = 100;
  const MARGIN = 12; // rows that exist above and below those in sight
  const MOST = 30_000_000; // pixels that a page can be high in every browser
  const INTERVAL = 2000;
  const SOON = 250; // between looks until the first rows are there
  const NAMES = { "-": "none", p: "passed", f: "failed", e: "errored", u: "user" };
  const SIGNS = { none: "·", passed: "✓", failed: "✗", errored: "!", user: "∅" };
  const WORDS = { none: "no result", passed: "passed", failed: "failed", errored: "errored", user: "spoiled by the user" };

  let total = Number(list.dataset.total);
  let version = Number(list.dataset.version);
  let asked = null; // what the address says now, without `at`
  let pages = new Map(); // number of a page -> its rows, or null while they are on their way
  let height = 0;
  let first = 0; // rows [first, last) exist
  let last = 0;
  let giveUp = new AbortController();

  const counted = (number) => number.toLocaleString("en");
  const within = (number, low, high) => Math.min(Math.max(number, low), high);

  // ---- the address

  /** The fields of the form that say something: results only together with their protocol. */
  const fields = () => {
    const kept = new URLSearchParams();
    let protocol = "";
    for (const [name, value] of new FormData(form)) {
      if (name === "protocol") protocol = value;
      else if (value === "") continue;
      else if (name === "result") {
        kept.append("protocol", protocol);
        kept.append("result", value);
      } else if (name !== "in" || form.elements.q.value) kept.append(name, value);
    }
    return kept;
  };
  const addressOf = (query, at) => {
    const text = new URLSearchParams(query);
    if (at > 0) text.set("at", String(at));
    const search = text.toString();
    return `/r/${run}${search ? `?${search}` : ""}`;
  };
  const linkOf = (row) => {
    const text = new URLSearchParams({ id: row.item });
    if (row.trial !== null) text.set("trial", String(row.trial));
    for (const [name, value] of asked) text.append(name, value);
    return `/r/${run}/c?${text}`;
  };

  // ---- rows

  const passage = (text) =>
    text.split("\u0002").flatMap((part, at) => {
      const end = part.indexOf("\u0003");
      if (at === 0 || end < 0) return [part];
      return [turngap.make("mark", {}, part.slice(0, end)), part.slice(end + 1)];
    });

  const draw = (place) => {
    const item = template.content.firstElementChild.cloneNode(true);
    item.dataset.place = place;
    item.setAttribute("aria-posinset", place + 1);
    item.setAttribute("aria-setsize", total);
    const row = pages.get(Math.floor(place / PAGE))?.[place % PAGE];
    if (!row) {
      item.classList.add("waiting");
      item.setAttribute("aria-busy", "true");
      item.querySelector("a").remove();
      return item;
    }
    item.querySelector("a").href = linkOf(row);
    item.querySelector(".title").textContent = row.title || row.item;
    const about = [];
    if (row.trial !== null) about.push(` · trial ${row.trial}`);
    if (row.found) {
      // There is room for one of both: why the row is here, or what it is like.
      const [text, own] = row.found;
      const whose = live ? ["task", "trial"] : ["recording", "model"];
      about.push(` · ${whose[Number(own)]}: `, turngap.make("bdi", {}, ...passage(text)));
    } else {
      if (row.scenario) about.push(" · ", turngap.isolated(row.scenario));
      about.push(` · ${row.length} ${live ? "message" : "decision"}${row.length === 1 ? "" : "s"}`);
      if (row.first_error !== null) about.push(` · first error at ${live ? "event" : "decision"} ${row.first_error}`);
      if (row.detail) about.push(" · ", turngap.isolated(row.detail));
    }
    item.querySelector(".about").append(turngap.isolated(row.item), ...about);
    item.querySelector(".outcomes").append(
      ...protocols.map((protocol, at) => {
        const name = NAMES[row.results[at]];
        return turngap.make(
          "span",
          { class: `outcome ${name}` },
          turngap.make("span", { class: "protocol" }, `${protocol} `),
          turngap.make("span", { "aria-hidden": "true" }, SIGNS[name]),
          turngap.make("span", { class: "unseen" }, WORDS[name]),
        );
      }),
    );
    return item;
  };

  const top = () => list.getBoundingClientRect().top + window.scrollY;
  const shownTotal = () => Math.min(total, Math.floor(MOST / height));
  const inSight = () => {
    const above = Math.max(0, window.scrollY - top());
    const begin = Math.floor(above / height);
    return [begin, Math.ceil((above + window.innerHeight) / height)];
  };

  /** Have exactly the rows around those in sight; `anew` draws those again that are there. */
  const fill = ({ anew = false } = {}) => {
    const [begin, end] = inSight();
    const low = within(begin - MARGIN, 0, shownTotal());
    const high = within(end + MARGIN, low, shownTotal());
    const focused = list.contains(document.activeElement) ? Number(document.activeElement.closest("li").dataset.place) : -1;
    if (anew || low >= last || high <= first) {
      list.replaceChildren(...Array.from({ length: high - low }, (_, at) => draw(low + at)));
    } else {
      while (first < low) list.firstElementChild.remove(), first++;
      while (last > high) list.lastElementChild.remove(), last--;
      while (first > low) list.prepend(draw(--first));
      while (last < high) list.append(draw(last++));
    }
    [first, last] = [low, high];
    list.style.paddingTop = `${low * height}px`;
    list.style.paddingBottom = `${(shownTotal() - high) * height}px`;
    if (focused >= first && focused < last && !list.contains(document.activeElement)) focus(focused);
    for (let page = Math.floor(low / PAGE); page * PAGE < high; page++) fetchPage(page);
  };

  const fetchPage = async (page) => {
    if (pages.has(page)) return;
    pages.set(page, null);
    const mine = pages;
    try {
      await receive(page, false);
    } catch (error) {
      if (mine === pages) pages.delete(page);
      if (error.name !== "AbortError") turngap.say(error.message);
    }
  };

  /** Ask for a page of rows, with the counts of all filters if wanted, and show what came. */
  const receive = async (page, facets) => {
    const query = new URLSearchParams(asked);
    query.set("from", String(page * PAGE));
    query.set("count", String(PAGE));
    if (facets) query.set("facets", "1");
    const mine = pages;
    const data = await turngap.get(`/api/r/${run}/units?${query}`, giveUp.signal);
    if (mine !== pages) return;
    if (data.window.version !== version) {
      // The run has grown: what is here already may stand elsewhere now.
      version = data.window.version;
      pages = new Map();
    }
    pages.set(page, data.window.rows);
    showTotal(data.window);
    showProgress(data);
    if (facets) showFacets(data.facets);
    fill({ anew: true });
  };

  // ---- around the list

  const showTotal = (window_) => {
    total = window_.total;
    document.getElementById("total").textContent = counted(total);
    document.getElementById("plural").hidden = total === 1;
    document.getElementById("of").hidden = total === window_.units;
    document.getElementById("units-count").textContent = counted(window_.units);
    const nothing = document.getElementById("nothing");
    nothing.hidden = total > 0;
    nothing.textContent = window_.nothing ? `${window_.nothing}.` : window_.units ? "Nothing is like that." : "Nothing is read yet.";
    document.getElementById("clear").hidden = [...asked.keys()].every((name) => name === "sort");
  };

  const STAGES = { units: "Reading the run", results: "Reading scores", findings: "Looking at failures" };
  const showProgress = ({ progress, working }) => {
    const building = document.getElementById("building");
    building.hidden = progress.stage === "done" && !progress.problem;
    building.textContent = progress.problem || `${STAGES[progress.stage]}: ${counted(progress.done)} of ${counted(progress.total)}. What is read already can be searched.`;
    list.dataset.working = working ? "yes" : "";
  };

  const showFacets = (facets) => {
    const focusedName = document.activeElement?.name;
    const focusedValue = document.activeElement?.value;
    const scrolled = Object.fromEntries([...document.querySelectorAll(".values")].map((one) => [one.dataset.name, one.scrollTop]));
    const wasOn = document.activeElement?.closest("#facets") ? document.activeElement.id : null;
    document.getElementById("facets").replaceChildren(
      ...facets.map((facet) => {
        if (protocols.includes(facet.name)) {
          const id = `result-${facet.name}`;
          return turngap.make(
            "div",
            { class: "facet choice" },
            turngap.make("input", { type: "hidden", name: "protocol", value: facet.name }),
            turngap.make("label", { for: id }, facet.name),
            turngap.make(
              "select",
              { id, name: "result" },
              turngap.make("option", { value: "" }, "any"),
              ...facet.choices.map((one) =>
                turngap.make("option", { value: one.value, selected: one.chosen }, `${WORDS[one.value]} (${counted(one.count)})`),
              ),
            ),
          );
        }
        const values = facet.choices.map((one) =>
          turngap.make(
            "label",
            {},
            turngap.make("input", { type: "checkbox", name: facet.name, value: one.value, checked: one.chosen }),
            turngap.isolated(one.value),
            turngap.make("span", { class: "tally" }, counted(one.count)),
          ),
        );
        return turngap.make(
          "fieldset",
          { class: "facet" },
          turngap.make("legend", {}, facet.name),
          turngap.make("div", { class: "values", "data-name": facet.name }, ...values),
          facet.hidden > 0 && turngap.make("p", { class: "help" }, `and ${counted(facet.hidden)} rarer ones`),
        );
      }),
    );
    for (const one of document.querySelectorAll(".values")) one.scrollTop = scrolled[one.dataset.name] ?? 0;
    if (wasOn === null) return;
    const again = wasOn
      ? document.getElementById(wasOn)
      : [...form.elements].find((one) => one.name === focusedName && one.value === focusedValue);
    again?.focus({ preventScroll: true });
  };

  // ---- asking for something else

  const ask = async ({ step }) => {
    asked = fields();
    window.history[step ? "pushState" : "replaceState"](null, "", addressOf(asked, 0));
    before = window.location.search;
    giveUp.abort();
    giveUp = new AbortController();
    pages = new Map([[0, null]]);
    if (window.scrollY > top()) window.scrollTo(0, top());
    list.setAttribute("aria-busy", "true");
    try {
      await receive(0, true);
      turngap.say(`${counted(total)} ${noun}${total === 1 ? "" : "s"}`);
    } catch (error) {
      if (error.name === "AbortError") return;
      pages = new Map();
      turngap.say(error.message);
      const nothing = document.getElementById("nothing");
      nothing.textContent = error.message;
      nothing.hidden = false;
    }
    list.removeAttribute("aria-busy");
  };

  let typing = 0;
  form.addEventListener("input", (event) => {
    if (!["q", "min", "max"].includes(event.target.name)) return;
    window.clearTimeout(typing);
    typing = window.setTimeout(() => ask({ step: false }), 150);
  });
  form.addEventListener("change", (event) => {
    window.clearTimeout(typing);
    const changed = fields().toString() !== asked.toString();
    if (changed) ask({ step: !["q", "min", "max"].includes(event.target.name) });
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    window.clearTimeout(typing);
    if (fields().toString() !== asked.toString()) ask({ step: true });
  });
  let before = window.location.search;
  form.elements.q.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault(); // which would empty the field: it leads back to the rows instead
    event.target.blur();
  });
  window.addEventListener("popstate", () => {
    // A step to a place on the page (the link that skips to the content) is one, too.
    if (window.location.search !== before) window.location.reload();
  });

  const filters = document.getElementById("filters");
  const filtersButton = document.getElementById("filters-button");
  filtersButton.addEventListener("click", () => {
    filtersButton.setAttribute("aria-expanded", String(filters.classList.toggle("open")));
  });

  // ---- moving

  const focus = (place) => {
    list.querySelector(`li[data-place="${place}"] a`)?.focus({ preventScroll: true });
  };
  const reveal = (place) => {
    const [above, below] = [top() + place * height - document.querySelector(".head").offsetHeight, top() + (place + 1) * height];
    if (above < window.scrollY) window.scrollTo(0, above);
    else if (below > window.scrollY + window.innerHeight) window.scrollTo(0, below - window.innerHeight);
  };
  let wanted = -1; // the row that gets the focus as soon as it is there
  const move = (place) => {
    if (!total) return;
    wanted = within(place, 0, shownTotal() - 1);
    reveal(wanted);
    fill();
    focus(wanted);
  };
  const current = () => {
    const row = document.activeElement?.closest("#units li");
    if (row) return Number(row.dataset.place);
    return wanted >= first && wanted < last ? wanted : within(Math.ceil(Math.max(0, window.scrollY - top()) / height), 0, total) - 1;
  };
  new MutationObserver(() => {
    if (wanted >= 0 && document.activeElement === document.body) focus(wanted);
  }).observe(list, { childList: true });

  const screenful = () => Math.max(1, Math.floor(window.innerHeight / height) - 1);
  turngap.keys({
    j: ["next row", () => move(current() + 1)],
    k: ["previous row", () => move(current() - 1)],
    ArrowDown: ["next row", () => move(current() + 1)],
    ArrowUp: ["previous row", () => move(current() - 1)],
    d: ["a screen down", () => move(current() + screenful())],
    u: ["a screen up", () => move(current() - screenful())],
    g: ["first row", () => move(0)],
    G: ["last row", () => move(total - 1)],
    "/": ["search", () => form.elements.q.select()],
    x: ["clear all filters", () => document.getElementById("clear").click()],
  });

  let settled = 0;
  window.addEventListener(
    "scroll",
    () => {
      window.requestAnimationFrame(() => fill());
      window.clearTimeout(settled);
      settled = window.setTimeout(() => {
        window.history.replaceState(null, "", addressOf(asked, Math.min(inSight()[0], Math.max(0, total - 1))));
        before = window.location.search;
      }, 200);
    },
    { passive: true },
  );
  window.addEventListener("resize", () => measure());

  const measure = () => {
    const sample = list.firstElementChild ?? template.content.firstElementChild.cloneNode(true);
    const lone = !sample.parentElement;
    if (lone) list.append(sample);
    height = sample.getBoundingClientRect().height;
    if (lone) sample.remove();
    fill({ anew: true });
  };

  // ---- a run that is at work, or not wholly read yet

  const watch = async () => {
    if (list.dataset.working && !document.hidden) {
      try {
        await receive(Math.floor(within(inSight()[0], 0, Math.max(0, total - 1)) / PAGE), true);
      } catch (error) {
        if (error.name !== "AbortError") document.getElementById("building").textContent = error.message;
      }
    }
    window.setTimeout(watch, list.dataset.working && !pages.get(0)?.length ? SOON : INTERVAL);
  };

  // ---- beginning: what the server has put there becomes the first rows

  asked = fields();
  const start = Number(list.dataset.start);
  window.history.scrollRestoration = "manual";
  measure();
  if (start > 0) window.scrollTo(0, top() + start * height);
  fill();
  window.setTimeout(watch, total ? INTERVAL : SOON);
})();
