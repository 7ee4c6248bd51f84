// Runs before anything is drawn, so that a chosen theme does not flash: light, dark, or the system's.
(() => {
  "use strict";
  let chosen = null;
  try {
    chosen = window.localStorage.getItem("turngap-theme");
  } catch {
    // storage is off: the system's theme it is
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  document.documentElement.classList.add("scripted");
})();
