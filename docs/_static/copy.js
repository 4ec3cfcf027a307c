// A button on each block of code that copies what can be run: without prompts and without output.

function runnable(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  for (const prompt of [/^(>>> |\.\.\. |>>>$|\.\.\.$)/, /^\$ /]) {
    if (lines.some((line) => prompt.test(line))) {
      const kept = lines.filter((line) => prompt.test(line));
      return kept.map((line) => line.replace(prompt, "")).join("\n") + "\n";
    }
  }
  return text;
}

function addButtons() {
  for (const block of document.querySelectorAll("div.highlight")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const text = runnable(block.querySelector("pre").textContent);
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.append(button);
  }
}

if (typeof document === "undefined") {
  module.exports = { runnable };
} else {
  addEventListener("DOMContentLoaded", addButtons);
}
