// A wide table scrolls: lets the keyboard do so too. The theme wraps tables after the page is loaded.
const reach = () => {
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap")) wide.tabIndex = 0;
};
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
reach();
