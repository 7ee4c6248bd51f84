// What the scripts of all pages share, as `turngap`: data, the address as state, elements, keys, theme.
// Text from data becomes text of elements, never markup.
const turngap = (() => {
  "use strict";
  const root = document.documentElement;
  const pageKey = document.querySelector('meta[name="turngap-page"]')?.content ?? "";

  // A static copy has no server: what needs one stays away.
  const isCopy = root.dataset.copy !== undefined;

  const answered = async (response) => {
    let data = null;
    try {
      data = await response.json();
    } catch {
      // an answer without a body, or the guard's own line
    }
    if (!response.ok) throw new Error(data?.error ?? `the server answered ${response.status}`);
    return data;
  };

  /** Data from an address of this server; throws an Error with one line. `signal` gives the request up. */
  const get = async (address, signal) => {
    if (isCopy) throw new Error("this is a copy; turngap view has the rest");
    return answered(await fetch(address, { headers: { accept: "application/json" }, signal }));
  };

  /** Write something. */
  const post = async (address, value) =>
    answered(
      await fetch(address, {
        method: "POST",
        headers: { "content-type": "application/json", "x-turngap-page": pageKey },
        body: JSON.stringify(value),
      }),
    );

  /** The query of the address as an object of texts. */
  const state = () => Object.fromEntries(new URLSearchParams(window.location.search));

  /** The address of a path with a query; what is empty is left out. */
  const address = (path, query) => {
    const kept = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== null && value !== undefined && value !== "") kept.set(name, String(value));
    }
    const text = kept.toString();
    return text ? `${path}?${text}` : path;
  };

  /** Have the address say where we are; `step` makes it one that "back" leads away from. */
  const remember = (changes, { step = false } = {}) => {
    if (isCopy) return;
    const next = address(window.location.pathname, { ...state(), ...changes }) + window.location.hash;
    if (next === window.location.pathname + window.location.search + window.location.hash) return;
    window.history[step ? "pushState" : "replaceState"](null, "", next);
  };

  /** An element: `make("td", {class: "number"}, "12", other)`. Strings become text. */
  const make = (tag, attributes = {}, ...inside) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
    }
    element.append(...inside.filter((one) => one !== null && one !== undefined && one !== false));
    return element;
  };

  /** Text from data, kept apart from what stands around it whatever way it is written. */
  const isolated = (text) => make("bdi", {}, text);

  /** Tell people who cannot see what changed. */
  const say = (text) => {
    document.getElementById("said").textContent = text;
  };

  // ---- keys

  const known = new Map();

  /** `keys({ j: ["next conversation", () => ...] })`. Keys are those of KeyboardEvent.key, without modifiers. */
  const keys = (added) => {
    for (const [key, [meaning, act]] of Object.entries(added)) known.set(key, { meaning, act });
  };

  const typing = (target) =>
    target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && typing(event.target)) {
      event.target.blur();
      return;
    }
    const found = known.get(event.key);
    if (!found || typing(event.target)) return;
    // What has the focus has these keys first: a link is followed, a button pressed.
    if ((event.key === "Enter" || event.key === " ") && event.target.closest?.("a, button, summary")) return;
    event.preventDefault();
    found.act(event);
  });

  const dialog = document.getElementById("keys-dialog");
  const showKeys = () => {
    const list = dialog.querySelector("dl");
    list.replaceChildren(
      ...[...known].map(([key, { meaning }]) =>
        make("div", {}, make("dt", {}, make("kbd", {}, key)), make("dd", {}, meaning)),
      ),
    );
    dialog.showModal();
  };
  document.getElementById("keys-button").addEventListener("click", showKeys);
  keys({ "?": ["show these keys", showKeys] });

  // ---- theme

  const themes = ["system", "light", "dark"];
  const button = document.getElementById("theme-button");
  const theme = () => root.dataset.theme ?? "system";
  const showTheme = () => {
    button.replaceChildren(make("span", { class: "theme-word" }, "Theme: "), theme());
  };
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(theme()) + 1) % themes.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      window.localStorage.setItem("turngap-theme", next);
    } catch {
      // it holds for this page then
    }
    showTheme();
    document.dispatchEvent(new CustomEvent("turngap-theme"));
  });
  showTheme();

  /** Whether the page is dark now; "turngap-theme" is sent to the document, and the media query changes, when that may differ. */
  const isDark = () =>
    theme() === "dark" || (theme() === "system" && window.matchMedia("(prefers-color-scheme: dark)").matches);

  return { isCopy, get, post, state, address, remember, make, isolated, say, keys, isDark };
})();
