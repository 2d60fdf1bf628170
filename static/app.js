// What every page needs beyond HTML: the composer's keys and files, toasts, questions, the theme, times in local time.
"use strict";

const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const on = (name, handler, root = document) => root.addEventListener(name, handler);
const composer = one("#composer");
const words = one("#content");
const html = document.documentElement;
const timeZone = html.dataset.zone; // that of the settings, or the browser's; the locale too
const locale = navigator.language.startsWith(html.lang) ? [] : html.lang;
const texts = JSON.parse(one("#texts")?.textContent || "{}"); // there is one where the page is not in English
const text = (english) => texts[english] || english;
const diagrams = new URL("diagrams.js", document.currentScript.src);

// --- theme ----------------------------------------------------------------------------------------------------------

function setTheme(name) {
  html.dataset.theme = name;
  localStorage.setItem("theme", name);
}

const isDark = () => getComputedStyle(html).getPropertyValue("--is-dark").trim() === "1";

for (const button of all("[data-theme-toggle]")) {
  button.hidden = false;
  on("click", () => setTheme(isDark() ? "light" : "dark"), button);
}
for (const select of all("[data-theme-choice]")) {
  select.value = html.dataset.theme;
  on("change", () => setTheme(select.value), select);
}

// --- toasts and questions -------------------------------------------------------------------------------------------

// What a form of a dialog asked for is answered in it: all else is behind the dialog.
function answerOf(asker) {
  const place = asker?.closest("dialog[open] form") || one("#sheet[open]");
  if (!place) return one("#toasts");
  place.insertAdjacentHTML("beforeend", one(":scope > [role=alert]", place) ? "" : '<div role="alert"></div>');
  return place.lastElementChild;
}

function toast(said, asker) {
  const place = answerOf(asker);
  if (all(".toast > span", place).some((shown) => shown.textContent === said)) return;
  const note = one("#toast").content.cloneNode(true);
  one("span", note).textContent = said;
  place.append(note);
  settle();
}

// Toasts stand below the header, whatever its height, and go when they were read: not while one is at them, or away.
function settle() {
  const header = one("main > .top");
  if (header) one("#toasts").style.top = `${header.offsetHeight + 10}px`;
  for (const note of all("#toasts > .toast:not([data-go])")) {
    note.dataset.go = "";
    go(note, note.matches(".bad") ? 30000 : one("form", note) ? 15000 : 6000);
  }
}

function go(note, after) {
  setTimeout(() => (document.hidden || note.matches(":hover, :focus-within") ? go(note, after) : note.remove()), after);
}

const forgive = () => all(".toast.bad").forEach((note) => note.remove()); // what went wrong before

// What happened in other sessions while nobody looked.
const sessionsChanged = () => document.body.dispatchEvent(new Event("sessions-changed"));
on("visibilitychange", () => document.hidden || one(".neighbours :focus") || sessionsChanged());
on("click", (event) => event.target.closest("[data-dismiss]")?.parentElement.remove());
on("htmx:sendError", ({ detail }) => toast(text("The server cannot be reached. Check your connection and try again."), detail.elt));
on("htmx:responseError", ({ detail }) => {
  if (detail.xhr.status >= 500 && detail.xhr.status !== 503) toast(text("The server made a mistake. Try again; an administrator finds it in the log."), detail.elt);
});
on("htmx:beforeSwap", ({ detail }) => {
  const { xhr, requestConfig: { elt } } = detail;
  if (xhr.getResponseHeader("Content-Type")?.startsWith("application/problem+json")) { // refused before a page is asked
    detail.shouldSwap = false;
    toast(JSON.parse(xhr.responseText).detail, elt);
  } else if (detail.isError && isOpen()) {
    detail.target = answerOf(elt);
    if (!detail.target.id) detail.swapOverride = "innerHTML";
  }
});
on("htmx:beforeRequest", ({ detail: { xhr, elt } }) => on("load", () => {
  if (elt.isConnected || xhr.status < 400 || xhr.status > 499) return; // htmx finds no place from a form that went meanwhile
  htmx.swap("#toasts", xhr.responseText, { swapStyle: "beforeend" });
}, xhr));
on("htmx:afterRequest", ({ detail: { elt, requestConfig, successful } }) => {
  if (!successful) return;
  if (requestConfig.verb !== "get") forgive();
  if (elt.matches("#sheet [data-closes]")) one("#sheet").close();
});
on("htmx:confirm", (event) => {
  if (!event.detail.question) return;
  event.preventDefault();
  const dialog = one("#ask");
  one("#ask-words").textContent = event.detail.question;
  one("#ask [value=yes]").textContent = event.detail.elt.dataset.yes || text("Delete");
  dialog.returnValue = "";
  dialog.onclose = () => dialog.returnValue === "yes" && event.detail.issueRequest(true);
  dialog.showModal();
});

// Pages come without the styles of dialogs: they are there before a dialog is.
function dialogStyle() {
  const { style } = one("#sheet").dataset;
  if (one(`link[href="${style}"]`)) return null;
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: style });
  one("link[rel=stylesheet]").after(link);
  return new Promise((done) => (link.onload = link.onerror = done));
}

on("click", async (event) => { // a link to a page that fits into the sheet
  const link = event.target.closest("a[data-sheet]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  await Promise.all([dialogStyle(), htmx.ajax("GET", link.href, { target: "#sheet", swap: "innerHTML" })]);
  if (one("#sheet").childElementCount && !one("#sheet").open) one("#sheet").showModal();
});

on("submit", ({ target }) => { // what waits for another server says so
  if (!target.matches("[data-slow]")) return;
  const button = one("button:not([type=button])", target);
  button.textContent = text("Testing…");
  setTimeout(() => (button.disabled = true));
});

// --- commands and keys ----------------------------------------------------------------------------------------------

// Keys of an input method are nobody's here. Safari ends a composition before the key that ends it: its code still says so.
addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) event.stopImmediatePropagation();
}, true);

const isOpen = () => one("dialog[open]");

on("keydown", async (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    const [palette] = await Promise.all([import(document.body.dataset.palette), dialogStyle()]);
    if (!isOpen()) palette.open();
  } else if (event.key === "?" && !event.target.closest("input, textarea, select") && !isOpen()) one("#keys")?.click();
});

// --- notifications, where somebody has agreed to them ---------------------------------------------------------------

const { notices, news } = document.body.dataset;
const noticesList = one("ul[data-refused]");
if (notices && (noticesList || [localStorage.notices, localStorage.chime].includes("on"))) {
  import(notices).then(({ offer, watch }) => {
    if (noticesList) offer(noticesList, news);
    watch(news);
  });
}

// --- new content, from wherever it came -----------------------------------------------------------------------------

const opened = new Set();

document.addEventListener("toggle", ({ target }) => opened[target.open ? "add" : "delete"](target.id), true);

function dress(root) {
  settle();
  for (const details of all("details[id]", root)) if (opened.has(details.id)) details.open = true;
  for (const time of all("time", root)) {
    const moment = new Date(time.dateTime);
    time.title = moment.toLocaleString(locale, { timeZone });
    if (/^\d\d:\d\d$/.test(time.textContent)) {
      time.textContent = moment.toLocaleTimeString(locale, { hour: "2-digit", minute: "2-digit", timeZone });
    }
  }
  for (const code of all(".prose .code:not(:has(> .copy))", root)) code.append(textButton(text("Copy"), "copy"));
  if (one(".diagram:not(.shown)", root)) import(diagrams).then(({ show }) => show(root));
}

function textButton(label, className = "") {
  return Object.assign(document.createElement("button"), { type: "button", className, textContent: label });
}

on("htmx:load", ({ detail }) => dress(detail.elt));
on("click", async ({ target }) => {
  if (!target.matches(".copy:not(.source)")) return;
  const code = one("code", target.parentElement);
  if (navigator.clipboard) await navigator.clipboard.writeText(code.textContent);
  else { // without TLS, there is only that of a selection
    getSelection().selectAllChildren(code);
    document.execCommand("copy");
  }
  target.textContent = text("Copied");
});

// --- the composer ---------------------------------------------------------------------------------------------------

const picker = composer && one("input[type=file]", composer);

function setFiles(files) {
  const chosen = new DataTransfer();
  for (const file of files) chosen.items.add(file);
  picker.files = chosen.files;
  listFiles();
}

const addFiles = (files) => setFiles([...picker.files, ...files]);

// What was dropped or pasted, but for folders: a browser cannot read them, and nothing would be sent at all.
function filesIn(transfer) {
  const isFolder = (item) => item.webkitGetAsEntry()?.isDirectory;
  const files = [...transfer.items].filter((item) => item.kind === "file" && !isFolder(item)).map((item) => item.getAsFile());
  if (files.length < transfer.files.length) toast(text("Folders cannot be attached. Choose the files in them."));
  return files;
}

function listFiles() {
  one("#chosen").replaceChildren(...[...picker.files].map((file) => {
    const chip = document.createElement("li");
    const button = textButton(`${file.name} ×`);
    button.setAttribute("aria-label", text("Do not attach {name}").replace("{name}", () => file.name));
    on("click", () => setFiles([...picker.files].filter((other) => other !== file)), button);
    chip.append(button);
    return chip;
  }));
}

let sent;

function send(event) {
  if (!words.value.trim() && !picker.files.length) return;
  const chosen = event.altKey ? "#queue-button" : event.ctrlKey || event.metaKey ? "#interject-button" : "#send-button";
  (one(chosen) || one("#send-button")).click(); // htmx sends the name of a button that was clicked, not of one that was submitted with
}

// What is written and not sent survives a reload, in this browser, until one signs out.
const draft = composer && `draft:${composer.getAttribute("action")}`;

function keepDraft() {
  if (words.value.trim()) localStorage.setItem(draft, words.value);
  else localStorage.removeItem(draft);
}

// After a message was sent: what was typed since then stays.
function emptyComposer() {
  const newer = words.value === sent ? "" : words.value;
  composer.reset();
  words.value = newer;
  keepDraft();
  grow();
  listFiles();
  one("[name=key]", composer).value = Math.random().toString(36).slice(2) + Date.now(); // of the next message
}

// As high as its words, where CSS does not do that by itself.
function grow() {
  if (CSS.supports("field-sizing", "content")) return;
  words.style.height = "auto";
  words.style.height = `${words.scrollHeight}px`;
}

on("submit", ({ target }) => {
  if (!target.matches("[data-sign-out]")) return;
  for (const key of Object.keys(localStorage)) if (key.startsWith("draft:") || key === "told") localStorage.removeItem(key);
});

if (composer) {
  words.value ||= localStorage.getItem(draft) || "";
  grow();
  on("input", () => { keepDraft(); grow(); }, words);
  const isTouch = matchMedia("(pointer: coarse)").matches;
  on("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || isTouch) return;
    event.preventDefault();
    send(event);
  }, words);
  on("keydown", (event) => { // Esc ends the task, where it means nothing else: with nothing open, and no other field in use
    if (event.key !== "Escape" || event.defaultPrevented || one("dialog[open], :popover-open")) return;
    const field = document.activeElement;
    if (field === words || field === document.body) one("#stop-button")?.click();
    else words.focus();
  });
  on("click", ({ target }) => {
    const button = target.closest("[data-fill]");
    if (!button) return;
    words.select();
    document.execCommand("insertText", false, button.dataset.fill); // as if typed: Ctrl + Z brings back what was written
  });
  on("change", listFiles, picker);
  on("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    composer.classList.add("over");
  });
  on("dragleave", (event) => event.relatedTarget || composer.classList.remove("over"));
  on("drop", (event) => {
    composer.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    addFiles(filesIn(event.dataTransfer));
  });
  on("paste", ({ clipboardData }) => clipboardData.files.length && addFiles(filesIn(clipboardData)), words);
  on("htmx:xhr:progress", ({ detail }) => {
    if (!picker.files.length || !detail.lengthComputable) return;
    one("#sending").hidden = false;
    one("#sending").value = (100 * detail.loaded) / detail.total;
  }, composer);
  on("htmx:beforeRequest", ({ target }) => {
    if (target !== composer) return;
    sent = words.value;
    keepDraft(); // a sign-out elsewhere has removed it
  }, composer);
  on("htmx:afterRequest", ({ detail, target }) => { // a session that has begun is a redirect, which htmx calls no success
    const isSent = detail.successful || detail.xhr.getResponseHeader("HX-Redirect")?.startsWith("/s/");
    if (target !== composer) return;
    one("#sending").hidden = true;
    if (isSent) emptyComposer();
  });
}
