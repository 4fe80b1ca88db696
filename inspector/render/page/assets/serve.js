"use strict";
// Copies a command line, chooses a batch at once, and loads a page again whose audits are running.
(function () {
  document.querySelectorAll("button.copy").forEach((button) => {
    if (!navigator.clipboard) return;
    button.hidden = false;
    button.addEventListener("click", () => {
      navigator.clipboard.writeText(button.dataset.text).then(
        () => { button.textContent = "Copied"; },
        () => { button.textContent = "Not copied"; },
      );
    });
  });
  const seconds = Number(document.body.dataset.reload);
  if (seconds) setTimeout(() => location.reload(), seconds * 1000);
})();
