"use strict";

// What the page of a map does besides showing points, which BokehJS does: find, choose and name words.
const wordMap = (() => {
  const FOUND = 10, REACH = 14, FONT = "12px sans-serif";
  const SPACE = 7000; // square pixels of the map for each text
  const TRIED = 4000; // words in view that may get a text
  const APART = 4; // pixels between texts
  const WIDE = 640; // pixels of a map from which on points have their full size
  const $ = (id) => document.getElementById(id);
  let plot, layers, chosen, tags, data, lower, x, y, groups, neighbours, cosines;
  let selected = -1, moved = false, own = false, active = -1, drawing = 0, box;
  const widths = new Map();
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = FONT;

  function bytes(text) {
    return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)).buffer;
  }

  function make(name, attributes = {}, ...children) {
    const element = Object.assign(document.createElement(name), attributes);
    element.append(...children);
    return element;
  }

  function start(models) {
    ({ plot, layers, chosen, tags } = models);
    data = JSON.parse($("data").textContent);
    lower = data.words.map((word) => word.toLowerCase());
    groups = new Uint16Array(bytes(data.groups));
    neighbours = new Int32Array(bytes(data.neighbours));
    cosines = new Int16Array(bytes(data.cosines));
    const n = data.words.length, next = new Uint32Array(layers.length);
    x = new Float32Array(n);
    y = new Float32Array(n);
    const columns = layers.map((layer) => layer.data_source.data);
    for (let i = 0; i < n; i++) {
      const place = next[groups[i]]++;
      x[i] = columns[groups[i]].x[place];
      y[i] = columns[groups[i]].y[place];
    }
    box = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < n; i++) {
      box = [Math.min(box[0], x[i]), Math.max(box[1], x[i]), Math.min(box[2], y[i]), Math.max(box[3], y[i])];
    }
    legend();
    search();
    panel();
    $("in").onclick = () => zoom(1 / 1.6);
    $("out").onclick = () => zoom(1.6);
    $("whole").onclick = whole;
    let size = [0, 0];
    const points = layers.map((layer) => layer.glyph.size.value);
    const resized = () => {
      const before = size;
      size = [plot.inner_width, plot.inner_height];
      layers.forEach((layer, i) => { layer.glyph.size = { value: points[i] * Math.min(1, Math.min(...size) / WIDE) }; });
      if (!moved || !before[0]) whole();
      else look(...middle(), (plot.x_range.end - plot.x_range.start) / before[0]);
    };
    plot.properties.inner_width.change.connect(resized);
    plot.properties.inner_height.change.connect(resized);
    for (const range of [plot.x_range, plot.y_range]) range.change.connect(redraw);
    resized();
    for (const layer of layers) layer.visible = true;
    clearTimeout(drawing);
    texts(); // with the points, in one painting: without a GPU, each takes a second
    requestAnimationFrame(() => setTimeout(() => {
      $("find").disabled = false;
      $("find").placeholder = `Find one of ${n.toLocaleString("en")} words`;
    }));
  }

  // The view

  const unit = () => (plot.x_range.end - plot.x_range.start) / plot.inner_width; // per pixel
  const middle = () => [plot.x_range, plot.y_range].map((range) => (range.start + range.end) / 2);

  function look(cx, cy, perPixel) {
    const w = (perPixel * plot.inner_width) / 2, h = (perPixel * plot.inner_height) / 2;
    own = true;
    plot.x_range.setv({ start: cx - w, end: cx + w });
    plot.y_range.setv({ start: cy - h, end: cy + h });
    own = false;
  }

  function whole() {
    moved = false;
    const wide = (box[1] - box[0]) / Math.max(1, plot.inner_width - 80);
    const high = (box[3] - box[2]) / Math.max(1, plot.inner_height - 60);
    look((box[0] + box[1]) / 2, (box[2] + box[3]) / 2, Math.max(wide, high) || 1e-3);
  }

  function zoom(factor) {
    moved = true;
    look(...middle(), unit() * factor);
  }

  function goTo(i) {
    moved = true;
    const most = Math.max(box[1] - box[0], box[3] - box[2]), far = near(i).map((j) => Math.hypot(x[j] - x[i], y[j] - y[i]));
    const radius = far.length ? far.sort((a, b) => a - b)[Math.floor(far.length * 0.7)] : most / 12; // most neighbours
    look(x[i], y[i], (2.6 * Math.min(Math.max(radius, most / 60), most / 2)) / Math.min(plot.inner_width, plot.inner_height));
  }

  // Texts: in view, most frequent first, without overlap; the word that was chosen and its neighbours come before

  function redraw() {
    moved = moved || !own;
    clearTimeout(drawing);
    drawing = setTimeout(texts, 80);
  }

  function width(word) {
    if (!widths.has(word)) widths.set(word, pen.measureText(word).width);
    return widths.get(word);
  }

  function texts() {
    const { start: x0, end: x1 } = plot.x_range, { start: y0, end: y1 } = plot.y_range;
    const per = unit(), most = (plot.inner_width * plot.inner_height) / SPACE;
    const boxes = [], shown = { x: [], y: [], text: [], colour: [] };
    const seen = new Set();
    let tried = 0;
    const add = (i, colour) => {
      if (seen.has(i) || x[i] < x0 || x[i] > x1 || y[i] < y0 || y[i] > y1 || !layers[groups[i]].visible) return;
      seen.add(i);
      tried++;
      const text = data.words[i].length > 30 ? data.words[i].slice(0, 29) + "…" : data.words[i];
      const left = (x[i] - x0) / per - width(text) / 2 - 2, top = (y1 - y[i]) / per - 23;
      const right = left + width(text) + 4, bottom = top + 17;
      if (i !== selected && (left < 0 || top < 0 || right > plot.inner_width)) return;
      const over = (b) => left < b[2] + APART && b[0] < right + APART && top < b[3] + APART && b[1] < bottom + APART;
      if (boxes.some(over)) return;
      boxes.push([left, top, right, bottom]);
      shown.x.push(x[i]);
      shown.y.push(y[i]);
      shown.text.push(text);
      shown.colour.push(colour);
    };
    if (selected >= 0) [selected, ...near(selected)].forEach((i) => add(i, "#111111"));
    for (let i = 0; i < x.length && boxes.length < most && tried < TRIED; i++) {
      add(i, selected < 0 ? "#202124" : "#80868b");
    }
    tags.data = shown;
  }

  // Words

  const near = (i) => Array.from(neighbours.subarray(i * data.k, (i + 1) * data.k));

  function under(event) {
    let best = -1, least = (REACH * unit()) ** 2;
    for (let i = 0; i < x.length; i++) {
      const distance = (x[i] - event.x) ** 2 + (y[i] - event.y) ** 2;
      if (distance < least && layers[groups[i]].visible) {
        best = i;
        least = distance;
      }
    }
    return best;
  }

  function hover(event) {
    const i = under(event), tip = $("tip");
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.textContent = data.names[groups[i]] ? `${data.words[i]} (${data.names[groups[i]]})` : data.words[i];
    const left = (x[i] - plot.x_range.start) / unit(), top = (plot.y_range.end - y[i]) / unit();
    tip.style.left = `${Math.max(0, Math.min(left + 10, plot.inner_width - tip.offsetWidth))}px`;
    tip.style.top = `${Math.max(0, top - 34)}px`;
  }

  function choose(i) {
    selected = i;
    const rings = i < 0 ? [] : [i, ...near(i)];
    chosen.data = {
      x: rings.map((j) => x[j]),
      y: rings.map((j) => y[j]),
      size: rings.map((_, j) => (j ? 11 : 15)),
      width: rings.map((_, j) => (j ? 1.3 : 2.6)),
    };
    panel();
    texts();
  }

  function panel() {
    const place = $("word");
    if (selected < 0) {
      place.replaceChildren(make("p", { textContent: data.k ? "Click a point to see its nearest words." : "" }));
      if (!data.k) place.replaceChildren();
      return;
    }
    const name = data.names[groups[selected]];
    const parts = [make("h2", { textContent: data.words[selected] })];
    if (name) parts.push(make("p", {}, dot(groups[selected]), ` ${name}`));
    if (data.k) parts.push(make("p", { textContent: "Nearest words, by cosine of the vectors:" }));
    const list = make("ol");
    near(selected).forEach((j, rank) => {
      const cosine = cosines[selected * data.k + rank] / data.parts;
      const parts = [make("span", { textContent: data.words[j] }), make("span", { textContent: cosine.toFixed(3) })];
      const button = make("button", { onclick: () => { choose(j); goTo(j); } }, dot(groups[j]), ...parts);
      list.append(make("li", {}, button));
    });
    place.replaceChildren(...parts, list);
    place.parentElement.scrollTop = 0;
  }

  function dot(group) {
    const point = make("i");
    point.style.background = data.colours[group];
    point.style.display = "inline-block";
    return point;
  }

  function legend() {
    if (data.names.length === 1 && !data.names[0]) return;
    const sizes = new Uint32Array(layers.length);
    for (const group of groups) sizes[group]++;
    const list = make("ul");
    data.names.forEach((name, group) => {
      const parts = [make("span", { textContent: name }), make("span", { textContent: sizes[group].toLocaleString("en") })];
      const button = make("button", { title: name, ariaPressed: "true" }, dot(group), ...parts);
      button.onclick = () => {
        layers[group].visible = !layers[group].visible;
        button.ariaPressed = String(layers[group].visible);
        texts();
      };
      list.append(make("li", {}, button));
    });
    $("legend").append(make("h2", { textContent: "Groups" }), list);
  }

  // The box that finds a word: words that begin with what was typed, then those that hold it

  function search() {
    const input = $("find"), list = $("found");
    const close = () => {
      list.hidden = true;
      active = -1;
      input.setAttribute("aria-expanded", "false");
    };
    const take = (i) => {
      input.value = data.words[i];
      close();
      if (!layers[groups[i]].visible) $("legend").querySelectorAll("button")[groups[i]].click();
      choose(i);
      goTo(i);
    };
    const mark = (place) => {
      active = place;
      [...list.children].forEach((item, j) => item.setAttribute("aria-selected", String(j === place)));
    };
    input.oninput = () => {
      const typed = input.value.trim().toLowerCase();
      if (!typed) {
        close();
        return;
      }
      const found = matches(typed);
      const items = found.map((i) => make("li", { textContent: data.words[i], role: "option", onmousedown: () => take(i) }));
      list.replaceChildren(...(items.length ? items : [make("li", { className: "none", textContent: "no such word" })]));
      list.found = found;
      list.hidden = false;
      input.setAttribute("aria-expanded", "true");
      mark(found.length ? 0 : -1);
    };
    input.onkeydown = (event) => {
      const number = list.hidden ? 0 : (list.found || []).length;
      if (event.key === "Enter" && number) take(list.found[Math.max(0, active)]);
      else if (event.key === "ArrowDown" && number) mark((active + 1) % number);
      else if (event.key === "ArrowUp" && number) mark((active + number - 1) % number);
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
    };
    input.onblur = close;
  }

  function matches(typed) {
    const same = [], first = [], inside = [];
    for (let i = 0; i < lower.length; i++) {
      const place = lower[i].indexOf(typed);
      if (place < 0) continue;
      if (lower[i].length === typed.length) same.push(i);
      else if (place === 0) first.push(i);
      else inside.push(i);
    }
    return [...same, ...first, ...inside].slice(0, FOUND);
  }

  return { start, hover, leave: () => { $("tip").hidden = true; }, tap: (event) => choose(under(event)) };
})();
