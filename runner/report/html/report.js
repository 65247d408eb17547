// Adds to the page, and holds nothing of it: without this every word is there.
"use strict";
const blocks = [...document.querySelectorAll(".block")];
const filter = document.getElementById("filter");

// A link to a cell was shared, and the cell lies on a page beside this one.
function elsewhere(id) {
  const cell = /^cell-[0-9a-f]+/.exec(id);
  const link = cell && document.querySelector(`.beside-list a[href$="#${cell[0]}"]`);
  if (link) location.replace(`${link.getAttribute("href").split("#")[0]}#${id}`);
}
function reveal() {
  const id = location.hash.slice(1);
  const found = id && document.getElementById(id);
  if (!found) return elsewhere(id);
  for (let at = found; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  found.scrollIntoView({ block: "start" });
}
addEventListener("hashchange", reveal);
reveal();

function saved(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
const marks = document.title.split(":")[0].replace(/[^A-Za-z0-9]+/g, "-");
const named = (text, end) => `${marks}-${text.replace(/[^A-Za-z0-9]+/g, "-").slice(0, 60)}.${end}`;
const quoted = (text) => {
  const line = text.replace(/\s+/g, " ").trim();
  // A spreadsheet would run what begins so.
  const safe = /^[=@\t]|^[+-](?![\d.])/.test(line) ? `'${line}` : line;
  return /[",\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
};
function button(words, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = words;
  made.addEventListener("click", act);
  return made;
}
for (const table of document.querySelectorAll(".scroll > table")) {
  const title = table.caption.textContent;
  const made = button("CSV", () => {
    const rows = [...table.rows].map((row) =>
      [...row.cells].filter((cell) => !cell.classList.contains("bar") && !cell.dataset.bar).map((cell) => quoted(cell.textContent)).join(","));
    saved(named(title, "csv"), "text/csv", rows.join("\r\n") + "\r\n");
  });
  made.setAttribute("aria-label", `${title} as CSV`);
  table.parentElement.after(made);
}
const DRAWN = ["display", "transform", "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "vector-effect", "font-size", "font-family", "font-weight", "text-anchor"];
for (const figure of document.querySelectorAll("figure.figure")) {
  const drawing = figure.querySelector("svg");
  const title = drawing.getAttribute("aria-label");
  const made = button("SVG", () => {
    const copy = drawing.cloneNode(true);
    const own = [...drawing.querySelectorAll("*")];
    [...copy.querySelectorAll("*")].forEach((part, at) => {
      const style = getComputedStyle(own[at]);
      for (const name of DRAWN) part.setAttribute(name, style.getPropertyValue(name));
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", drawing.getBoundingClientRect().width);
    const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    ground.setAttribute("width", "100%");
    ground.setAttribute("height", "100%");
    ground.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
    copy.prepend(ground);
    saved(named(title, "svg"), "image/svg+xml", new XMLSerializer().serializeToString(copy));
  });
  made.setAttribute("aria-label", `${title} as SVG`);
  figure.append(made);
}

let at = -1;
function go(step) {
  const shown = blocks.filter((block) => !block.hidden);
  if (!shown.length) return;
  at = Math.min(Math.max(at + step, 0), shown.length - 1);
  const target = shown[at].querySelector("summary, a");
  target.focus();
  target.scrollIntoView({ block: "center" });
}
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, textarea");
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing) return;
  if (event.key === "j") go(1);
  else if (event.key === "k") go(-1);
  else if (event.key === "o" && document.activeElement.tagName === "SUMMARY") document.activeElement.click();
  else if (event.key === "/" && filter) {
    event.preventDefault();
    filter.focus();
  }
});
if (filter) {
  filter.closest("p").hidden = false;
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const block of blocks) {
      const text = block.textContent.toLowerCase();
      block.hidden = !words.every((word) => text.includes(word));
    }
    at = -1;
  });
}
