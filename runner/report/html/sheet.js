"use strict";
(() => {
  const sheet = JSON.parse(document.getElementById("sheet").textContent);
  const place = "fairtrial grades " + sheet.digest;
  const at = (id) => document.getElementById(id);
  const kept = recall();
  let now = 0;

  function recall() {
    try {
      const found = JSON.parse(localStorage.getItem(place));
      if (found && found.grades) return found;
    } catch (_) { /* a browser that keeps nothing, or something else kept there */ }
    return { grader: "", kind: "person", grades: {} };
  }

  function keep() {
    try {
      localStorage.setItem(place, JSON.stringify(kept));
    } catch (_) {
      say("This browser keeps nothing: save the file before you close the page.");
    }
  }

  function say(text) { at("status").textContent = text; }

  function list(id, texts) {
    at(id).replaceChildren(...texts.map((text) => {
      const line = document.createElement("li");
      line.textContent = text;
      return line;
    }));
  }

  function graded() { return sheet.items.filter((item) => item.id in kept.grades).length; }

  function show() {
    const item = sheet.items[now];
    const grade = kept.grades[item.id];
    at("heading").textContent = `Answer ${now + 1} of ${sheet.items.length}: ` +
      (grade === undefined ? "no grade yet" : `${grade} of 10`);
    at("question").textContent = item.question;
    list("criteria", item.criteria);
    list("facts", item.facts);
    at("answer").textContent = item.answer;
    say(`${graded()} of ${sheet.items.length} are graded`);
    window.scrollTo(0, 0);
  }

  function go(step) {
    now = Math.min(sheet.items.length - 1, Math.max(0, now + step));
    show();
  }

  function ungraded() {
    const left = sheet.items.findIndex((item) => !(item.id in kept.grades));
    if (left >= 0) { now = left; show(); }
  }

  function grade(tenths) {
    kept.grades[sheet.items[now].id] = tenths;
    keep();
    go(1);
  }

  function fnv(data, offset) {
    let value = offset;
    for (const byte of data) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
    return value.toString(16).padStart(8, "0");
  }

  function sealed() {
    const file = { sheet: sheet.digest, of: sheet.of, seed: sheet.seed, grader: kept.grader,
      kind: kept.kind, grades: kept.grades };
    const listed = Object.keys(file.grades).sort().map((id) => `${id}=${file.grades[id]}`).join(";");
    const said = [file.sheet, file.of, file.seed, file.grader, file.kind, listed].join("|");
    const data = new TextEncoder().encode(said);
    return { ...file, seal: fnv(data, 0x811c9dc5) + fnv(data, 0x050c5d1f) };
  }

  function save() {
    const left = sheet.items.length - graded();
    if (left) { ungraded(); say(`${left} answers have no grade yet: they have to have one first.`); return; }
    if (!/^[A-Za-z0-9_ .-]+$/.test(kept.grader)) {
      at("grader").focus();
      say("Your name first: letters, digits, blanks, dots and dashes.");
      return;
    }
    const text = JSON.stringify(sealed(), null, 1) + "\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = `grades-${kept.grader.replace(/\W+/g, "-")}.json`;
    link.click();
    say(`Saved as ${link.download}: hand it to whoever gave you this page.`);
  }

  at("grader").value = kept.grader;
  at("kind").value = kept.kind;
  at("grader").addEventListener("input", () => { kept.grader = at("grader").value.trim(); keep(); });
  at("kind").addEventListener("change", () => { kept.kind = at("kind").value; keep(); });
  at("back").addEventListener("click", () => go(-1));
  at("on").addEventListener("click", () => go(1));
  at("save").addEventListener("click", save);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // What is typed into a name is no grade.
    if (["INPUT", "SELECT"].includes(event.target.tagName)) {
      if (event.key === "Enter") { event.target.blur(); at("item").focus(); }
      return;
    }
    // Without this, the key that asks for a name would be its first letter.
    if (event.key.length === 1 && event.target.tagName !== "BUTTON") event.preventDefault();
    if (/^[0-9]$/.test(event.key)) grade(Number(event.key));
    else if (event.key === "x") grade(10);
    else if (event.key === "n" || event.key === "ArrowRight") go(1);
    else if (event.key === "p" || event.key === "ArrowLeft") go(-1);
    else if (event.key === "u") ungraded();
    else if (event.key === "s") save();
  });
  ungraded();
  show();
})();
