// What a page says while another comes, hints for the keyboard and for a finger, and copies. A page
// works without it.
const root = document.documentElement;

export function say(text) {
  const status = document.getElementById("status");
  if (status) status.textContent = text;
}

export async function copy(text, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without encryption, a browser has no clipboard but by this older way.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = "Copied";
  say(`${label}: copied.`);
  setTimeout(() => {
    button.textContent = label;
  }, 2000);
}

// --- while another page comes, and when it is there ---

let used = null; // the control that asked for it
let pending = 0; // requests; one that another replaces ends, too

// The controls that may be on the next page too, by their form or table and their name or text.
function controls() {
  const all = document.querySelectorAll("main form :is(input, select, textarea, button), thead a");
  return [...all].map((control) => {
    const place = control.closest("form")?.ariaLabel ?? control.closest("table").id;
    return [`${place} ${control.name || control.textContent.trim()}`, control];
  });
}

function busy(isBusy) {
  root.classList.toggle("busy", isBusy);
  document.getElementById("main")?.setAttribute("aria-busy", String(isBusy));
}

document.addEventListener("htmx:before:request", () => {
  used = controls().find(([, control]) => control === document.activeElement)?.[0] ?? null;
  pending += 1;
  busy(true);
  document.querySelector("p.unanswered")?.remove();
  say("Computing the page.");
});

document.addEventListener("htmx:finally:swap", () => {
  const same = new Map(controls()).get(used);
  (same ?? document.querySelector("main h1"))?.focus({ preventScroll: Boolean(same) });
  begin();
  setTimeout(() => say(`${document.title.split(" · ")[0]}: shown.`), 100);
});

document.addEventListener("htmx:finally:request", () => {
  pending -= 1;
  busy(pending > 0);
});

document.addEventListener("htmx:error", () => {
  const notice = document.createElement("p");
  notice.className = "past unanswered";
  notice.setAttribute("role", "alert");
  notice.textContent = "The server does not answer: this is still the page from before.";
  document.getElementById("main").before(notice);
});

// --- hints: the text that a pointer shows, also for the keyboard and for a finger ---

let hint = null;

function hide() {
  hint?.remove();
  hint = null;
}

function show(of) {
  hide();
  hint = document.createElement("div");
  hint.className = "hint";
  hint.setAttribute("aria-hidden", "true"); // readers of the screen have the title itself
  hint.textContent = of.title;
  document.body.append(hint);
  const place = of.getBoundingClientRect();
  const isBelow = place.bottom + hint.offsetHeight + 8 < innerHeight;
  const left = Math.max(4, Math.min(place.left, innerWidth - hint.offsetWidth - 4));
  const top = isBelow ? place.bottom + 4 : place.top - hint.offsetHeight - 4;
  hint.style.left = `${left + scrollX}px`;
  hint.style.top = `${top + scrollY}px`;
}

document.addEventListener("focusin", (event) => {
  const of = event.target.closest("[title]");
  if (of && event.target.matches(":focus-visible")) show(of);
  else hide();
});

document.addEventListener("click", (event) => {
  const of = event.target.closest("[title]");
  const isOfControl = event.target.closest("a, button, input, select, summary");
  if (of && !isOfControl && !hint) show(of);
  else if (!isOfControl) hide();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide();
});

// --- what each page begins with ---

function begin() {
  hide();
  for (const button of document.querySelectorAll("button.copy")) button.hidden = false;
  // Without a pointer there is no other way to a title that is not a link's.
  for (const one of document.querySelectorAll("main :is(span, th)[title]")) {
    if (!one.querySelector("a, button") && !one.closest("a")) one.tabIndex = 0;
  }
}

begin();
