// The command palette, loaded when it is first asked for: what can be done on this page, by its label.
const dialog = document.querySelector("#palette");
const query = document.querySelector("#command");
const list = document.querySelector("#commands");
const PLACES = ["#sidebar > :not(.brand)", ".top", "#composer", "#panel", ".ask-card", ".failure", "#waiting"];
const SHOWN = 12;

const labelOf = (element) => (element.getAttribute("aria-label") || element.textContent || element.title).trim().replace(/\s+/g, " ");

function commands() {
  const found = new Map();
  for (const element of document.querySelectorAll(PLACES.map((place) => `${place} :is(a[href], button:not([popovertarget]))`).join())) {
    const label = labelOf(element);
    if (label && !element.disabled && !element.hidden && !found.has(label)) found.set(label, element);
  }
  return found;
}

function show() {
  const words = query.value.toLowerCase().split(/\s+/);
  const fitting = [...commands()].filter(([label]) => words.every((word) => label.toLowerCase().includes(word)));
  list.replaceChildren(...fitting.slice(0, SHOWN).map(([label, element]) => {
    const item = document.createElement("li");
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: label });
    button.addEventListener("click", () => {
      dialog.close();
      element.click();
    });
    item.append(button);
    return item;
  }));
}

dialog.addEventListener("keydown", (event) => {
  const buttons = [...list.querySelectorAll("button")];
  const place = buttons.indexOf(document.activeElement);
  const next = { ArrowDown: place + 1, ArrowUp: place - 1 }[event.key];
  if (next !== undefined) {
    event.preventDefault();
    (buttons[next] || query).focus();
  } else if (event.key === "Enter" && place < 0) {
    event.preventDefault();
    buttons[0]?.click();
  }
});
query.addEventListener("input", show);

export function open() {
  query.value = "";
  show();
  dialog.showModal();
}
