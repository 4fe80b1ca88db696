"use strict";
// Sorts tables, draws lines and rectangles from the tables beside them, and changes colours.
// All text is set as text: the page may hold anything that a key or a path can.
(function () {
  const root = document.documentElement;
  const narrow = 30;
  const shades = 6;
  const phone = 640;
  const few = 12;

  function colour(name) {
    return getComputedStyle(root).getPropertyValue("--" + name).trim();
  }

  // To ask for the size of what a closed checkpoint holds would lay it out, and there may be hundreds.
  function closed(place) {
    return place.closest("details.checkpoint:not([open])") !== null;
  }

  // --- numbers -------------------------------------------------------------------------------

  const sizes = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

  function bytesText(value) {
    let unit = 0;
    while (Math.abs(value) >= 1024 && unit < sizes.length - 1) {
      value /= 1024;
      unit += 1;
    }
    return (unit && value % 1 ? value.toFixed(1) : Math.round(value)) + " " + sizes[unit];
  }

  function durationText(value) {
    const sign = value < 0 ? "-" : "";
    let rest = Math.round(Math.abs(value));
    const words = [];
    for (const [unit, size] of [["d", 86400000], ["h", 3600000], ["min", 60000], ["s", 1000], ["ms", 1]]) {
      const amount = Math.floor(rest / size);
      rest -= amount * size;
      if (amount) words.push(amount.toLocaleString("en") + " " + unit);
    }
    return sign + (words.slice(0, parseInt(words[0], 10) < 10 ? 2 : 1).join(" ") || "0 s");
  }

  const texts = {
    bytes: bytesText,
    duration_ms: durationText,
    count: (value) => value.toLocaleString("en"),
  };
  const steps = {
    bytes: powers(2, 0, 53),
    duration_ms: [1, 10, 100, 1000, 5000, 10000, 30000, 60000, 300000, 600000, 1800000, 3600000, 7200000,
      21600000, 43200000, 86400000].concat(powers(10, 1, 8).map((n) => n * 86400000)),
    count: [].concat(...powers(10, 0, 16).map((n) => [n, 2 * n, 5 * n])),
  };

  function powers(base, from, to) {
    return Array.from({ length: to - from }, (_, i) => base ** (from + i));
  }

  // --- tables --------------------------------------------------------------------------------

  function valueOf(cell) {
    const data = cell.querySelector("data");
    const text = cell.textContent.trim();
    return data ? Number(data.value) : /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  }

  function compare(a, b) {
    if (a === "-" || b === "-") return (a === "-") - (b === "-");
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  }

  function sortable(table) {
    if (closed(table) || table.querySelector("th button")) return;
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = Array.from(table.tBodies[0].rows, (row) => [valueOf(row.cells[column]), row]);
        rows.sort(([a], [b]) => {
          const missing = a === "-" || b === "-";
          return down && !missing ? compare(b, a) : compare(a, b);
        });
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  }

  // Where a table is wider than a phone, each row is a card: all of it is seen without scrolling.
  function cards(table) {
    if (closed(table) || table.matches(".fleet")) return;
    table.classList.remove("cards");
    if (innerWidth > phone || table.scrollWidth <= table.parentNode.clientWidth) return;
    const heads = Array.from(table.tHead.rows[0].cells, (head) => head.textContent.trim());
    for (const row of table.tBodies[0].rows) {
      Array.from(row.cells).forEach((cell, column) => { cell.dataset.head = heads[column]; });
    }
    table.classList.add("cards");
    table.parentNode.classList.toggle("whole", table.tBodies[0].rows.length <= few);
  }

  function numbersOf(table) {
    return Array.from(table.tBodies[0].rows, (row) => Array.from(row.cells, valueOf));
  }

  // --- lines ---------------------------------------------------------------------------------

  const plots = new Map();

  function readPlot(place) {
    const table = document.getElementById(place.dataset.table).querySelector("table");
    if (!table) return null;
    const rows = numbersOf(table).map((row) => row.map((v) => (v === "-" ? null : v)));
    rows.sort((a, b) => a[0] - b[0]);
    const names = Array.from(table.tHead.rows[0].cells, (head) => head.textContent.trim());
    return { rows, names, times: Array.from(rows, (row) => row[1]) };
  }

  function drawPlot(place) {
    if (closed(place) || place.clientWidth < narrow) return;
    const data = plots.get(place) || readPlot(place);
    if (!data || !data.rows.length) return;
    if (data.plot) data.plot.destroy();
    const text = texts[place.dataset.scale];
    const series = data.names.slice(2).map((name, i) => ({
      label: name,
      stroke: colour("s" + (i % shades)),
      width: 2,
      dash: i ? [8, 3 + i] : undefined,
      points: { show: data.rows.length < 60, size: 5, fill: colour("paper") },
      value: (_, value) => (value === null || value === undefined ? "-" : text(value)),
    }));
    const axis = { stroke: colour("dim"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") },
      font: "12px system-ui, sans-serif" };
    const low = Math.min(0, ...data.rows.flatMap((row) => row.slice(2).filter((v) => v !== null)));
    data.plot = new uPlot({
      width: place.clientWidth,
      height: 220,
      scales: {
        x: { time: false, range: (_, from, to) => (from === to ? [from - 1, to + 1] : [from, to]) },
        y: { range: (_, from, to) => [low < 0 ? from : 0, to > 0 || from < 0 ? to + (to - Math.min(from, 0)) * 0.08 : 1] },
      },
      cursor: { drag: { x: false, y: false } },
      legend: { markers: { width: 0, fill: (_, i) => colour("s" + ((i - 1) % shades)) } },
      hooks: { setCursor: [(plot) => plot.cursor.left < 0 && plot.setLegend({ idx: data.rows.length - 1 })] },
      axes: [
        Object.assign({ incrs: steps.count, label: data.names[0], labelSize: 18, labelFont: "12px system-ui, sans-serif", size: 32 }, axis),
        Object.assign({ incrs: steps[place.dataset.scale], size: 76, values: (_, ticks) => ticks.map((v) => text(v)) }, axis),
      ],
      series: [{ label: data.names[0] }].concat(series),
    }, data.names.filter((_, i) => i !== 1).map((_, i) => data.rows.map((row) => row[i ? i + 1 : 0])), place);
    data.plot.setLegend({ idx: data.rows.length - 1 });
    plots.set(place, data);
    reachable(place, data);
  }

  function reachable(place, data) {
    const figure = place.closest("figure");
    figure.classList.add("drawn");
    const area = place.querySelector(".u-wrap");
    area.setAttribute("role", "img");
    area.setAttribute("aria-label", figure.querySelector("h3").textContent + ". " + figure.querySelector(".said").textContent +
      " Arrow keys go from " + data.names[0] + " to " + data.names[0] + ".");
    area.tabIndex = 0;
    place.querySelector(".u-legend").setAttribute("aria-hidden", "true");
    let at = data.rows.length;
    area.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (!step) return;
      event.preventDefault();
      at = Math.max(0, Math.min(data.rows.length - 1, at + step));
      const row = data.rows[at];
      const left = data.plot.valToPos(row[0], "x");
      data.plot.setCursor({ left, top: 20 });
      const words = data.names.slice(2).map((name, i) => {
        const value = row[i + 2];
        return name + " " + (value === null ? "not known" : texts[place.dataset.scale](value));
      });
      figure.querySelector(".readout").textContent = data.names[0][0].toUpperCase() + data.names[0].slice(1) + " " + row[0] + ": " + words.join(", ") + ".";
    });
  }

  // --- a fleet -------------------------------------------------------------------------------

  const search = document.getElementById("search");
  const level = document.getElementById("level");
  const causes = Array.from(document.querySelectorAll(".causes button"));

  function filter() {
    const words = search.value.toLowerCase();
    const cause = causes.find((button) => button.getAttribute("aria-pressed") === "true");
    let count = 0;
    const rows = document.querySelectorAll(".fleet tbody tr");
    rows.forEach((row) => {
      row.hidden = !row.textContent.toLowerCase().includes(words) || valueOf(row.cells[0]) < Number(level.value) ||
        Boolean(cause && row.dataset.group !== cause.dataset.group);
      count += row.hidden ? 0 : 1;
      const link = row.querySelector("a.open");
      if (link) document.getElementById(link.hash.slice(1)).closest("details").hidden = row.hidden;
    });
    document.getElementById("matching").textContent = count + " of " + rows.length + " checkpoints";
  }

  if (search) {
    document.querySelector(".filters").hidden = false;
    search.addEventListener("input", filter);
    level.addEventListener("change", filter);
    causes.forEach((button) => {
      button.disabled = false;
      button.addEventListener("click", () => {
        const pressed = button.getAttribute("aria-pressed") !== "true";
        causes.forEach((other) => other.setAttribute("aria-pressed", String(pressed && other === button)));
        filter();
      });
    });
    filter();
  }

  // --- the whole -----------------------------------------------------------------------------

  function drawAll() {
    document.querySelectorAll("table.sortable").forEach((table) => {
      sortable(table);
      cards(table);
    });
    document.querySelectorAll(".plot").forEach(drawPlot);
  }

  function openTarget() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const holder = target && target.closest("details");
    if (!holder) return;
    holder.open = true;
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  }

  const theme = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  }

  function nameTheme() {
    theme.textContent = isDark() ? "Light colours" : "Dark colours";
  }

  document.getElementById("plain").hidden = true;
  theme.hidden = false;
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
    drawAll();
  });
  dark.addEventListener("change", () => {
    nameTheme();
    drawAll();
  });
  document.querySelectorAll("details").forEach((each) => each.addEventListener("toggle", drawAll));
  addEventListener("hashchange", openTarget);
  let before = "";
  addEventListener("beforeprint", () => {
    before = root.dataset.theme || "";
    root.dataset.theme = "light";
    drawAll();
  });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    drawAll();
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) drawAll();
    width = innerWidth;
  });
  nameTheme();
  openTarget();
  drawAll();
})();
