// Shows the progress of a background job, and loads the page again when its state has changed.

const SECOND = 1000;
const NEWS = 10; // percent between announcements to screen readers

const shown = document.querySelector("[data-job]");

async function look() {
  const answer = await fetch(shown.dataset.job, { redirect: "error" }).catch(() => null);
  if (answer?.status === 404) return location.reload();
  if (answer?.ok) {
    const { percent, state, has_ended } = await answer.json();
    if (has_ended || state !== shown.dataset.state) return location.reload();
    if (percent !== null) draw(percent);
  }
  setTimeout(look, SECOND);
}

function draw(percent) {
  shown.querySelector("progress").value = percent;
  shown.querySelector(".job-percent").textContent = `${percent}%`;
  const status = shown.querySelector("[role=status]");
  const news = percent - (percent % NEWS);
  if (news && status.dataset.said !== `${news}`) {
    status.dataset.said = news;
    status.textContent = `${news} percent done`;
  }
}

if (shown) setTimeout(look, SECOND);
