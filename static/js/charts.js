// Figures: passes the JSON of the server to plotly, with the colors of the page's tokens.
"use strict";

const CONFIG = {
  displayModeBar: false,
  displaylogo: false,
  responsive: true,
  showSendToCloud: false,
  plotlyServerURL: "",
  doubleClick: false,
  scrollZoom: false,
};

// Custom properties keep light-dark() unresolved; a probe element resolves them for the current theme.
const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);
function token(name) {
  probe.style.color = `var(--${name})`;
  const channels = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
  const hex = channels.slice(0, 3).map((c) => Math.round(c).toString(16).padStart(2, "0"));
  return `#${hex.join("")}`;
}

// "$c1" anywhere in a figure means the token --c1; a format such as "$~s" is none.
function coloured(value) {
  if (typeof value === "string") return /^\$[a-z][a-z0-9-]*$/.test(value) ? token(value.slice(1)) : value;
  if (Array.isArray(value)) return value.map(coloured);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, coloured(inner)]));
  }
  return value;
}

// The sign that "$" stands for in formats of numbers.
function configured({ layout }) {
  const sign = layout.meta?.currency;
  return sign ? { ...CONFIG, locale: "page", locales: { page: { format: { currency: [sign, ""] } } } } : CONFIG;
}

// If plotly did not load, the table shows the same numbers.
function toTable(box) {
  box.hidden = true;
  document.getElementById(`${box.id}-table`).hidden = false;
}

function draw(box) {
  if (box.hidden) return;
  if (typeof Plotly === "undefined") return toTable(box);
  const figure = coloured(JSON.parse(document.getElementById(`${box.id}-figure`).textContent));
  const target = box.querySelector(".plot");
  Plotly.react(target, figure.data, figure.layout, configured(figure)).then(() => {
    box.querySelector(".chart-wait")?.remove();
    if (box.dataset.brush !== undefined && !box.dataset.listens) {
      box.dataset.listens = "yes";
      target.on("plotly_relayout", (change) => zoom(target, change));
      target.on("plotly_click", (click) => open(target, click));
    }
  });
}

// A click on a bar opens the link of its series. The event lists all series of that day with the
// top of each bar: the clicked one has the lowest top that is not below the pointer.
function open(target, { points, event }) {
  const y = event.clientY - target.getBoundingClientRect().top;
  const above = points.filter(({ bbox, data }) => bbox && data.type === "bar" && bbox.y0 <= y);
  const hit = above.reduce((best, one) => (best && best.bbox.y0 >= one.bbox.y0 ? best : one), null);
  if (hit?.data.meta) location.assign(hit.data.meta);
}

// Dragging over bars puts their days into the URL, so that Back restores the earlier range.
function zoom(target, change) {
  const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
  if (from === undefined || to === undefined) return;
  const { edges } = target.layout.meta;
  const at = (place) => Math.min(edges.length - 1, Math.max(0, place));
  const low = at(Math.ceil(Math.min(from, to) - 0.5)); // of bars that are half in it
  const high = at(Math.floor(Math.max(from, to) + 0.5));
  const url = new URL(location.href);
  const [first, after] = [edges[Math.min(low, high)][0], edges[high][1]];
  if (url.searchParams.get("from") === first && url.searchParams.get("to") === after) {
    Plotly.relayout(target, { "xaxis.range": [-0.5, edges.length - 0.5] }); // part of one day
    return;
  }
  for (const key of ["range", "page"]) url.searchParams.delete(key);
  url.searchParams.set("from", first);
  url.searchParams.set("to", after);
  location.assign(url);
}

const boxes = [...document.querySelectorAll("[data-chart]")];
const drawAll = () => boxes.forEach(draw);
drawAll();
document.addEventListener("themechange", drawAll);
// Print uses another palette and width; both are restored afterwards.
matchMedia("print").addEventListener("change", () => {
  for (const box of boxes) if (!box.hidden) Plotly.Plots.resize(box.querySelector(".plot"));
  drawAll();
});

// An exported image includes the title and notes that the page shows around the chart.
const PICTURE = { format: "png", width: 1200, height: 600, scale: 2 };
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function picture(name, { title, note, unit }) {
  const figure = coloured(JSON.parse(document.getElementById(`${name}-figure`).textContent));
  const gaps = figure.layout.shapes?.length ? " · dotted: no data" : "";
  const ink = { size: 13, color: token("ink-2") };
  return {
    data: figure.data.map((one) => ({ ...one, showlegend: one.type === "bar" })),
    layout: {
      ...figure.layout,
      width: PICTURE.width,
      height: PICTURE.height,
      autosize: false,
      margin: { l: 72, r: 24, t: 100, b: 24 },
      showlegend: true,
      legend: { orientation: "h", x: 0, y: -0.12, yanchor: "top", traceorder: "normal", font: ink },
      yaxis: { ...figure.layout.yaxis, title: { text: plain(unit), font: ink, standoff: 12 } },
      title: {
        text: plain(title),
        subtitle: { text: `${plain(note)}${gaps} · GPU Ledger`, font: ink },
        font: { size: 20, weight: 600, color: token("ink") },
        x: 0,
        xref: "paper",
        y: 0.95,
        yanchor: "top",
      },
    },
  };
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-png]");
  if (!button) return;
  const filename = button.dataset.file.replace(/\.png$/, "");
  Plotly.downloadImage(picture(button.dataset.png, button.dataset), { ...PICTURE, filename });
});
