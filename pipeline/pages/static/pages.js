// What a page does beyond links and forms: the theme, and keys between counted messages. A page
// works without it.
(() => {
  "use strict";
  const root = document.documentElement;
  const themes = ["auto", "light", "dark"];

  function stored() {
    try {
      const theme = localStorage.getItem("magic-theme");
      return themes.includes(theme) ? theme : "auto";
    } catch {
      return "auto"; // a browser may refuse to store, or a file may have no storage
    }
  }

  let theme = stored();
  root.dataset.theme = theme;

  function showTheme() {
    for (const button of document.querySelectorAll("button.theme")) {
      button.hidden = false;
      button.textContent = `Theme: ${theme}`;
    }
  }

  function counted() {
    return [...document.querySelectorAll("tr.counted")];
  }

  function goTo(step) {
    const rows = counted();
    const at = rows.indexOf(document.querySelector("tr.counted.at"));
    const named = rows.indexOf(document.querySelector("tr.counted:target"));
    const from = at >= 0 ? at : named;
    const row = rows[from < 0 ? (step > 0 ? 0 : rows.length - 1) : from + step];
    if (!row) return;
    for (const other of rows) other.classList.remove("at");
    row.classList.add("at");
    history.replaceState(null, "", `#${row.id}`);
    row.scrollIntoView({ block: "center" });
    row.focus({ preventScroll: true });
  }

  document.addEventListener("click", (event) => {
    if (!event.target.closest("button.theme")) return;
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    root.dataset.theme = theme;
    try {
      localStorage.setItem("magic-theme", theme);
    } catch {
      // it holds for this page alone
    }
    showTheme();
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select")) return;
    if (event.key === "n") goTo(1);
    if (event.key === "p") goTo(-1);
  });

  document.addEventListener("DOMContentLoaded", showTheme);
  document.addEventListener("htmx:after:swap", showTheme);
})();
