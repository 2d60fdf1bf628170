// Notifications and a sound, where somebody has agreed to them: one of the open pages asks for news, all share what was told.
"use strict";

const PERIOD = 5000;
const wants = (what) => localStorage.getItem(what) === "on";

function chime() {
  const audio = new AudioContext();
  const volume = audio.createGain();
  volume.gain.setValueAtTime(0.15, audio.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.6);
  volume.connect(audio.destination);
  for (const [pitch, delay] of [[660, 0], [880, 0.14]]) {
    const tone = audio.createOscillator();
    tone.frequency.value = pitch;
    tone.connect(volume);
    tone.start(audio.currentTime + delay);
    tone.stop(audio.currentTime + 0.6);
  }
}

function tell({ id, title, body, address }) {
  if (document.visibilityState === "visible" && location.pathname === address) return;
  if (wants("chime")) chime();
  if (!wants("notices") || Notification.permission !== "granted") return;
  const shown = new Notification(title, { body, tag: id, icon: document.querySelector("link[rel=icon]").href });
  shown.onclick = () => {
    window.focus();
    location.assign(address);
  };
}

async function look(address) {
  const answer = await fetch(address, { headers: { Accept: "application/json" }, redirect: "error" }).catch(() => null);
  if (!answer?.ok) return;
  const { news } = await answer.json();
  const told = JSON.parse(localStorage.getItem("told") || "null");
  localStorage.setItem("told", JSON.stringify(news.map(({ id }) => id)));
  if (told) news.filter(({ id }) => !told.includes(id)).forEach(tell); // what was there before is no news
}

// Of all pages of this browser the one that holds the lock asks; when it is closed, another one gets it.
export function watch(address) {
  navigator.locks.request("notices", async () => {
    while (wants("notices") || wants("chime")) {
      await look(address);
      await new Promise((wake) => setTimeout(wake, PERIOD));
    }
  });
}

export function offer(list, address) {
  const boxes = { notices: list.querySelector("#notices"), chime: list.querySelector("#chime") };
  boxes.notices.disabled = !("Notification" in window);
  boxes.chime.disabled = false;
  boxes.notices.checked = wants("notices") && Notification.permission === "granted";
  boxes.chime.checked = wants("chime");
  const keep = (what, isOn) => {
    localStorage.setItem(what, isOn ? "on" : "off");
    if (isOn) watch(address);
  };
  boxes.notices.onchange = async ({ target }) => {
    const isAllowed = target.checked && (await Notification.requestPermission()) === "granted";
    const isRefused = target.checked && !isAllowed;
    target.checked = isAllowed;
    keep("notices", isAllowed);
    if (isRefused) list.querySelector("#notices-why").textContent = list.dataset.refused;
  };
  boxes.chime.onchange = ({ target }) => {
    keep("chime", target.checked);
    if (target.checked) chime();
  };
}
