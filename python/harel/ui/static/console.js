"use strict";

// Where a page is live, its parts are read again from the same address, and those that have changed are replaced: what
// has not changed keeps its focus, its scroll position and its open details. A hidden tab asks for nothing.
const live = document.querySelector("[data-live]");
if (live) {
  const every = Number(live.dataset.live);
  const mark = live.querySelector("[data-live-state]");
  let timer;

  const say = (text, state) => {
    if (mark && mark.textContent !== text) mark.textContent = text;
    if (mark) mark.dataset.state = state;
  };

  const show = (page) => {
    for (const part of live.querySelectorAll("[data-part]")) {
      const fresh = page.getElementById(part.id);
      if (!fresh || fresh.innerHTML === part.dataset.seen) continue;
      const open = part.querySelector("details[open]");
      if (open || part.contains(document.activeElement) && document.activeElement.matches("input, textarea")) continue;
      const address = part.contains(document.activeElement) && document.activeElement.getAttribute("href");
      part.dataset.seen = fresh.innerHTML;
      part.replaceChildren(...fresh.childNodes);
      if (address) part.querySelector(`a[href="${CSS.escape(address)}"]`)?.focus({ preventScroll: true });
    }
  };

  const refresh = async () => {
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (answer.ok) {
        show(page);
        say("live", "live");
      } else {
        say(page.querySelector("[data-problem]")?.textContent ?? "The console failed.", "lost");
      }
    } catch {
      say("The console cannot be reached.", "lost");
    }
    next();
  };

  const next = () => {
    clearTimeout(timer);
    if (!document.hidden) timer = setTimeout(refresh, every);
  };

  for (const part of live.querySelectorAll("[data-part]")) part.dataset.seen = part.innerHTML;
  document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : refresh()));
  next();
}

// A slash leads to the search, as in many programs.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  document.querySelector("[data-find]")?.select();
  document.querySelector("[data-find]")?.focus();
});

// The page before is the one that the browser has.
for (const link of document.querySelectorAll("[data-back]")) {
  link.addEventListener("click", (event) => {
    if (history.length < 2) return;
    event.preventDefault();
    history.back();
  });
}

// A choice in a filter takes effect at once.
for (const input of document.querySelectorAll(".filter select, .filter input[type=checkbox]")) {
  input.addEventListener("change", () => input.form.requestSubmit());
}

// What was said is not said again when the page is loaded again.
const address = new URL(location.href);
if (address.searchParams.has("said")) {
  address.searchParams.delete("said");
  history.replaceState(null, "", address);
}
