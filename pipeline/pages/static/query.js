// The page of SQL: Ctrl-Enter or Cmd-Enter runs the query, and the browser keeps those that ran.
// The page works without it.
(() => {
  "use strict";
  const name = "magic-queries";
  const most = 20;

  function stored() {
    try {
      const queries = JSON.parse(localStorage.getItem(name));
      return Array.isArray(queries) ? queries.filter((one) => typeof one === "string") : [];
    } catch {
      return []; // a browser may refuse to store, or somebody changed what is stored
    }
  }

  function store(queries) {
    try {
      localStorage.setItem(name, JSON.stringify(queries));
    } catch {
      // the address has the query all the same
    }
  }

  function item(query) {
    const link = document.createElement("a");
    link.href = `?${new URLSearchParams({ query })}`; // in the state of the lake that is open
    link.textContent = query.replace(/\s+/g, " ").trim().slice(0, 200);
    const entry = document.createElement("li");
    entry.append(link);
    return entry;
  }

  function show() {
    const form = document.querySelector("form.query");
    if (!form) return;
    const ran = form.dataset.ran;
    const queries = stored().filter((one) => one !== ran);
    if (ran) store([ran, ...queries].slice(0, most));
    const recent = form.querySelector(".recent");
    recent.querySelector("ul").replaceChildren(...queries.map(item));
    recent.hidden = queries.length === 0;
  }

  document.addEventListener("keydown", (event) => {
    const isRun = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    if (!isRun || !event.target.matches("textarea[data-run]")) return;
    event.preventDefault();
    event.target.form.requestSubmit();
  });

  document.addEventListener("click", (event) => {
    if (!event.target.closest(".recent button")) return;
    store([]);
    delete event.target.form.dataset.ran;
    show();
  });

  document.addEventListener("DOMContentLoaded", show);
  document.addEventListener("htmx:after:swap", show);
})();
