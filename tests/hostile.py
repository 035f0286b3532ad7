"""Texts that an enemy would put into a log, or into the name of a model."""

ESCAPES = {
    "colour": "\x1b[31mred\x1b[0m",
    "clearing the screen": "\x1b[2J\x1b[H",
    "title of the window": "\x1b]0;owned\x07",
    "link": "\x1b]8;;http://example.com\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "report of the cursor": "\x1b[6n",
    "in one byte": "\x9b2J",
    "overwriting": "rm -rf\rls    ",
    "erasing": "evil\b\b\b\bgood",
    "turned round": "\u202egnp.exe",
    "invisible": "gpt-4\u034f\u3164\u200b\ufe0f\U000e0041",
    "path": "../../../../tmp/escaped",
}
MARKUP = [
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "&lt;b&gt; &amp; &", "<!-- x"),
    *("<http://example.com>", "http://example.com www.example.com", "[a](javascript:x)", "![a](b)"),
    *("[a]: http://x", "*a* **b** _c_ __d__ ~~e~~", "`a` ``b``", "a | b \\| c", "\\", "a\\", "$x$"),
    *(
        "# a",
        "- a",
        "+ a",
        "* a",
        "1. a",
        "12) a",
        "> a",
        "---",
        "a\n\n# b",
        "a\n- b",
        "snake_case",
    ),
]
ATTACKS = [
    *('"><script>window.hit=1</script>', "'><img src=x onerror='window.hit=1'>", "</td></table>"),
    *(
        "<svg onload=window.hit=1>",
        "</title><script>window.hit=1</script>",
        "javascript:window.hit=1",
    ),
    *("{{ 7 * 7 }}{% raw %}", "${7*7}", "<style>*{display:none}</style>", "]]><!--", "\u202eevil"),
    *("</textarea><script>window.hit=1</script>", '=HYPERLINK("http://evil.example")'),
    *("' OR 1=1 --", "\\u003cscript\\u003e", "<a href=http://evil.example>x</a>", "hx-get=/x"),
    *("<iframe src=//evil.example>", "<base href=//evil.example>", "<math><mtext></mtext></math>"),
]
"""Markup that runs or breaks out, in a place where it is taken for a part of the page."""
