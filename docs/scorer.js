// The order of search results: pages whose title has what was asked for, recipes and guide come first; then
// reference and examples, and last what only lists words.

var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    const asked = (new URLSearchParams(location.search).get("q") || "").trim().toLowerCase();
    const places = [
      ["recipes/", 10], ["user_guide/", 10], ["tutorial", 10], ["understanding/", 4],
      ["glossary", -200], ["project/", -20], ["api", -10], ["benchmarks", -8],
    ];
    const [, place] = places.find(([beginning]) => page.startsWith(beginning)) || ["", 0];
    const words = title.toLowerCase().split(/[\s():,]+/).join(" ");
    const named = asked && ` ${words} `.includes(` ${asked} `) && place >= 0;
    return score + place + (named ? 20 : 0);
  },
  // The rest is what Sphinx has.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
