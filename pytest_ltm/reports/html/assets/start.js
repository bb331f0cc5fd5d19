startExamples();
startCompare();
startBreaks();
startLine();
startAddress();
startSearch();

const PAPER = 480;  // pixels of a page beside the names of the lanes
addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach((each) => { each.open = true; });
  line.paper = PAPER;
  if (line.sides.length) drawLine();
});
addEventListener("afterprint", () => {
  line.paper = 0;
  if (line.sides.length) drawLine();
});
