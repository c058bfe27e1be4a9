"""Prints the table of docs/checks.md from the marks of the kernels and sanitizer.tsv. Usage: python3 table.py"""
import collections
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = ["memory", "init", "shared_race", "global_race", "sync", "calls", "heap", "grid", "lanes", "tiles", "usual", "tensor",
         "fences", "barrier_objects", "waits", "volatile", "read_only", "strict"]
# Why the two differ: number of the note in docs/checks.md.
NOTES = {
    1: "bad_input_changed_in_place bad_atomic_on_the_input bad_write_to_input",
    2: "bad_halo_too_small bad_negative_shared_index bad_local_array_too_small bad_constant_past_the_end "
       "bad_array_of_a_frame_too_small",
    3: "bad_shared_halo_not_loaded bad_tail_of_the_tile bad_shared_histogram_not_zeroed bad_local_partly_filled "
       "bad_bytes_partly_filled bad_half_a_tile_written",
    4: "bad_queue_read_before_the_barrier",
    5: "good_old_volatile_warp_reduce "
       "good_maximum_with_syncwarp",
    6: "bad_blocks_count_without_atomic bad_histogram_without_atomics bad_blocks_write_one_row bad_stencil_in_place "
       "bad_atomic_sum_used_without_a_barrier bad_atomic_sum_used_by_one_block bad_atomic_updates_from_the_same_array "
       "bad_zeroed_by_every_block bad_scratch_without_barrier bad_barrier_does_not_order_blocks bad_partial_sums_overlap "
       "bad_heap_buffer_without_barrier bad_second_grid_sync_missing bad_two_warps_store_one_tile "
       "bad_two_blocks_store_one_tile "
       "bad_last_block_without_fence bad_fence_after_the_count bad_fence_before_the_others_wrote bad_fence_of_one_lane_only "
       "bad_fence_of_block_scope bad_count_of_block_scope bad_last_number_is_not_the_last_to_come bad_histogram_beside_a_fence "
       "bad_one_word_beside_a_last_block bad_flag_set_before_the_data bad_read_before_the_flag bad_lock_opened_without_fence "
       "bad_lock_of_its_own_in_every_block bad_one_block_passes_by_the_lock bad_barrier_of_the_grid_without_fences "
       "bad_second_barrier_of_the_grid_missing bad_relaxed_flag bad_store_over_a_release bad_slot_freed_before_it_was_read "
       "bad_count_that_only_releases bad_wait_by_relaxed_loads bad_fence_is_no_barrier "
       "bad_flag_of_another_block bad_sum_of_blocks bad_sum_of_warps bad_histogram_of_a_warp "
       "bad_maximum_of_threads bad_stores_of_two_blocks bad_relaxed_load_and_store "
       "bad_lanes_store_their_own_values bad_lanes_store_in_pairs bad_lanes_store_their_own_bytes "
       "bad_half_of_a_warp_reads_the_other",
    7: "bad_barrier_in_a_loop_of_own_length",
    8: "bad_warps_at_different_barriers bad_named_barrier_counts_too_many bad_counter_never_moves bad_unsigned_countdown "
       "bad_block_that_leaves_before_the_grid_sync bad_flag_that_nobody_sets "
       "bad_wait_for_the_wrong_parity bad_parity_that_stays bad_more_expected_than_come bad_some_return_before_they_arrive "
       "bad_both_wait_for_each_other "
       "bad_forks_that_are_never_put_back bad_blocks_that_keep_the_second_lock "
       "bad_permit_that_is_never_given_back bad_barrier_that_counts_without_atomics",
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
    23: "good_mutex_in_shared_memory good_hash_table_in_shared_memory good_lock_in_a_loop_with_syncwarp "
        "good_warp_operations_after_a_lock good_two_locks_in_one_order good_flag_of_the_first_lane good_flag_of_the_last_lane "
        "good_warps_by_a_flag_in_shared_memory bad_one_lane_counts_without_the_lock bad_read_before_the_flag_of_a_lane "
        "bad_lock_opened_without_fence_by_lanes "
        "good_flags_of_a_byte_in_shared_memory bad_flag_of_another_warp good_ticket_lock_of_a_block "
        "good_lane_that_releases_for_its_half",
    24: "good_atomic_flag_of_a_lane good_each_lane_after_the_one_before good_each_lane_after_the_next",
    25: "bad_release_of_block_scope",
    26: "bad_initialised_by_all bad_barrier_ends_too_early bad_array_runs_over_the_barrier",
    27: "bad_token_of_an_old_phase",
    28: "bad_not_initialised bad_no_syncthreads_after_init",
    29: "good_copy_with_a_barrier good_primitives good_stages_of_a_pipeline bad_next_copy_before_all_have_read "
        "bad_stages_never_released",
    30: "bad_copy_read_before_the_wait bad_own_copy_read_before_the_arrival bad_stage_read_without_wait",
    31: "bad_ldg_of_what_was_stored bad_ldg_before_the_store",
    32: "good_exchange_that_only_stores",
    33: "bad_atomics_without_a_start",
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
    unpack = ["zstd", "-dcq", os.path.join(HERE, "sanitizer.tsv.zst")]
    for line in subprocess.run(unpack, check=True, capture_output=True, text=True).stdout.splitlines():
        name, tool, kind, number = line.rstrip("\n").split("\t")
        if kind.startswith("Program hit") and rows[name]:
            continue
        kind = re.sub(r".*Race reported between |Barrier error detected. |Malloc/Free Error encountered : |^and ", "", kind).rstrip(".")
        kind = re.sub(r"(__\w+__|cuda\w+)", r"`\1`", kind)
        text = f"{tool}: {kind}" + ("" if number == "-" else f" {number}")
        if text not in rows[name]:
            rows[name].append(text)
    timeouts = [f"{tool}: timeout" for tool in ("initcheck", "memcheck", "racecheck", "synccheck")]
    for name, said in rows.items():
        if set(timeouts) <= set(said):
            rows[name] = ["all tools: timeout"] + [text for text in said if text not in timeouts]
    return rows


def main():
    tools = sanitizer()
    print("| kernel | VM | compute-sanitizer | note |\n|---|---|---|---|")
    for name, marks in machine().items():
        if marks or name in tools or name in NOTE:
            said = ", ".join(tools[name]) or "-"
            # Name each tool once.
            seen = set()
            said = re.sub(r"(\w+): ", lambda m: "" if m[0] in seen or seen.add(m[0]) else m[0], said)
            print(f"| `{name}` | {', '.join(marks) or '-'} | {said} | {NOTE.get(name, '')} |")


main()
