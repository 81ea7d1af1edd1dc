// Shows the progress of a background job, and loads the page again when its state has changed.

const SECOND = 1000;
const NEWS = 10; // percent between announcements to screen readers

const jobElement = document.querySelector("[data-job]");

async function poll() {
  const answer = await fetch(jobElement.dataset.job, { redirect: "error" }).catch(() => null);
  if (answer?.status === 404) return location.reload();
  if (answer?.ok) {
    const { percent, state, has_ended } = await answer.json();
    if (has_ended || state !== jobElement.dataset.state) return location.reload();
    if (percent !== null) draw(percent);
  }
  setTimeout(poll, SECOND);
}

function draw(percent) {
  jobElement.querySelector("progress").value = percent;
  jobElement.querySelector(".job-percent").textContent = `${percent}%`;
  const status = jobElement.querySelector("[role=status]");
  const news = percent - (percent % NEWS);
  if (news && status.dataset.said !== `${news}`) {
    status.dataset.said = news;
    status.textContent = `${news} percent done`;
  }
}

if (jobElement) setTimeout(poll, SECOND);
