// Before the first paint, so that a chosen theme does not flash. Without a choice the system's theme holds.
try {
  document.documentElement.dataset.theme = localStorage.getItem("theme") || "";
} catch {
  // storage is closed to us: the system's theme holds
}
// Pages have their times and days in this zone.
const zone = document.documentElement.dataset.zone || Intl.DateTimeFormat().resolvedOptions().timeZone;
document.cookie = `timezone=${zone};path=/;max-age=31536000;samesite=lax`;
