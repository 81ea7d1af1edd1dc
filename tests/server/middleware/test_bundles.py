"""Bundling modules into one script, and style sheets into one."""

import pytest

from chatapp.server.middleware import bundles

MODULES = {
    "js/chat.js": 'import "./first.js";\nimport "./second.js";\n\nsay("chat");\n',
    "js/first.js": 'import { say, whole as all } from "./words.js";\n\nsay(all(["fir", "st"]));\n',
    "js/second.js": 'import {\n  say,\n} from "./words.js";\nconst whole = "2";\nsay(whole);\n',
    "js/words.js": "export const say = (word) => word;\n"
    'export function whole(parts) {\n  return parts.join("");\n}\n',
}


def script(modules: dict[str, str]) -> str:
    return bundles.scripts("js/chat.js", modules.__getitem__)["js/chat.js"]


def test_each_module_appears_once_after_its_imports() -> None:
    text = script(MODULES)
    places = [text.index(f"$.js_{name} ??=") for name in ("words", "first", "second", "chat")]
    assert places == sorted(places)
    assert all(text.count(f"$.js_{name} ??=") == 1 for name in ("words", "first"))


def test_imports_become_assignments_from_exports() -> None:
    text = script(MODULES)
    assert "const { say, whole: all } = $.js_words;" in text
    assert "return { say, whole };" in text
    assert "export" not in text
    assert "import" not in text


def test_a_lazily_imported_module_is_a_script_of_its_own() -> None:
    later = {
        "js/second.js": 'const open = async () => (await import("./sheet.js")).open();\nopen();\n',
        "js/sheet.js": 'import "./rows.js";\nimport { say } from "./words.js";\n\n'
        "export function open() {\n  say();\n}\n",
        "js/rows.js": "export const rows = [];\n",
    }
    bundled = bundles.scripts("js/chat.js", (MODULES | later).__getitem__)
    assert set(bundled) == {"js/chat.js", "js/sheet.js"}
    assert "$.js_rows" not in bundled["js/chat.js"]
    assert 'import("./sheet.js")' in bundled["js/chat.js"]
    assert "$.js_words ??=" not in bundled["js/sheet.js"]  # it has already run
    assert bundled["js/sheet.js"].index("$.js_rows ??=") < bundled["js/sheet.js"].index(
        "$.js_sheet ??="
    )
    assert bundled["js/sheet.js"].endswith("export const { open } = $.js_sheet;\n")


def test_imports_are_relative_to_the_module_and_lazy_ones_to_its_script() -> None:
    modules = {
        "js/chat.js": 'import "./thread/copying.js";\n',
        "js/thread/copying.js": 'import { say } from "../words.js";\nimport("./menu.js");\n',
        "js/thread/menu.js": 'import { say } from "../words.js";\nimport("../sheet.js");\n',
        "js/words.js": "export const say = (word) => word;\n",
        "js/sheet.js": "",
    }
    bundled = bundles.scripts("js/chat.js", modules.__getitem__)
    assert set(bundled) == {"js/chat.js", "js/thread/menu.js", "js/sheet.js"}
    assert "const { say } = $.js_words;" in bundled["js/chat.js"]
    assert 'import("./thread/menu.js")' in bundled["js/chat.js"]
    assert 'import("../sheet.js")' in bundled["js/thread/menu.js"]


@pytest.mark.parametrize(
    "form",
    [
        "export default 1;",
        "export { one };",
        "export let one = 1;",
        'export * from "./words.js";',
        'import * as words from "./words.js";',
        'import words from "./words.js";',
        'import { say } from "elsewhere";',
        "const here = import.meta.url;",
        "const one = await import(where);",
    ],
)
def test_an_unsupported_form_is_refused(form: str) -> None:
    with pytest.raises(ValueError, match=r"js/first\.js can't be bundled"):
        script(MODULES | {"js/first.js": f"{form}\n"})


def test_an_import_cycle_is_refused() -> None:
    with pytest.raises(ValueError, match=r"js/first\.js imports itself"):
        script(MODULES | {"js/words.js": 'import "./first.js";\n'})


def test_style_sheets_appear_in_the_order_of_their_imports() -> None:
    sheets = {"css/chat.css": '@import "b.css";\n@import "a.css";\nq {}\n', "css/a.css": "a {}\n"}
    bundled = bundles.styles("css/chat.css", (sheets | {"css/b.css": "b {}\n"}).__getitem__)
    assert bundled["css/chat.css"] == "b {}\na {}\nq {}\n"


def test_a_bundled_sheet_finds_what_its_parts_refer_to() -> None:
    sheets = {
        "css/chat.css": '@import "base/a.css";\nb { mask: url("../b.svg") }\n',
        "css/base/a.css": 'a { mask: url("../../a.svg"), url("data:,") }\n',
    }
    assert bundles.styles("css/chat.css", sheets.__getitem__)["css/chat.css"] == (
        'a { mask: url("../a.svg"), url("data:,") }\nb { mask: url("../b.svg") }\n'
    )
