// The browser's permission to notify of endings (unseen-endings.js) is asked for when that is chosen in the
// account's menu, and nowhere else.

const REFUSED =
  "This browser lets the site notify of nothing. Allow it in the browser's settings, then choose again.";

document.addEventListener("change", async ({ target }) => {
  const setting = target.closest("[data-setting=notify]");
  if (!setting) return;
  say("");
  if (target.value && (await permission()) !== "granted") {
    setting.querySelector('[value=""]').click();
    say(REFUSED);
  }
});

// A page without https has no notifications to permit.
const permission = async () => window.Notification?.requestPermission() ?? "denied";

function say(problem) {
  const line = document.getElementById("notify-problem");
  line.textContent = problem;
  line.hidden = !problem;
}
