"use strict";
(function () {
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

  // Tables: a button in each header sorts; again, the other way. What has no number goes last.
  function keyOf(row, column) {
    const cell = row.cells[column];
    if (!("value" in cell.dataset)) return cell.textContent.trim();
    return cell.dataset.value === "" ? NaN : Number(cell.dataset.value);
  }
  function compared(a, b, sign) {
    if (typeof a === "string") return sign * collator.compare(a, b);
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return a === b ? 0 : sign * (a < b ? -1 : 1);
  }
  for (const header of document.querySelectorAll("thead th")) {
    header.querySelector("button").addEventListener("click", function () {
      const row = header.parentElement;
      const numbers = header.classList.contains("number");
      const before = header.getAttribute("aria-sort");
      const down = before === "none" ? numbers : before === "ascending";
      for (const other of row.cells) other.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = header.closest("table").tBodies[0];
      const column = header.cellIndex;
      const rows = Array.from(body.rows, (each) => [keyOf(each, column), each]);
      rows.sort((a, b) => compared(a[0], b[0], down ? -1 : 1));
      for (const [, each] of rows) body.append(each);
    });
  }
})();
