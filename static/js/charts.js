// Figures: hands the server's JSON to plotly, with colours taken from the page's own tokens.
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

// Custom properties keep light-dark() unresolved; a probe element resolves them for the theme in force.
const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);
function token(name) {
  probe.style.color = `var(--${name})`;
  const channels = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
  const hex = channels.slice(0, 3).map((c) => Math.round(c).toString(16).padStart(2, "0"));
  return `#${hex.join("")}`;
}

// "$c1" anywhere in a figure means the token --c1.
function coloured(value) {
  if (typeof value === "string") return value.startsWith("$") ? token(value.slice(1)) : value;
  if (Array.isArray(value)) return value.map(coloured);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, coloured(inner)]));
  }
  return value;
}

// Where plotly did not arrive, the table has the same numbers.
function toTable(box) {
  box.hidden = true;
  document.getElementById(`${box.id}-table`).hidden = false;
}

function draw(box) {
  if (box.hidden) return;
  if (typeof Plotly === "undefined") return toTable(box);
  const figure = coloured(JSON.parse(document.getElementById(`${box.id}-figure`).textContent));
  const target = box.querySelector(".plot");
  Plotly.react(target, figure.data, figure.layout, CONFIG).then(() => {
    box.querySelector(".chart-wait")?.remove();
    if (box.dataset.brush !== undefined && !box.dataset.listens) {
      box.dataset.listens = "yes";
      target.on("plotly_relayout", (change) => zoom(change));
      target.on("plotly_click", (click) => open(target, click));
    }
  });
}

// A click on a bar goes where its series leads. The click names every series of its day, each
// with the top of its bar: the one that was meant has the lowest top that is not below the hand.
function open(target, { points, event }) {
  const y = event.clientY - target.getBoundingClientRect().top;
  const above = points.filter(({ bbox, data }) => bbox && data.type === "bar" && bbox.y0 <= y);
  const hit = above.reduce((best, one) => (best && best.bbox.y0 >= one.bbox.y0 ? best : one), null);
  if (hit?.data.meta) location.assign(hit.data.meta);
}

// Dragging over days writes the range into the address, so that Back restores what was there.
function zoom(change) {
  const from = change["xaxis.range[0]"];
  const to = change["xaxis.range[1]"];
  if (!from || !to) return;
  const day = (text, add) => {
    const date = new Date(`${String(text).slice(0, 10)}T00:00:00Z`);
    date.setUTCDate(date.getUTCDate() + add);
    return date.toISOString().slice(0, 10);
  };
  const url = new URL(location.href);
  url.searchParams.delete("range");
  const first = String(from).slice(11, 13) >= "12" ? day(from, 1) : day(from, 0);
  const last = String(to).slice(11, 13) >= "12" ? day(to, 1) : day(to, 0);
  url.searchParams.set("from", first);
  url.searchParams.set("to", last > first ? last : day(first, 1));
  location.assign(url);
}

const boxes = [...document.querySelectorAll("[data-chart]")];
const drawAll = () => boxes.forEach(draw);
drawAll();
document.addEventListener("themechange", drawAll);
// Paper has its own palette and width; the screen gets its own back afterwards.
matchMedia("print").addEventListener("change", () => {
  for (const box of boxes) if (!box.hidden) Plotly.Plots.resize(box.querySelector(".plot"));
  drawAll();
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-png]");
  if (!button) return;
  const target = document.querySelector(`#${button.dataset.png} .plot`);
  Plotly.downloadImage(target, { format: "png", scale: 2, filename: button.dataset.png });
});
