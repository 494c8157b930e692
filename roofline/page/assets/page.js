"use strict";
// Starts the page: reads its data, and opens what is folded before it is printed.

(() => {
  const PAPER = 820; // pixels
  const data = JSON.parse(document.getElementById("data").textContent);
  Model.setUnits(data.units);
  Chart.start(data);
  Explorer.start(data);
  Plots.start(data);
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("main details")) folded.open = true;
    Frame.redrawFor(PAPER);
  });
  addEventListener("afterprint", () => Frame.redrawFor(0));
})();
