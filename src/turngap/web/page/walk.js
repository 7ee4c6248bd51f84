// The walk: step from decision to decision, and switch the repair of history without losing the place.
(() => {
  "use strict";
  const steps = [...document.querySelectorAll(".walk-step")];
  const marks = [...document.querySelectorAll(".strips .step")];
  let current = steps.findIndex((step) => step.open);

  const go = (place, { focus = true } = {}) => {
    const step = steps[place];
    if (!step) return;
    for (const one of steps) {
      one.open = one === step;
      one.toggleAttribute("data-chosen", one === step);
    }
    current = place;
    const { decision } = step.dataset;
    for (const mark of marks) mark.classList.toggle("chosen", mark.hash === `#s${decision}`);
    for (const id of ["repair-on", "repair-off"]) {
      const link = document.getElementById(id);
      const address = new URL(link.href);
      address.searchParams.set("decision", decision);
      if (!turngap.isCopy) link.href = address.href;
    }
    turngap.remember({ decision });
    step.scrollIntoView({ block: "center" });
    if (focus) step.querySelector("summary").focus({ preventScroll: true });
    turngap.say(step.querySelector("summary").innerText);
  };
  const failure = (direction) => {
    for (let place = current + direction; place >= 0 && place < steps.length; place += direction) {
      if (steps[place].dataset.failing) return go(place);
    }
    turngap.say("no further failure");
    return undefined;
  };
  const follow = (query) => () => document.querySelector(query)?.click();
  const turn = () => document.querySelector(".switch .button:not([aria-current])").click();

  for (const mark of marks) {
    mark.addEventListener("click", (event) => {
      event.preventDefault();
      go(steps.findIndex((step) => `#${step.id}` === mark.hash));
    });
  }
  for (const step of steps) {
    step.querySelector("summary").addEventListener("click", (event) => {
      event.preventDefault();
      const place = steps.indexOf(step);
      if (step.open) step.open = false;
      else go(place);
    });
  }
  turngap.keys({
    s: ["switch: repair history on or off", turn],
    j: ["next decision", () => go(Math.min(current + 1, steps.length - 1))],
    k: ["previous decision", () => go(Math.max(current - 1, 0))],
    n: ["next failure", () => failure(1)],
    p: ["previous failure", () => failure(-1)],
    "]": ["next in the list", follow('a[rel="next"]')],
    "[": ["previous in the list", follow('a[rel="prev"]')],
    u: ["back to the list", follow('a[rel="up"]')],
    w: ["side by side", follow("#to-page")],
  });
  const hash = steps.findIndex((step) => `#${step.id}` === window.location.hash);
  if (hash >= 0) go(hash, { focus: false });
  else if (new URLSearchParams(window.location.search).has("decision") && current >= 0) go(current, { focus: false });
})();
