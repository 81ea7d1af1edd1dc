// Asks for the browser's permission to show notifications (thread/while-streaming.js), only when they are
// turned on in the preferences.

const REFUSED =
  "This browser blocks notifications from this site. Allow them in its settings, then choose again.";

document.addEventListener("change", async ({ target }) => {
  const setting = target.closest("[data-setting=notify]");
  if (!setting) return;
  say("");
  if (target.value && (await permission()) !== "granted") {
    setting.querySelector('[value=""]').click();
    say(REFUSED);
  }
});

// Without HTTPS there is no Notification API.
const permission = async () => window.Notification?.requestPermission() ?? "denied";

function say(problem) {
  const line = document.getElementById("notify-problem");
  line.textContent = problem;
  line.hidden = !problem;
}
