// The page that labels pasted text.

import { $, ask, direction, element, percent, summary, tinted } from "./common.js";

const health = await ask("health");
$("model").textContent = `${health.estimator}, ${health.labels.length} labels`;
if (health.columns) {
  $("by_token").checked = $("by_token").disabled = true;
  $("columns").textContent = `one token in each line, with the columns ${health.columns.join(", ")},`;
}

function input() {
  const text = $("text").value;
  if (!$("by_token").checked) return { text };
  const sentences = text.split(/\n\s*\n/).map((part) => part.split("\n").map((s) => s.trim())
    .filter(Boolean).map(tokenOf));
  return { sentences: sentences.filter((tokens) => tokens.length) };
}

// A line is a word, or columns that are separated by tabs or by spaces.
function tokenOf(line) {
  if (!health.columns) return line;
  const parts = line.split(line.includes("\t") ? "\t" : /\s+/);
  return Object.fromEntries(parts.map((part, k) => [health.columns[k] ?? `column ${k + 1}`, part]));
}

function drawn({ tokens, ...rest }) {
  const words = health.columns ? tokens.map((token) => token[health.columns[0]]) : tokens;
  const sentence = { ...rest, given: tokens, tokens: words };
  const box = element("div", { className: `sentence ${health.kind}`,
    dir: direction(sentence.tokens) });
  const draw = (marks) => box.replaceChildren(...marked(sentence, marks));
  draw(sentence.labellings[0].marks);
  const others = sentence.labellings.map((labelling, i) => {
    const made = element("button", { type: "button", textContent:
      `${percent(labelling.share)} ${summary(sentence.tokens, labelling.marks)}` });
    made.setAttribute("aria-pressed", i === 0);
    made.addEventListener("click", () => {
      for (const other of others) other.firstChild.setAttribute("aria-pressed", other === item);
      draw(labelling.marks);
    });
    const item = element("li", {}, made);
    return item;
  });
  const details = element("details", {}, element("summary", { textContent: "Alternatives" }),
    element("ol", { className: "labellings" }, ...others));
  const why = element("button", { type: "button", textContent: "Why?" });
  why.addEventListener("click", () => explain(sentence));
  return [box, details, element("div", { className: "row" }, why)];
}

function marked(sentence, marks) {
  const made = [];
  let t = 0;
  while (t < sentence.tokens.length) {
    const segment = health.kind === "segments" ? marks.find(([start]) => start === t) : undefined;
    const end = segment ? segment[1] : t + 1;
    const tokens = [];
    for (; t < end; t++) tokens.push(...(tokens.length ? [" "] : []), token(sentence, marks, t));
    const label = segment && element("b", { textContent: segment[2] });
    made.push(...(segment ? [tinted(element("mark", {}, ...tokens, label), segment[2],
      health.hues)] : tokens));
    made.push(" ");
  }
  return made;
}

function token(sentence, marks, t) {
  const made = element("span", { className: "token" },
    element("bdi", { textContent: sentence.tokens[t] }));
  made.title = sentence.likeliest[t].map(([name, p]) => `${name} ${percent(p)}`).join("\n");
  if (health.kind === "tags") {
    made.append(element("b", { textContent: marks[t] }));
    tinted(made, marks[t], health.hues);
  }
  return made;
}

async function explain(sentence) {
  const found = await ask("explain", { tokens: sentence.given });
  const rows = found.tokens.flatMap((word, t) => [
    element("tr", { className: "total" }, element("th", { textContent: word, scope: "row" }),
      element("td", { textContent: found.labels[t] })),
    ...found.contributions[t].map(({ name, value }) => element("tr", {},
      element("td", { textContent: name }),
      element("td", { className: "number", textContent: value.toFixed(3) }))),
  ]);
  $("why").replaceChildren(element("h2", { textContent: "What the scores are made of" }),
    element("table", {}, element("tbody", {}, ...rows)));
  $("why").scrollIntoView({ block: "nearest" });
}

$("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("why").replaceChildren();
  try {
    const { sentences } = await ask("tag", { ...input(), details: true });
    $("message").textContent = `${sentences.length} sentences`;
    $("sentences").replaceChildren(...sentences.flatMap(drawn));
  } catch (error) {
    $("message").textContent = `Not done: ${error.message}`;
  }
});
$("label").disabled = false;  // before, the form would be sent as a page
