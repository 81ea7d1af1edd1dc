"""`python -m bench.admitting PROMPTS PROCESSES CONNECTIONS ROUNDS`: admits prompts at once.

Each is stored by the app's own code, in its transaction, in the app's environment: alternately
without any limit and with one for everybody. Prints as JSON, for both, how long each prompt took
from the common start to its commit: seconds, one list per round.
"""

import json
import multiprocessing
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from uuid import UUID, uuid4

import django

UPSTREAM, CAP = "Admitting", 10**14


def main(prompts: int, processes: int, connections: int, rounds: int) -> None:
    django.setup()
    from chatapp.models import Limit, Upstream

    Upstream.objects.create(name=UPSTREAM, base_url="http://upstream.example/v1")
    context = multiprocessing.get_context("spawn")
    begin = context.Barrier(processes + 1)
    taken: SimpleQueue[list[float]] = context.SimpleQueue()
    arguments = begin, taken, prompts // processes, connections, 2 * rounds + 1
    workers = [context.Process(target=admit, args=arguments) for _ in range(processes)]
    for worker in workers:
        worker.start()

    def run_round() -> list[float]:
        begin.wait()
        return [seconds for _ in workers for seconds in taken.get()]

    run_round()  # opens connections and prepares statements
    times: dict[str, list[list[float]]] = {"without": [], "with": []}
    for _ in range(rounds):
        times["without"].append(run_round())
        limit = Limit.objects.create(cap=CAP, measure="tokens", period="month")
        times["with"].append(run_round())
        limit.delete()
    for worker in workers:
        worker.join()
    print(json.dumps(times))


def admit(
    begin: Barrier, taken: "SimpleQueue[list[float]]", prompts: int, connections: int, rounds: int
) -> None:
    """Store this process's share of the prompts each round, each for another person."""
    django.setup()
    from chatapp.models import ModelChoice, Prompt, Upstream, User

    model = ModelChoice(Upstream.objects.get(name=UPSTREAM).pk, "scripted")
    people = list(User.objects.order_by("pk"))

    def store_prompt(number: int) -> float:
        prompt = Prompt("What is there to say?", model, id=uuid4())
        turn = prompt.store(people[number % len(people)], UUID(int=1))
        ended_at = time.monotonic()
        stored.append(turn.reply.pk)
        return ended_at - began_at

    from chatapp.models import Message

    with ThreadPoolExecutor(connections) as threads:
        for _ in range(rounds):
            stored: list[UUID] = []
            begin.wait()
            began_at = time.monotonic()
            taken.put(list(threads.map(store_prompt, range(prompts))))
            # Keeps everybody within the number of concurrent replies a person may have.
            Message.objects.filter(pk__in=stored).update(ending="stopped")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
