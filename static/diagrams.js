// Diagrams of answers, fetched by a page that has one. Each is drawn in a sandboxed frame that reaches nothing.
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    draw(target);
  }
}, { rootMargin: "300px" });

export function show(root) {
  for (const figure of root.querySelectorAll(".diagram:not(.shown):not(:has(iframe))")) {
    if (!figure.closest("#live")) seen.observe(figure); // what still streams is drawn with its entry
  }
}

const source = (figure) => figure.querySelector("code").textContent;

function draw(figure) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  Object.assign(frame, { src: "/diagram/", title: text("Diagram"), referrerPolicy: "no-referrer" });
  frame.hear = (told) => {
    if (told.isReady) frame.contentWindow.postMessage({ source: source(figure), isDark: isDark() }, "*");
    else if (told.height) fit(figure, frame, told.height);
    else fail(figure, frame);
  };
  figure.append(frame);
}

addEventListener("message", ({ source: from, data }) => {
  for (const frame of document.querySelectorAll(".diagram iframe")) if (frame.contentWindow === from) frame.hear(data);
});

function fit(figure, frame, height) {
  frame.style.height = `${Math.min(Math.max(Number(height), 20), 1600)}px`;
  if (figure.querySelector(".source")) return;
  figure.classList.add("shown");
  const button = Object.assign(document.createElement("button"), { type: "button", className: "copy source", textContent: text("Source") });
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => button.setAttribute("aria-pressed", String(!figure.classList.toggle("shown"))));
  figure.append(button);
}

// What cannot be drawn is shown as it was written.
function fail(figure, frame) {
  frame.remove();
  figure.querySelector("figcaption").textContent = text("Diagram (it cannot be drawn: see its source)");
  figure.classList.remove("diagram");
}
