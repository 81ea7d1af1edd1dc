"""A Jinja2 code generator that moves constant work from rendering to compiling.

Icons and URLs without arguments never change, so their HTML is compiled into the template. An
escaped value is written as a plain `str` rather than as `Markup`, which would take five times as
long and which nothing needs.
"""

from typing import Any

from jinja2.compiler import CodeGenerator, Frame
from jinja2.nodes import Call, Const, Name, Node, Template
from jinja2.visitor import NodeTransformer
from markupsafe import _escape_inner as escaped_text  # type: ignore[attr-defined] # of a str

CONSTANT = ("icon", "url")  # globals whose result depends on their arguments alone


def escaped(value: Any) -> str:
    """Escape like `markupsafe.escape`, but return a plain `str`."""
    if type(value) is not str:
        if hasattr(value, "__html__"):
            return str(value.__html__())
        value = str(value)
    return escaped_text(value)


class Generator(CodeGenerator):
    """Overrides the hooks that Jinja2's own `NativeEnvironment` overrides."""

    def visit_Template(self, node: Template, frame: Frame | None = None) -> None:
        _Constants(self.environment.globals).visit(node)
        super().visit_Template(node, frame)

    def _output_child_pre(self, node: Any, frame: Frame, finalize: Any) -> None:
        if finalize.src is None and frame.eval_ctx.autoescape and not frame.eval_ctx.volatile:
            self.write("environment.escaped(")
        else:
            super()._output_child_pre(node, frame, finalize)


class _Constants(NodeTransformer):
    def __init__(self, known: dict[str, Any]) -> None:
        self._known = known

    def visit_Call(self, node: Call) -> Node:
        name = node.node.name if isinstance(node.node, Name) else ""
        arguments = [one.value for one in node.args if isinstance(one, Const)]
        if name not in CONSTANT or len(arguments) != len(node.args):
            return self.generic_visit(node)
        return Const(self._known[name](*arguments), lineno=node.lineno)
