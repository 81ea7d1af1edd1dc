// Shows in a chip why an upload failed, if it did, and of the chip's buttons those that help.

export function showProblem(chip, problem, canRetry) {
  const remove = chip.querySelector("[data-removes]");
  chip.dataset.state = problem ? "failed" : "uploading";
  chip.querySelector(".chip-problem").textContent = problem;
  chip.querySelector("[data-retries]").hidden = !canRetry;
  remove.title = problem ? "Remove" : "Cancel";
  remove.setAttribute("aria-label", `${remove.title} ${chip.querySelector(".chip-name").textContent}`);
}
