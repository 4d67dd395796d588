// Draws each chart when it comes near the window, and the rest when the browser is idle.
(() => {
  const config = JSON.parse(document.getElementById("config").textContent);
  const charts = [...document.querySelectorAll(".chart")];

  async function draw(place) {
    if (place.dataset.state || !place.clientWidth) return;
    place.dataset.state = "drawing";
    const spec = JSON.parse(place.firstElementChild.textContent);
    const plot = place.appendChild(document.createElement("div"));
    plot.setAttribute("aria-hidden", "true");
    try {
      await vegaEmbed(plot, spec, { config, mode: "vega-lite", renderer: "svg", actions: false, tooltip: { theme: "assay" } });
      place.dataset.state = "drawn";
    } catch (error) {
      place.dataset.state = "failed";
      plot.textContent = `This picture could not be drawn (${error.message}); its numbers are in the table below.`;
    }
  }

  const near = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      near.unobserve(entry.target);
      draw(entry.target);
    }),
    { rootMargin: "500px 0px" },
  );
  charts.forEach((place) => near.observe(place));

  const later = window.requestIdleCallback || ((work) => setTimeout(work, 60));
  const waiting = charts.slice();
  const next = () => {
    const place = waiting.shift();
    if (place) draw(place).then(() => later(next));
  };
  addEventListener("load", () => later(next));

  // Paper cannot be unfolded: short tables are printed with their charts, others where the reader has opened them.
  const printed = matchMedia("print");
  printed.addEventListener("change", () => document.querySelectorAll("details.numbers.short").forEach((table) => {
    if (printed.matches && !table.open) table.dataset.printed = "";
    if (printed.matches) table.open = true;
    else if ("printed" in table.dataset) { table.open = false; delete table.dataset.printed; }
  }));
})();
