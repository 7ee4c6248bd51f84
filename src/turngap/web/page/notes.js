// What a reader says about a verdict that is on the page. Wherever an element like this stands, buttons come into it:
//   <div class="verdict-note" data-run="r1" data-id="CONVERSATION" data-protocol="turn" data-judge="rules"
//        data-decision="3"></div>            (no data-decision: the verdict is about the whole conversation)
(() => {
  "use strict";
  const places = [...document.querySelectorAll(".verdict-note")];
  if (turngap.isCopy || places.length === 0) return;

  const words = { right: "right", wrong: "wrong", unclear: "cannot tell" };
  const keyOf = (protocol, judge, decision) => JSON.stringify([protocol, judge, decision ?? null]);
  const decisionOf = (place) => (place.dataset.decision === undefined ? null : Number(place.dataset.decision));

  const agreement = (counts, { protocol, judge }) => {
    const found = counts.find((one) => one.protocol === protocol && one.judge === judge);
    if (!found) return "";
    const said = found.right + found.wrong;
    return `people agree with ${judge} on ${found.right} of ${said} ${protocol} verdicts they marked`;
  };

  const build = (place, note, counts) => {
    const { run, id, protocol, judge } = place.dataset;
    const state = turngap.make("p", { class: "note", role: "status" }, agreement(counts, place.dataset));
    const comment = turngap.make("input", { type: "text", maxlength: 4000, placeholder: "why (optional)", "aria-label": "why" });
    comment.value = note?.comment ?? "";
    let said = note?.said ?? null;
    const buttons = Object.entries(words).map(([label, word]) => {
      const button = turngap.make("button", { type: "button", "aria-pressed": String(said === label) }, word);
      button.addEventListener("click", () => send(said === label ? "withdrawn" : label));
      return [label, button];
    });
    const send = async (label) => {
      try {
        const answer = await turngap.post(`/api/r/${run}/notes`, {
          protocol,
          judge,
          conversation: id,
          decision: decisionOf(place),
          label,
          comment: comment.value,
        });
        said = label === "withdrawn" ? null : label;
        for (const [name, button] of buttons) button.setAttribute("aria-pressed", String(said === name));
        state.textContent = agreement(answer.counts, place.dataset) || "taken back";
      } catch (error) {
        state.textContent = error.message;
      }
    };
    comment.addEventListener("change", () => said && send(said));
    place.replaceChildren(
      turngap.make(
        "div",
        { class: "verdict-buttons", role: "group", "aria-label": `your view of the verdict of ${judge}` },
        turngap.make("span", {}, "the verdict is"),
        ...buttons.map(([, button]) => button),
        comment,
      ),
      state,
    );
  };

  const groups = new Map();
  for (const place of places) {
    const key = JSON.stringify([place.dataset.run, place.dataset.id]);
    groups.set(key, [...(groups.get(key) ?? []), place]);
  }
  for (const group of groups.values()) {
    const { run, id } = group[0].dataset;
    turngap
      .get(turngap.address(`/api/r/${run}/notes`, { id }))
      .then(({ notes, counts }) => {
        const known = new Map(notes.map((note) => [keyOf(note.protocol, note.judge, note.decision), note]));
        for (const place of group) {
          build(place, known.get(keyOf(place.dataset.protocol, place.dataset.judge, decisionOf(place))), counts);
        }
      })
      .catch((error) => {
        for (const place of group) place.textContent = error.message;
      });
  }
})();
