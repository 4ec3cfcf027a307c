// What both pages use.

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;

export const $ = (id) => document.getElementById(id);

// The answer of the server, to GET without content.
export async function ask(path, content) {
  const options = content === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  };
  const response = await fetch(path, options);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

// Strings among the children become text, never markup.
export function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// An element in the colour of a name, whose hue the server knows.
export function tinted(made, name, hues) {
  made.style.setProperty("--h", hues[name] ?? 210);
  return made;
}

export function percent(share) {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}

// Of the first letter. The direction "auto" leaves out tokens, which are isolated from each other.
export function direction(tokens) {
  const letter = tokens.join("").match(/\p{L}/u);
  return letter && RIGHT_TO_LEFT.test(letter[0]) ? "rtl" : "ltr";
}

// Marks in words: tags, or segments [start, end, name].
export function summary(tokens, marks, separator = " ") {
  if (!marks.length) return "no marks";
  return marks.map((mark) => (typeof mark === "string" ? mark :
    `${tokens.slice(mark[0], mark[1]).join(separator)} (${mark[2]})`)).join(
    typeof marks[0] === "string" ? " " : ", ");
}
