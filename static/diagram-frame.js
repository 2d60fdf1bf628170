// Inside the frame: draws one diagram, says how high it is, and knows nothing else.
"use strict";

const TAG = /<(?!br\s*\/?>)(?!\w+>>)(?=[a-z/!])/gi; // mermaid parses labels as HTML before it cleans them; `<br>` and `<<interface>>` are its own
const say = (told) => parent.postMessage(told, "*");

addEventListener("message", async ({ source, data }) => {
  if (source !== parent) return;
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    theme: data.isDark ? "dark" : "neutral",
    fontFamily: "system-ui, sans-serif",
    themeVariables: { edgeLabelBackground: data.isDark ? "#25292a" : "#efede8" },
  });
  document.documentElement.style.colorScheme = data.isDark ? "dark" : "light";
  try {
    const { svg } = await mermaid.render("diagram", data.source.replace(TAG, "#lt;"));
    document.querySelector("main").innerHTML = svg;
    for (const link of document.querySelectorAll("a")) link.replaceWith(...link.childNodes); // none leads anywhere
    measure();
  } catch {
    say({ failed: true });
  }
});

function measure() {
  const svg = document.querySelector("svg");
  svg.style.minWidth = `${svg.viewBox.baseVal.width * 0.75}px`; // on a phone it scrolls before it is too small to read
  say({ height: Math.ceil(svg.getBoundingClientRect().height) + 24 });
}

addEventListener("resize", () => document.querySelector("svg") && measure());
say({ isReady: true });
