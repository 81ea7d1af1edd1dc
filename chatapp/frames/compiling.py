"""Templates become Python in Jinja2's own way, but for what would be done again at each drawing.

An icon, or an address without arguments, is the same each time and stands in what is compiled. A
value's HTML goes to the text as it is: as an object that says of itself that it is HTML, of which
nobody asks that, it would take five times as long.
"""

from typing import Any

from jinja2.compiler import CodeGenerator, Frame
from jinja2.nodes import Call, Const, Name, Node, Template
from jinja2.visitor import NodeTransformer
from markupsafe import _escape_inner as escaped_text  # type: ignore[attr-defined] # of a str

CONSTANT = ("icon", "url")  # of the environment's globals: with constants they give constants


def escaped(value: Any) -> str:
    """As `markupsafe.escape`, but a plain string."""
    if type(value) is not str:
        if hasattr(value, "__html__"):
            return str(value.__html__())
        value = str(value)
    return escaped_text(value)


class Generator(CodeGenerator):
    """Jinja2's hook, as its own `NativeEnvironment` has one."""

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
