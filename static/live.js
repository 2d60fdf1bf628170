// The session's page while things happen. HTML comes for what is in the record, and htmx puts it in its place; JSON comes
// for what streams: words as HTML by blocks, all else as text. What is shown, and when it goes, is decided by the server.
"use strict";

const live = one("#live");
let title = document.title;
let socket;
let wasAtEnd = true;

// --- the connection -------------------------------------------------------------------------------------------------

const lastSeq = () => Math.max(0, ...all("#entries [data-seq]").map((item) => Number(item.dataset.seq)));

htmx.createWebSocket = (url) => new WebSocket(`${url}?after=${lastSeq()}&language=${html.lang}`);
htmx.config.wsReconnectDelay = (retries) => Math.min(10_000, 300 * 2 ** retries) * (0.5 + Math.random() / 2);

const CLOSED = {
  4401: text("You are signed out. Reload the page to sign in."),
  4403: text("An administrator must add this address to ALLOWED_HOSTS."),
  4429: text("Too many pages of yours are open. Close some, then reload this one."),
  4404: text("This session was deleted, or is no longer shared with you."),
};

function say(said) {
  const note = one("#connection");
  const atEnd = isAtEnd();
  note.hidden = !said;
  if (said) note.textContent = said;
  if (atEnd) toEnd(); // it takes a line from what is read
}

on("htmx:wsOpen", ({ detail }) => {
  socket = detail.socketWrapper;
  if (!one("#connection").hidden) forgive();
  say("");
  live.replaceChildren(); // what streams now comes again from its beginning
});
on("htmx:wsClose", ({ detail }) => say(CLOSED[detail.event.code] || text("The connection was lost. Reconnecting …")));
on("online", () => socket?.reconnect(), window);

// --- the text that streams ------------------------------------------------------------------------------------------

const length = (text) => [...text].length; // offsets count code points, strings count UTF-16 units

function placeOf({ stream, kind }) {
  const place = one(`[data-live="${kind}"][data-of="${stream}"]`);
  return place || (kind === "tool_output" ? openOutput(stream) : newBubble(stream, kind));
}

function openOutput(stream) {
  const place = all("#entries [data-live=tool_output]").at(-1);
  if (!place) return null;
  place.textContent = "";
  place.hidden = false;
  Object.assign(place.dataset, { of: stream, seen: 0 });
  return place;
}

function newBubble(stream, kind) {
  const template = one(`#live-${kind}`);
  if (!template) return null;
  const bubble = template.content.cloneNode(true).firstElementChild;
  Object.assign(bubble.dataset, { live: kind, of: stream, seen: 0 });
  live.append(bubble);
  return bubble;
}

function add(delta) {
  const place = placeOf(delta);
  if (!place) return;
  const seen = Number(place.dataset.seen);
  const fresh = delta.offset < seen ? [...delta.text].slice(seen - delta.offset).join("") : delta.text;
  if (!fresh) return;
  const target = one("[data-text]", place) || place;
  if (!target.firstChild) target.append("");
  target.firstChild.appendData(fresh);
  place.dataset.seen = delta.offset + length(delta.text);
  if (delta.kind === "tool_output") place.scrollTop = place.scrollHeight;
}

// Markdown: blocks that are closed stay, only the open one is replaced, and a tail goes behind its last character.
function addProse(told) {
  const place = placeOf(told);
  if (!place) return;
  const target = one("[data-text]", place);
  if (told.whole) target.replaceChildren();
  if (told.open !== null) {
    const kept = told.whole ? 0 : Number(target.dataset.closed || 0);
    while (target.childElementCount > kept) target.lastElementChild.remove();
    target.insertAdjacentHTML("beforeend", told.closed); // sanitised, as all that comes
    target.dataset.closed = target.childElementCount;
    target.insertAdjacentHTML("beforeend", told.open);
    dress(target);
  }
  if (told.tail) (all("p, li, td, th, pre code, h1, h2, h3, h4, h5, h6", target).at(-1) || target).append(told.tail);
}

// The entry that says what became of the text is on its way: the page does not jump in between.
function withdraw(stream) {
  for (const bubble of all(`[data-of="${stream}"]`, live)) {
    bubble.dataset.withdrawn = "";
    setTimeout(() => bubble.remove(), 250);
  }
}

function removeRecorded() {
  for (const bubble of all("[data-of]", live)) {
    const { of, withdrawn } = bubble.dataset;
    if (withdrawn === "" || one(`#entries [data-stream="${of}"]`)) bubble.remove();
  }
}

// --- before and after each message ----------------------------------------------------------------------------------

function named(given) {
  title = `${given} · agentsite`;
  retitle();
  for (const field of all("#title:not(:focus)")) field.value = given;
  sessionsChanged();
}

const asks = () => !!one("#state[data-waiting]");
const retitle = () => (document.title = (asks() ? "● " : "") + title);

on("htmx:wsBeforeMessage", (event) => {
  wasAtEnd = isAtEnd();
  const { message } = event.detail;
  if (message[0] !== "{") return;
  event.preventDefault();
  const told = JSON.parse(message);
  if (told.type === "delta") add(told);
  else if (told.type === "prose") addProse(told);
  else if (told.type === "title") named(told.title);
  else withdraw(told.stream);
  follow();
});

on("htmx:wsAfterMessage", () => {
  removeRecorded();
  if (asks() !== (document.title[0] === "●")) sessionsChanged(); // with it comes how many wait
  retitle();
  follow();
});

// Without what differs between two renderings of the same: forms in a pushed piece have no token, htmx marks what it has put in.
function bare(piece) {
  const copy = piece.cloneNode(true);
  for (const extra of all("[name=csrfmiddlewaretoken], .copy, .diagram iframe, .later > *, selectedcontent", copy)) extra.remove();
  for (const element of [copy, ...all("[class]", copy)]) {
    element.classList.remove("htmx-added", "htmx-settling", "shown");
    if (!element.className) element.removeAttribute("class");
  }
  return copy;
}

// What stands where the focused element stood, once its piece was replaced: the one with its id, or the same kind at its position.
function twinOf(focused, position, pieceId) {
  if (focused.id) return document.getElementById(focused.id);
  const twin = all(`#${CSS.escape(pieceId)} *`)[position];
  return twin?.tagName === focused.tagName ? twin : null;
}

// After a reconnect everything comes again. A piece that looks the same stays, or a click on it would be lost; one that is
// replaced keeps what was typed into it, and the focus.
on("htmx:oobBeforeSwap", ({ detail }) => {
  const { target, fragment } = detail;
  const twins = fragment.nodeType === Node.DOCUMENT_FRAGMENT_NODE && fragment.childElementCount === 1;
  if (twins && bare(target).isEqualNode(bare(fragment.firstElementChild))) {
    detail.shouldSwap = false;
    return;
  }
  const focused = document.activeElement;
  const position = all("*", target).indexOf(focused);
  for (const field of all(":is(input, textarea)[id]", target)) {
    const twin = one(`#${CSS.escape(field.id)}`, fragment);
    if (twin) twin.value = field.value;
  }
  for (const picker of all("#files [type=file]", target)) {
    picker.value = ""; // what was chosen before was sent at once; its dialog may be open again
    one("[type=file]", fragment)?.replaceWith(picker);
  }
  if (position >= 0) queueMicrotask(() => twinOf(focused, position, target.id)?.focus({ preventScroll: true }));
});

// --- staying at the end ---------------------------------------------------------------------------------------------

const isAtEnd = () => html.scrollHeight - window.innerHeight - window.scrollY < 120;
const toEnd = () => window.scrollTo(0, html.scrollHeight);

function follow() {
  if (wasAtEnd) toEnd();
  else one("#to-end").hidden = false;
}

on("click", toEnd, one("#to-end"));
on("scroll", () => {
  if (isAtEnd()) one("#to-end").hidden = true;
}, window);

// A session opens at its end, and stays there while pictures come in, until the reader does something.
if (!location.hash.startsWith("#e") || location.hash === "#end") {
  toEnd();
  const growing = new ResizeObserver(toEnd), stop = () => growing.disconnect();
  growing.observe(document.body);
  let top = 0;
  on("scroll", () => {
    if (window.scrollY < top && !isAtEnd()) stop();
    top = window.scrollY;
  }, window);
  on("pointerdown", stop);
  on("keydown", stop);
}

// Earlier entries come in above: what is read stays where it is.
let below;
on("htmx:beforeSwap", ({ detail }) => (below = detail.target.matches(".earlier") ? html.scrollHeight - window.scrollY : 0));
on("htmx:afterSwap", () => below && window.scrollTo(0, html.scrollHeight - below));

// What is folded away is fetched when it is opened: until then it is a link. A menu is seen as a whole.
document.addEventListener("toggle", async ({ target }) => {
  const link = target.open && one(":scope > .later > a:only-child", target);
  if (link) await htmx.ajax("GET", link.href, { source: link, target: link.parentElement, swap: "innerHTML", select: ".inside > *, .diffs > *, table.checks" });
  if (target.matches(".branch[open]")) target.scrollIntoView({ block: "nearest" });
}, true);

setInterval(() => {
  for (const span of all("[data-since]")) {
    const began = new Date(span.dataset.since);
    const seconds = Math.max(0, (Date.now() - began) / 1000) | 0;
    span.title = began.toLocaleTimeString(locale);
    span.textContent = seconds < 60 ? `${seconds} s` : `${(seconds / 60) | 0} min ${seconds % 60} s`;
  }
}, 1000);

// A link to an entry that is not on the page: earlier ones are fetched until it is.
function reach() {
  if (!/^#e\d/.test(location.hash) || one(location.hash)) return;
  one("#entries").addEventListener("htmx:afterSettle", () => (one(location.hash) ? one(location.hash).scrollIntoView() : reach()), { once: true });
  one(".earlier a")?.click();
}

on("hashchange", reach, window);
on("load", reach, window); // htmx is ready by then
