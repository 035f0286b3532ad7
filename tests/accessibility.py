"""What axe finds on a page of the browser that keeps people from reading or using it."""

from typing import Any

# Of a page's time nearly all goes into the contrast of each cell. It depends on the styles of a
# text and of all that it is in: of texts alike in these, the first few are looked at.
_LIKE_OTHERS = """
() => {
    const styles = [
        "color", "backgroundColor", "backgroundImage", "opacity", "fontSize", "fontWeight", "fill",
        "textShadow", "filter", "mixBlendMode", "visibility", "display", "position", "clip",
        "clipPath", "overflow", "textIndent",
    ];
    const shortOrSigns = text => text.length < 2 || !/[a-z0-9]/i.test(text);
    const known = new Map(), seen = new Map(), of = new Map();
    for (const one of document.querySelectorAll("*")) {
        const has = getComputedStyle(one);
        const own = [...one.childNodes].filter(node => node.nodeType === Node.TEXT_NODE);
        const text = own.map(node => node.data).join("").trim();
        const key = [
            of.get(one.parentElement), one.tagName, one.matches(":disabled, [aria-disabled]"),
            text === "", shortOrSigns(text), one.checkVisibility(),
            ...styles.map(name => has[name]),
        ].join("|");
        if (!known.has(key)) known.set(key, known.size);
        of.set(one, known.get(key));
        seen.set(key, (seen.get(key) ?? 0) + 1);
        const isField = one.matches("input, select, textarea, button");
        if (seen.get(key) > 3 && text !== "" && !isField)
            one.toggleAttribute("data-like-others", true);
    }
}
"""
_RUN = """
async () => {
    axe.configure({rules: [{id: "color-contrast", selector: "*:not([data-like-others])"}]});
    const found = await axe.run({resultTypes: ["violations"]});
    for (const one of document.querySelectorAll("[data-like-others]"))
        one.removeAttribute("data-like-others");
    return found.violations
        .filter(one => ["serious", "critical"].includes(one.impact))
        .map(one => [one.id, one.nodes[0].html.slice(0, 200)]);
}
"""


def grave(tab: Any) -> list[tuple[str, str]]:
    """What axe finds that is serious or critical, each with the first place of it."""
    from axe_playwright_python.sync_playwright import Axe

    tab.evaluate(_LIKE_OTHERS)
    tab.evaluate(Axe().axe_script)
    return [(name, place) for name, place in tab.evaluate(_RUN)]
