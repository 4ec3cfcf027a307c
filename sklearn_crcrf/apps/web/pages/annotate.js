// The page for annotation: one sentence at a time, by keyboard or mouse.

import { $, ask, direction, element, percent, summary, tinted } from "./common.js";

const UNSURE = 0.8;

let state = null;       // what the server says of the work
let view = null;        // the sentence that is shown
let marks = [];         // segments [start, end, name], or a tag for each token
let chosen = 0;         // the labelling that the marks were taken from
let cursor = 0, anchor = 0;
let drawn = [], buttons = [];            // what is drawn: the pieces of the sentence, and its tokens
let selected = [], lastCursor = 0;       // tokens that are shown as selected, and with the cursor
let busy = false;

// --- the server ---------------------------------------------------------------------------------

async function act(path, content, message) {
  if (busy) return;
  busy = true;
  try {
    const answer = await ask(path, { by: person(), ...content });
    say(answer.conflict ? conflictText(answer.conflict) : message || "");
    if (answer.state) state = answer.state;
    if ("next" in answer) show(answer.next);
    showState();
  } catch (error) {
    say(`Not done: ${error.message}`);
  } finally {
    busy = false;
  }
}

function conflictText(conflict) {
  return `Accepted. ${conflict.by} had marked this sentence otherwise; yours is the last word, ` +
    "and both are in the log.";
}

function person() {
  return $("by").value.trim() || "me";
}

// --- what is shown ------------------------------------------------------------------------------

function say(text) {
  $("message").textContent = text;
}

function show(next) {
  view = next;
  $("work").hidden = view === null;
  if (view === null) {
    say("Nothing waits: all sentences are done.");
    return;
  }
  const start = view.accepted || (view.given ? { marks: view.given } : view.labellings[0]);
  chosen = view.accepted || view.given ? -1 : 0;
  marks = structuredClone(start.marks);
  [[anchor, cursor]] = [...stops(), [0, 0]];
  drawAll();
  focusCursor();
}

function drawAll() {
  [drawn, buttons, selected] = [[], [], []];
  const box = $("sentence");
  box.className = `sentence ${state.kind}`;
  box.dir = direction(view.tokens);
  box.replaceChildren();
  drawLabellings();
  draw();
}

function draw() {
  drawSentence();
  drawSelection();
  drawNames();
  drawChosen();
  drawAbout();
}

// Draw what has changed of the sentence, since a long one takes seconds as a whole: tokens and
// segments between the first and the last that are not as they were.
function drawSentence() {
  const box = $("sentence"), wanted = pieces();
  let first = 0, after = drawn.length, end = wanted.length;
  while (first < Math.min(after, end) && isSame(drawn[first], wanted[first])) first++;
  while (Math.min(after, end) > first && isSame(drawn[after - 1], wanted[end - 1])) after--, end--;
  const next = drawn[after]?.made ?? null;
  for (const { made } of drawn.slice(first, after)) {
    made.nextSibling.remove();  // the separator
    made.remove();
  }
  const changed = wanted.slice(first, end);
  for (const piece of changed) {
    piece.made = drawPiece(piece);
    box.insertBefore(piece.made, next);
    box.insertBefore(document.createTextNode(state.separator), next);
  }
  drawn = [...drawn.slice(0, first), ...changed, ...drawn.slice(after)];
}

// What the sentence consists of: segments, and single tokens, which may have tags.
function pieces() {
  const isSegments = state.kind === "segments", found = [];
  const starts = new Map(isSegments ? marks.map((segment) => [segment[0], segment]) : []);
  for (let t = 0; t < view.tokens.length; t = found.at(-1).end) {
    const [, end, label] = starts.get(t) ?? [t, t + 1, isSegments ? "" : marks[t]];
    found.push({ start: t, end, label, isSegment: starts.has(t) });
  }
  return found;
}

function isSame(one, other) {
  return one.start === other.start && one.end === other.end && one.label === other.label &&
    one.isSegment === other.isSegment;
}

function drawPiece({ start, end, label, isSegment }) {
  if (!isSegment) return token(start, label);
  const made = element("mark", {}, token(start, label));
  for (let t = start + 1; t < end; t++) made.append(state.separator, token(t, label));
  made.append(element("b", { textContent: label }));
  return tinted(made, label, state.hues);
}

// Show the cursor and the selection, by the tokens that they left and those that they have now.
function drawSelection() {
  const [low, high] = selection();
  for (const t of selected) buttons[t]?.classList.remove("selected");
  selected = Array.from({ length: high - low + 1 }, (_, k) => low + k);
  for (const t of selected) buttons[t].classList.add("selected");
  if (buttons[lastCursor]) buttons[lastCursor].tabIndex = -1;
  buttons[cursor].tabIndex = 0;
  lastCursor = cursor;
}

function token(t, label) {
  const made = element("button", { type: "button", className: "token", tabIndex: -1 },
    element("bdi", { textContent: view.tokens[t] }));
  buttons[t] = made;
  made.dataset.t = t;
  if (state.kind === "tags") {
    made.append(element("b", { textContent: label }));
    tinted(made, label, state.hues);
  }
  made.classList.toggle("unsure", isUnsure(t));
  made.title = view.likeliest[t].map(([name, share]) => `${name} ${percent(share)}`).join("\n");
  made.setAttribute("aria-label", `${view.tokens[t]}, ${label || "no mark"}`);
  return made;
}

function isUnsure(t) {
  const [best] = view.likeliest[t];
  return best !== undefined && best[1] < UNSURE;
}

function drawNames() {
  const shown = keyedNames();
  const buttons = shown.map((name, i) => {
    const key = i < 9 ? [element("kbd", { textContent: i + 1 }), " "] : [];
    const made = element("button", { type: "button", className: "name" }, ...key, name);
    made.addEventListener("click", () => mark(name));
    return tinted(made, name, state.hues);
  });
  if (state.kind === "segments") {
    const none = element("button", { type: "button" },
      element("kbd", { textContent: "0" }), " no mark");
    none.addEventListener("click", () => mark(null));
    buttons.push(none);
  }
  if (state.names.length > shown.length) {
    const more = element("button", { type: "button" },
      element("kbd", { textContent: "t" }), " any label");
    more.addEventListener("click", choose);
    buttons.push(more);
  }
  $("names").replaceChildren(...buttons);
  $("known").replaceChildren(...state.names.map((name) => element("option", { value: name })));
}

// The names with a key: the first ones, or the likeliest tags of the token, if there are many.
function keyedNames() {
  if (state.names.length <= 9) return state.names;
  if (state.kind === "segments") return state.names.slice(0, 9);
  const likely = view.likeliest[cursor].map(([name]) => name);
  return [...new Set([...likely, ...state.names])].slice(0, 9);
}

function drawLabellings() {
  if (view.labellings[0].share === null) {
    $("labellings").replaceChildren(element("li", { className: "quiet", textContent:
      "No proposals yet: mark one sentence and accept it." }));
    return;
  }
  $("labellings").replaceChildren(...view.labellings.map((labelling, i) => {
    const made = element("button", { type: "button" }, `${percent(labelling.share)} `,
      element("bdi", { textContent: summary(view.tokens, labelling.marks, state.separator) }));
    made.addEventListener("click", () => take(i));
    return element("li", {}, made);
  }));
}

function drawChosen() {
  const made = $("labellings").querySelectorAll("button");
  made.forEach((button, i) => button.setAttribute("aria-pressed", i === chosen));
}

function drawAbout() {
  const shares = view.likeliest[cursor].map(([name, share]) => {
    const bar = element("i", {});
    bar.style.width = `${4 * share}em`;
    return element("span", { className: "share" }, bar, `${name} ${percent(share)}`);
  });
  const given = view.given && chosen === -1
    ? [element("span", { className: "share" }, "labels of the file are shown")] : [];
  const flag = view.flagged ? [element("span", { className: "share warn" }, "flagged")] : [];
  $("about").replaceChildren(...shares, ...given, ...flag);
}

function showState() {
  const parts = [`${state.accepted} accepted`, `${state.waiting} waiting`];
  if (state.flagged.length) parts.push(`${state.flagged.length} flagged`);
  if (state.conflicts.length) parts.push(`${state.conflicts.length} in conflict`);
  $("progress").textContent = parts.join(" · ");
  const [n, last] = state.curve.at(-1) ?? [0];
  $("plot").hidden = n === 0;
  $("n").textContent = n;
  $("curve").querySelector("polyline").setAttribute("points", state.curve.map(([k, share]) =>
    `${(100 * (k - 1) / Math.max(n - 1, 1)).toFixed(2)},${(100 - 100 * share).toFixed(2)}`).join(" "));
  $("latest").textContent = n === 0 ? "The curve begins with the first sentence that had a proposal." :
    `${percent(last)} of the tokens of the last sentences had the label that was proposed before ` +
    "the sentence was learned.";
}

// --- marking ------------------------------------------------------------------------------------

function selection() {
  return [Math.min(cursor, anchor), Math.max(cursor, anchor)];
}

function mark(name) {
  const [low, high] = selection();
  if (state.kind === "tags") {
    if (name === null) return;
    for (let t = low; t <= high; t++) marks[t] = name;
    move(high + 1, false);
  } else {
    marks = marks.filter(([start, end]) => end <= low || start > high);
    if (name !== null) marks.push([low, high + 1, name]);
    marks.sort((a, b) => a[0] - b[0]);
    anchor = cursor;
  }
  chosen = -1;
  draw();
  focusCursor();
}

function move(t, isExtending) {
  cursor = Math.max(0, Math.min(t, view.tokens.length - 1));
  if (!isExtending) anchor = cursor;
}

// What Tab goes to: marked segments, and runs of words, or single words, whose label is doubtful.
function stops() {
  const found = state.kind === "segments" ? marks.map(([start, end]) => [start, end - 1]) : [];
  const isDoubtful = (t) => isUnsure(t) && !found.some(([start, end]) => start <= t && t <= end);
  const runs = [];
  for (let t = 0; t < view.tokens.length; t++) {
    if (!isDoubtful(t)) continue;
    if (state.kind === "segments" && runs.at(-1)?.[1] === t - 1) runs.at(-1)[1] = t;
    else runs.push([t, t]);
  }
  return [...found, ...runs].sort((a, b) => a[0] - b[0]);
}

// Select the next or the last of these; false if there is none, so that Tab leaves the sentence.
function jump(isBack) {
  const [low, high] = selection();
  const found = isBack ? stops().findLast(([, end]) => end < low) :
    stops().find(([start]) => start > high);
  if (found) [anchor, cursor] = found;
  return found !== undefined;
}

function take(i) {
  if (!view.labellings.length) return;
  chosen = (i + view.labellings.length) % view.labellings.length;
  marks = structuredClone(view.labellings[chosen].marks);
  draw();
  focusCursor();
}

function focusCursor() {
  buttons[cursor]?.focus({ preventScroll: false });
}

function choose() {
  $("chosen").value = "";
  $("choose").showModal();
}

// --- acts ---------------------------------------------------------------------------------------

const accept = () => act("api/accept", { sentence: view.sentence, marks }, "Accepted.");
const skip = () => act("api/skip", { sentence: view.sentence }, "Skipped.");
const flag = () => act("api/flag", { sentence: view.sentence }, "Flagged.");
const undo = () => act("api/undo", {}, "Undone.");

const KEYS = {
  Enter: accept, s: skip, f: flag, u: undo, t: choose,
  ArrowUp: () => take(chosen - 1), ArrowDown: () => take(chosen + 1),
  "0": () => mark(null), Delete: () => mark(null), Backspace: () => mark(null),
  "/": () => $("text").focus(),
};

function pressed(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || $("choose").open) return;
  if (event.target.closest("input, textarea") || (view === null && event.key !== "u")) return;
  const isOther = event.target.closest("button:not(.token)");
  if (isOther && (event.key === "Enter" || event.key === " ")) return;
  const isToken = event.target.closest(".token") !== null;
  if (event.key === "Tab" ? isToken && jump(event.shiftKey) : goes(event.key, event.shiftKey)) {
    draw();
    focusCursor();
  } else if (/^[1-9]$/.test(event.key)) {
    const name = keyedNames()[event.key - 1];
    if (name !== undefined) mark(name);
  } else if (KEYS[event.key]) {
    KEYS[event.key]();
  } else {
    return;
  }
  event.preventDefault();
}

// Move the cursor by an arrow, Home or End; false for other keys.
function goes(key, isExtending) {
  const isRightToLeft = getComputedStyle($("sentence")).direction === "rtl";
  const step = isRightToLeft ? -1 : 1;
  const places = { ArrowLeft: cursor - step, ArrowRight: cursor + step, Home: 0, End: Infinity };
  if (key in places) move(places[key], isExtending);
  return key in places;
}

function tokenAt(event) {
  const made = event.target.closest && event.target.closest(".token");
  return made ? Number(made.dataset.t) : null;
}

function listen() {
  document.addEventListener("keydown", pressed);
  let isDragging = false;
  $("sentence").addEventListener("pointerdown", (event) => {
    const t = tokenAt(event);
    if (t === null) return;
    isDragging = true;
    event.target.releasePointerCapture?.(event.pointerId);
    move(t, event.shiftKey);
    draw();
    focusCursor();
    event.preventDefault();
  });
  $("sentence").addEventListener("pointerover", (event) => {
    const t = tokenAt(event);
    if (!isDragging || t === null || t === cursor) return;
    move(t, true);
    draw();
    focusCursor();
  });
  document.addEventListener("pointerup", () => { isDragging = false; });
  for (const [id, does] of Object.entries({ accept, skip, flag, undo })) {
    $(id).addEventListener("click", does);
  }
  $("by").value = localStorage.getItem("by") || "";
  $("by").addEventListener("change", () => localStorage.setItem("by", $("by").value));
  $("choose").addEventListener("close", () => {
    if (state.names.includes($("chosen").value)) mark($("chosen").value);
    else focusCursor();
  });
  $("add").addEventListener("submit", async (event) => {
    event.preventDefault();
    await act("api/label", { name: $("name").value.trim() }, "Added.");
    $("name").value = "";
    if (view) drawAll();
  });
  $("search").addEventListener("submit", find);
  // Before, the forms would be sent as pages.
  for (const id of ["add_button", "find_button"]) $(id).disabled = false;
}

async function find(event) {
  event.preventDefault();
  const { found } = await ask("api/search", { by: person(), text: $("text").value });
  say(`${found.length} sentences found.`);
  $("found").replaceChildren(...found.map((one) => {
    const made = element("button", { type: "button", dir: "auto", textContent: one.text });
    made.addEventListener("click", () => act("api/open", { sentence: one.sentence }));
    return element("li", {}, made, one.is_accepted ? " (accepted)" : "");
  }));
}

state = await ask("api/state");
listen();
showState();
await act("api/next", {});
