"""`make bench`: figures as ratios within one run, never a verdict.

    python3 -m tests.bench [latency] [memory] [churn] [steady] [stream] [feed] [jail] [neighbour] [warm]   (default: all)
"""

import json
import sys

from tests.instance import Instance

from . import feed, jail, latency, memory, neighbour, steady, stream, warm


PARTS = {
    "latency": latency.measure,
    "memory": memory.idle_tasks,
    "churn": memory.come_and_go,
    "steady": steady.measure,
    "stream": stream.measure,
    "feed": feed.measure,
    "jail": jail.measure,
    "neighbour": neighbour.measure,
    "warm": warm.measure,
}


def main():
    wanted = sys.argv[1:] or list(PARTS)
    with Instance() as instance:
        for part in wanted:
            print(json.dumps({part: PARTS[part](instance)}, indent=1), flush=True)


main()
