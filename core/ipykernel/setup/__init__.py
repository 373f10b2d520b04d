"""What Cellpost does in every Python kernel (core/ipykernel/ipykernel.h)."""

import sys

from _cellpost import (
    cells,
    children,
    commands,
    crash,
    execution,
    figures,
    messages,
    pipes,
    preloaded,
    repair,
    streams,
    threads,
)


def set_up(directory, digest):
    """Once in a kernel's life: one that was set up by another version keeps what
    it has."""
    if not hasattr(sys, "_cellpost_setup"):
        for step in (
            lambda: crash.dump_stack_on_demand(f"{directory}/stack.txt"),
            messages.lose_nothing_on_the_way,
            messages.pack_anything,
            crash.break_into_pdb,
            threads.know_their_starter,
            threads.know_whose_work,
            threads.know_who_put,
            commands.tell_of_failed_ones,
            execution.show_the_lines_of_ex,
            figures.show_all,
            children.write_at_once,
            surround_cells,
        ):
            attempt(step)
    sys._cellpost_setup = digest
    with open(f"{directory}/setup.txt", "w") as file:
        file.write(digest)


def record_imports():
    """For a zygote, around what it imports for its kernels."""
    return preloaded.Recorder()


def put_away(recorder, known):
    """The function that is to be called in a kernel when its directories have
    changed."""
    return preloaded.Preloaded(recorder.needs, known).settle_in


def attempt(step):
    """Each is worth having alone; none may keep a kernel from working."""
    try:
        step()
    except Exception as error:
        print(f"the kernel goes without a part of its setup: {error!r}", file=sys.__stderr__)


def surround_cells():
    from IPython import get_ipython

    shell = get_ipython()
    vars(shell).pop("_showtraceback", None)  # left by ipykernel's start, it hides the class's
    cells.keep_parents_apart()
    terminal = streams.Terminal()
    descriptors = pipes.Descriptors(terminal)
    children.hear_their_end(descriptors)
    children.let_workers_speak(descriptors)
    crash.say_last_words(terminal, descriptors)
    execution.flush_own_streams(terminal)
    execution.remember_errors()
    execution.Execution(shell, terminal, descriptors, repair.Repair(shell))
