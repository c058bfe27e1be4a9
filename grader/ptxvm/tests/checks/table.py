"""Prints the table of docs/checks.md from the marks of the kernels and sanitizer.tsv. Usage: python3 table.py"""
import collections
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = ["memory", "init", "shared_race", "global_race", "sync", "calls", "heap", "grid", "lanes", "tiles", "usual", "tensor",
         "fences", "barrier_objects"]
# Not seen by the tools yet.
UNSEEN = ["fences", "lanes", "barrier_objects"]
# Why the two differ: number of the note in docs/checks.md.
NOTES = {
    1: "bad_input_changed_in_place bad_atomic_on_the_input bad_write_to_input",
    2: "bad_halo_too_small bad_negative_shared_index bad_local_array_too_small bad_constant_past_the_end "
       "bad_array_of_a_frame_too_small",
    3: "bad_shared_halo_not_loaded bad_tail_of_the_tile bad_shared_histogram_not_zeroed bad_local_partly_filled "
       "bad_bytes_partly_filled bad_half_a_tile_written",
    4: "bad_queue_read_before_the_barrier",
    5: "bad_volatile_does_not_wait good_old_volatile_warp_reduce",
    6: "bad_blocks_count_without_atomic bad_histogram_without_atomics bad_blocks_write_one_row bad_stencil_in_place "
       "bad_zeroed_by_every_block bad_scratch_without_barrier bad_barrier_does_not_order_blocks bad_partial_sums_overlap "
       "bad_heap_buffer_without_barrier bad_second_grid_sync_missing bad_two_warps_store_one_tile "
       "bad_two_blocks_store_one_tile",
    7: "bad_barrier_in_a_loop_of_own_length",
    8: "bad_warps_at_different_barriers bad_named_barrier_counts_too_many bad_counter_never_moves bad_unsigned_countdown "
       "bad_block_that_leaves_before_the_grid_sync bad_flag_that_nobody_sets",
    9: "bad_named_barrier_counts_too_few",
    10: "bad_shuffle_in_a_branch bad_ballot_without_itself bad_syncwarp_of_even_lanes bad_vote_in_a_loop_of_own_length "
        "bad_shuffle_on_one_way_only",
    11: "bad_lanes_that_lock_in_two_orders bad_lock_that_stays_taken bad_syncwarp_inside_the_lock "
        "bad_barrier_inside_the_lock bad_blocks_that_wait_for_each_other",
    12: "bad_trap_on_large_values bad_assertion",
    13: "good_producer_and_consumer",
    14: "bad_barrier_inside_the_guard bad_one_warp_counts_one_more bad_sum_not_initialised",
    15: "bad_pointer_past_the_table",
    16: "bad_recursion_without_end",
    17: "bad_reverse_without_grid_sync",
    18: "good_tiles_of_two_warps good_flag_of_the_first_warp bad_flag_before_the_writes good_sums_of_tiles",
    19: "bad_second_sync_of_the_tile_missing bad_read_of_the_other_tile",
    20: "bad_block_of_half_a_warp bad_product_in_a_branch bad_tile_of_each_lane bad_rows_of_half_a_warp",
    21: "bad_odd_stride",
    22: "good_copy_at_the_edge",
}
NOTE = {name: note for note, names in NOTES.items() for name in names.split()}


def machine(files=FILES):
    """What the marks say, by kernel."""
    marks, name = collections.OrderedDict(), None
    for file in files:
        for number, line in enumerate(open(os.path.join(HERE, file + ".cu")), 1):
            if found := re.search(r"__global__ void (\w+)\(", line):
                name = found[1]
                marks[name] = []
            if found := re.search(r"// expect: (.*)", line):
                marks[name] += [f"`{kind}` {number}" for kind in found[1].strip().split(", ")]
    return marks


def sanitizer():
    """What the tools said, by kernel."""
    rows = collections.defaultdict(list)
    for line in open(os.path.join(HERE, "sanitizer.tsv")):
        name, tool, kind, number = line.rstrip("\n").split("\t")
        if kind.startswith("Program hit") and rows[name]:
            continue
        kind = re.sub(r".*Race reported between |Barrier error detected. |Malloc/Free Error encountered : |^and ", "", kind).rstrip(".")
        kind = re.sub(r"(__\w+__|cuda\w+)", r"`\1`", kind)
        text = f"{tool}: {kind}" + ("" if number == "-" else f" {number}")
        if kind == "timeout":
            text = "all tools: timeout"
        if text not in rows[name]:
            rows[name].append(text)
    return rows


def main():
    tools = sanitizer()
    unseen = machine(UNSEEN)
    print("| kernel | VM | compute-sanitizer | note |\n|---|---|---|---|")
    for name, marks in machine().items():
        if marks or name in tools or name in NOTE:
            said = ", ".join(tools[name]) or ("not run" if name in unseen else "-")
            # Name each tool once.
            seen = set()
            said = re.sub(r"(\w+): ", lambda m: "" if m[0] in seen or seen.add(m[0]) else m[0], said)
            print(f"| `{name}` | {', '.join(marks) or '-'} | {said} | {NOTE.get(name, '')} |")


main()
