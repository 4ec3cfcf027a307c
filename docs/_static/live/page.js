// The live page: a tagger that labels what is typed, says why, and learns from corrections.

import { Tagger } from "./tagger.js";

const EXAMPLES = [
  "Attn Mary W. Selowick, 15 Street O, Pemenley, DE 17936, USA",
  "Calle Vilaín 7 Piso 1, 18986 Fuenerura",
  "John Ashby, Apt 12 472 Hgh Gardens, Fareworth on Gilelton, XR2 9DZ",
  "Helen Wiermanstraat 9, 8221 BK Velanwijk, Nederland",
  "Waldweeg 1 01107 Bad Schönfeld",
  "Marie Curie, 24 Rue de la Paix, 75002 Paris",
];
const UNSURE = 0.8;
const N_LABELS = 3, N_ROWS = 14;  // of the table of reasons

const $ = (id) => document.getElementById(`live-${id}`);
const number = (x) => (x >= 100 || x < 0.01 ? x.toPrecision(2) : x.toFixed(2));
const percent = (p) => `${(100 * p).toFixed(p < 0.0995 ? 1 : 0)} %`;
const tokens = (text) => text.match(/[,;()]|[^\s,;()]+/gu) ?? [];
const PLACES = {
  "-2": "second word before", "-1": "word before", 0: "word", "+1": "word after",
  "+2": "second word after",
};
const named = (evidence) => evidence.replace(/token(?::(\w+))?\[([+-]?\d)\]/g, (_, feature, k) =>
  (feature ? `${feature} of ${PLACES[k]}` : PLACES[k]));
const type = (label) => label.replace(/^[BI]-/, "");

let tagger, types;
let chosen = 0;             // the token that is explained
const learned = new Map();  // the labels of the sentences that were learned

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function tinted(made, label) {
  const place = types.indexOf(type(label));
  if (place >= 0) made.style.setProperty("--h", Math.round(25 + place * 137.5) % 360);
  made.classList.toggle("none", place < 0);
  return made;
}

function best(row) {
  return row.indexOf(Math.max(...row));
}

function milliseconds(does) {
  const start = performance.now();
  does();
  return Math.max(performance.now() - start, 0.1).toFixed(1);
}

function draw() {
  const words = tokens($("text").value);
  chosen = Math.max(0, Math.min(chosen, words.length - 1));
  let labels, probabilities;
  const time = milliseconds(() => {
    labels = tagger.tag(words);
    probabilities = tagger.probabilities(words);
  });
  $("sentence").replaceChildren(...words.flatMap((word, t) => {
    const p = probabilities[t][tagger.labels.indexOf(labels[t])];
    const made = element("button", { type: "button", className: "live-token" },
      element("bdi", { textContent: word }),
      element("b", { textContent: labels[t] === "O" ? "–" : labels[t] }),
      element("small", { textContent: percent(p) }));
    made.classList.toggle("unsure", p < UNSURE);
    made.setAttribute("aria-pressed", t === chosen);
    made.addEventListener("click", () => {
      chosen = t;
      draw();
      $("sentence").querySelector("[aria-pressed=true]").focus();
    });
    return [tinted(made, labels[t]), " "];
  }));
  $("time").textContent = words.length ? `Labelled in ${time} ms.` : "";
  $("details").hidden = !words.length;
  if (words.length) explain(words, labels, probabilities[chosen]);
}

function explain(words, labels, probabilities) {
  const order = tagger.labels.map((_, j) => j).sort((i, j) => probabilities[j] - probabilities[i]);
  $("word").textContent = words[chosen];
  $("labels").replaceChildren(...order.slice(0, 6).map((j) => offered(words, labels, j,
    probabilities[j])));
  $("other").replaceChildren(element("option", { textContent: "another label", value: "" }),
    ...order.slice(6).map((j) => element("option", { textContent: tagger.labels[j] })));
  const shown = order.slice(0, N_LABELS), [first, second] = shown;
  const evidence = tagger.explain(words, chosen).map((one) => ({ ...one,
    telling: Math.abs(Math.log(one.factors[first] / one.factors[second])) }));
  evidence.sort((a, b) => b.telling - a.telling);
  $("head").replaceChildren(element("th", { textContent: "evidence", scope: "col" }),
    ...shown.map((j) => element("th", { textContent: tagger.labels[j], scope: "col" })));
  $("why").replaceChildren(...evidence.slice(0, N_ROWS).map(({ name, factors, rates, exponent }) =>
    element("tr", {}, element("th", { textContent: named(name), scope: "row" }), ...shown.map((j) => {
      const cell = element("td", { textContent: `× ${number(factors[j])}` });
      if (rates) cell.title = `rate ${number(rates[j])}, exponent ${exponent.toFixed(2)}`;
      const strength = Math.min(1, Math.abs(Math.log(factors[j])) / 3);
      cell.style.setProperty("--s", `${Math.round(34 * strength)}%`);
      cell.className = factors[j] > 1 ? "more" : "less";
      return cell;
    }))));
}

function offered(words, labels, j, p) {
  const label = tagger.labels[j];
  const made = element("button", { type: "button", className: "live-label" },
    `${label} `, element("small", { textContent: percent(p) }));
  made.setAttribute("aria-pressed", label === labels[chosen]);
  made.addEventListener("click", () => correct(words, labels, label));
  return tinted(made, label);
}

// Learn the sentence with one other label, instead of what was learned of it before.
function correct(words, labels, label) {
  const key = words.join(" "), before = learned.get(key);
  const wanted = [...(before ?? labels)];
  wanted[chosen] = label;
  const time = milliseconds(() => {
    if (before) tagger.forget(words, before);
    tagger.learn(words, wanted);
  });
  learned.set(key, wanted);
  say(`${words[chosen]} is ${label}: learned in ${time} ms.`);
  draw();
  $("labels").querySelector("[aria-pressed=true]")?.focus();
}

function undo() {
  for (const [key, labels] of learned) tagger.forget(key.split(" "), labels);
  learned.clear();
  say("All corrections are forgotten.");
  draw();
}

function say(text) {
  $("message").textContent = text;
  const n = learned.size;
  $("learned").textContent = n ? `${n} ${n === 1 ? "address" : "addresses"} learned` : "";
  $("undo").disabled = n === 0;
}

async function start() {
  const opened = performance.now();
  const data = atob($("model").textContent.trim());
  const bytes = new Uint8Array(data.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = data.charCodeAt(i);
  tagger = await Tagger.read(bytes);
  types = [...new Set(tagger.labels.filter((label) => label !== "O").map(type))];
  $("examples").replaceChildren(...EXAMPLES.map((text, k) => {
    const made = element("button", { type: "button", textContent: `Example ${k + 1}` });
    made.addEventListener("click", () => {
      $("text").value = text;
      chosen = 0;
      draw();
    });
    return made;
  }));
  $("text").value = EXAMPLES[2];
  $("text").addEventListener("input", draw);
  $("other").addEventListener("change", () => {
    const words = tokens($("text").value);
    if ($("other").value) correct(words, tagger.tag(words), $("other").value);
  });
  $("undo").addEventListener("click", undo);
  draw();
  $("live").dataset.ready = (performance.now() - opened).toFixed(0);
  say(`The model, ${Math.round(data.length / 1000)} kB, was read and the first address labelled in ` +
    `${$("live").dataset.ready} ms.`);
  for (const made of $("live").querySelectorAll("fieldset")) made.disabled = false;
}

start();
