// The compare page: choices take effect at once, and keys walk the list. Everything works by links and forms, too.
(() => {
  "use strict";
  const runs = document.getElementById("ask");
  const filter = document.getElementById("filter");

  /** The address a form asks for, with nothing empty in it. */
  const address = (form) => {
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value !== "") query.set(name, value);
    return `${form.action.split("?")[0]}?${query}`;
  };

  let asking = null;
  const renew = async () => {
    asking?.abort();
    asking = new AbortController();
    const place = document.getElementById("rows");
    try {
      const response = await fetch(address(filter), { signal: asking.signal });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const found = page.getElementById("rows");
      if (!response.ok || !found) throw new Error("the list could not be read anew");
      place.replaceChildren(...found.childNodes);
      window.history.replaceState(null, "", address(filter));
      turngap.say(place.querySelector("p").textContent);
    } catch (error) {
      if (error.name !== "AbortError") turngap.say(error.message);
    }
  };

  const shown = () => [...document.querySelectorAll("#rows a.open")];
  const walk = (by) => () => {
    const links = shown();
    if (!links.length) return;
    const at = links.indexOf(document.activeElement);
    links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1)].focus();
  };
  const follow = (selector) => () => document.querySelector(selector)?.click();
  turngap.keys({
    j: ["next in the list", walk(1)],
    k: ["previous in the list", walk(-1)],
    n: ["open the next one", follow("#pair a[rel=next]")],
    p: ["open the previous one", follow("#pair a[rel=prev]")],
    c: ["close the open one", follow("#pair .ways a:last-child")],
    "/": ["look for an id", () => document.getElementById("q")?.focus()],
  });

  if (turngap.isCopy) return;
  runs.addEventListener("submit", (event) => {
    event.preventDefault();
    window.location.assign(address(runs));
  });
  if (!filter) return;
  filter.addEventListener("submit", (event) => {
    event.preventDefault();
    window.location.assign(`${address(filter)}#list`);
  });
  for (const name of ["change", "sort"]) document.getElementById(name).addEventListener("change", renew);
  // Other figures have other counts, which the choices of the form show.
  document.getElementById("by").addEventListener("change", () => filter.requestSubmit());
  let pause = 0;
  document.getElementById("q").addEventListener("input", () => {
    window.clearTimeout(pause);
    pause = window.setTimeout(renew, 200);
  });
})();
