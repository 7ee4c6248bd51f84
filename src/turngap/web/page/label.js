// Labels of a blind sample: y, n and u say it and bring the next one.
(() => {
  "use strict";
  const unit = document.querySelector("[data-unit]");
  if (!unit) return;
  const { run, next, previous, following, protocol, judge, conversation, decision } = unit.dataset;
  const buttons = [...document.querySelectorAll("#answer button[data-label]")];
  const problem = document.getElementById("problem");

  const send = async (label) => {
    for (const button of buttons) button.disabled = true;
    try {
      await turngap.post(`/api/r/${run}/notes`, {
        protocol,
        judge,
        conversation,
        decision: decision === undefined ? null : Number(decision),
        label,
        blind: true,
        comment: document.getElementById("comment").value,
      });
      window.location.assign(next);
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
      for (const button of buttons) button.disabled = false;
    }
  };

  for (const button of buttons) button.addEventListener("click", () => send(button.dataset.label));
  turngap.keys({
    y: ["yes, it would do", () => send("yes")],
    n: ["no, it would not", () => send("no")],
    u: ["cannot tell", () => send("unclear")],
    k: ["the one before", () => window.location.assign(previous)],
    j: ["the one after", () => window.location.assign(following)],
  });
})();
