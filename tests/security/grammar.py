"""Texts as an attacker writes them: Markdown, formulas and attributes, interleaved."""

from hypothesis import strategies as st

# fmt: off
QUOTES = [
    '"', "'", "`", "&quot;", "&#34;", "&#x22;", "&apos;", "\\\"", "%22", "\u201d",
]
ANGLES = [
    "<", ">", "&lt;", "&gt;", "&#60;", "&#x3e;", "\\<", "/>", "<!--", "-->", "<![CDATA[", "]]>",
]
SPACES = [
    " ", "\t", "\n", "\n\n", "  \n", "\xa0", "\x0c", "\0", "&Tab;", "&NewLine;", "\u2028", "/",
]
ATTRIBUTES = [
    "hx-get=/x", 'hx-post="/x"', "hx-trigger=load", "hx-on:click=alert(1)", "hx-ws:send",
    'id="app"', "data-hx-get=/x", "data-copy=main", "onload=alert(1)", 'style="color:red"',
    'name="message"', 'class="waiting"', "hx-swap-oob=true", "ws-send", "title=x", "lang=de",
    "autofocus", "src=x",
]
ADDRESSES = [
    "http://a.b", "https://a.b/?q=1&r=2#f", "mailto:a@b.c", "javascript:alert(1)",
    "JaVa\tScript:x", "data:text/html,x", "vbscript:x", "//a.b", "/local", "http:a", "www.a.b",
    "a@b.cd", "#x", "ftp://a.b", "&#106;avascript:x", "java&Tab;script:x", "x:y",
    "http://a.b/%EF%B7%910%EF%B7%92", "xmpp:a@b.c",
]
TAGS = [
    "<b>", "</b>", "<script>", "</script>", "<img src=x onerror=y>", "<svg>", "<math>", "<mglyph>",
    "<style>", "<template>", "<hx-partial hx-target=body>", "</hx-partial>", "<br>", "<table>",
    "</td>", "<noscript>", "<title>", "<textarea>", "<xmp>", "<annotation-xml>", "</p>",
    "<a href=x>", "<?x?>",
]
TEX = [
    "x^2", "\\frac{a}{b}", "\\text{", "}", "\\href{javascript:x}{y}", "\\style{", "\\class{",
    "\\color{", "\\begin{array}{c|c}", "\\end{array}", "a&b\\\\", "\\hspace{2em}", "\\left(",
    "\\right)", "\\unicode{60}", "\\mathbf{x}", "\\operatorname{x}", "\\rule{1em}{1em}",
    "\\raise{1em}{x}", "\\bbox[red]{x}", "\\tag{1}", "\\tag{", "\\ce{", "\\ce{2H2 ->[x] O2}",
    "\\SI{1}{", "\\begin{align}", "\\end{align}", "\\begin{cases}", "\\end{cases}", "\\hline",
    "\\boxed{", "\\xcancel{", "\\textbf{", "\\raisebox{1em}{x}", "\\eqref{", "\\label{",
    "\\substack{", "\\cfrac12",
]
MARKS = [
    "*", "**", "_", "~~", "`", "``", "[", "]", "(", ")", "](", "![", "![a](", "[a]: ", "[a]",
    "[a][b]", "|", "---", "|-|\n", "# ", "> ", "- ", "1. ", "- [x] ", "```", "~~~", "\\", "&", ";",
    "=", "$", "$$", "\\(", "\\)", "\\[", "\\]", "&#64977;0&#64978;", "&#xFDD0;", "\ufdd1", "word",
    "7", "\u202e", "&#0;", "&amp;",
]
# fmt: on

atoms = st.sampled_from(
    QUOTES + ANGLES + SPACES + ATTRIBUTES + ADDRESSES + TAGS + TEX + MARKS
) | st.text(max_size=3)
jumble = st.lists(atoms, max_size=5).map("".join)
formulas = st.one_of(
    jumble.map(lambda tex: f"${tex}$"),
    jumble.map(lambda tex: f"$${tex}$$"),
    jumble.map(lambda tex: f"\\({tex}\\)"),
    jumble.map(lambda tex: f"\\[{tex}\\]"),
)
inside = jumble | formulas
titles = st.one_of(
    inside.map(lambda text: f'"{text}"'),
    inside.map(lambda text: f"'{text}'"),
    inside.map(lambda text: f"({text})"),
)
addresses = st.sampled_from(ADDRESSES) | inside | inside.map(lambda text: f"<{text}>")
pieces = st.one_of(
    inside,
    st.builds("[{}]({} {})".format, inside, addresses, titles),
    st.builds("![{}]({} {})".format, inside, addresses, titles),
    st.builds("[a]: {} {}\n\n[a] ![{}][a]".format, addresses, titles, inside),
    addresses.map("<{}>".format),
    st.builds("```{}\n{}\n```\n".format, inside, inside),
    st.builds("- ~~~{}\n  {}\n  ~~~\n".format, inside, inside),
    st.builds("|{}|\n|:-:|\n|{}|\n".format, inside, inside),
    st.builds("`{}`".format, inside),
    st.builds("# {}\n".format, inside),
    st.builds("> {}\n".format, inside),
)
texts = st.lists(pieces, min_size=1, max_size=3).map("".join).map(lambda text: text[:160])
