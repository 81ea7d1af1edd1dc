"""The actions whose costs are recorded."""

from collections.abc import Awaitable, Callable

from tests.costs.scene import Scene
from tests.costs.table import Cost, CostRecord
from tests.support.fake_upstream import choice, done, finish, role

MORE_RUNS = 3
CALL = {"index": 0, "id": "one", "function": {"name": "current_date_and_time", "arguments": "{}"}}

Action = Callable[[Scene], Awaitable[None]]


async def turn_with_file(scene: Scene) -> None:
    scene.run(f"attach({scene.alice.username!r})")
    await scene.turn()


async def turn_with_tool(scene: Scene) -> None:
    call = (role(), choice({"tool_calls": [CALL]}), finish("tool_calls"), done())
    scene.upstream.script(b"".join(call))
    await scene.turn()


ACTIONS: dict[str, Action] = {  # pages first, while there are 47 chats in the sidebar
    "page of a new chat": lambda at: at.get("/"),
    "page of a chat": lambda at: at.get(at.made["chat"]),
    "page of a chat of ten": lambda at: at.get(at.made["chats"][0]),
    "shared page": lambda at: at.get(at.made["shared"]),
    "search": lambda at: at.get("/search/?q=aurora"),
    "slash list": lambda at: at.get("/prompts/commands/?q=p"),
    "export of a chat": lambda at: at.get(f"{at.made['chats'][0]}markdown/"),
    "page of exports": lambda at: at.get("/exports/"),
    "page of prompts": lambda at: at.get("/prompts/"),
    "page of presets": lambda at: at.get("/presets/"),
    "page of preferences": lambda at: at.get("/preferences/"),
    "page of a project": lambda at: at.get(f"/projects/{at.made['project']}/"),
    "page of people": lambda at: at.get("/people/", at.olive),
    "page of a person": lambda at: at.get(at.made["person"], at.olive),
    "page of limits": lambda at: at.get("/limits/", at.olive),
    "page of usage": lambda at: at.get("/usage/", at.olive),
    "page of the audit log": lambda at: at.get("/audit/", at.olive),
    "page of models": lambda at: at.get("/settings/models/", at.olive),
    "page of shared items": lambda at: at.get("/settings/shared/", at.olive),
    "page of tool servers": lambda at: at.get("/settings/tools/", at.olive),
    "review queue": lambda at: at.get("/review/", at.olive),
    "turn in a new chat": lambda at: at.turn(),
    "turn in a chat of ten": lambda at: at.turn(at.made["chats"].pop()),
    "turn with a preset": lambda at: at.turn(f"/?preset={at.made['preset']}"),
    "turn in a shared project": lambda at: at.turn(f"/projects/{at.made['project']}/"),
    "turn with a file": turn_with_file,
    "turn with a tool": turn_with_tool,
    "tab of a new chat that connects": lambda at: at.connect(),
    "tab of a chat of ten that connects": lambda at: at.connect(at.made["chats"][0]),
    "API request": lambda at: at.complete(),
}


async def measure(scene: Scene, action: str, recorded: CostRecord | None = None) -> Cost:
    """Return the least that the action costs in some runs after one that warms up.

    What the process does by the clock only adds to a cost, so the runs end with one that exceeds no
    record.
    """
    act = ACTIONS[action]
    await act(scene)
    await act(scene)
    least = scene.cost
    for _ in range(MORE_RUNS):
        if recorded and not any(recorded.find_excesses(action, least)):
            break
        await act(scene)
        least = least.least(scene.cost)
    return least
