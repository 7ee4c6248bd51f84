// Draws the charts in place of their pictures, in the colours of the page.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("chart-data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map();

  const draw = async (figure) => {
    const spec = data.charts[figure.dataset.chart];
    const place = figure.querySelector(".live");
    figure.classList.add("drawing"); // the place has to be laid out to have a width
    try {
      drawn.get(figure)?.finalize();
      const result = await window.vegaEmbed(place, spec, {
        mode: "vega-lite",
        renderer: "svg",
        actions: false,
        defaultStyle: false,
        ast: true, // no code is made from text, so that the page needs no unsafe-eval
        config: dark.matches ? data.themes.dark : data.themes.light,
        tooltip: { disableDefaultStyle: true, theme: "page" },
      });
      drawn.set(figure, result);
    } catch {
      figure.classList.remove("drawing"); // the picture stays
    }
  };

  const drawAll = () => Promise.all([...document.querySelectorAll("figure[data-chart]")].map(draw));
  const ready = () => document.documentElement.setAttribute("data-charts", "ready");
  drawAll().then(ready);
  dark.addEventListener("change", drawAll);
})();
