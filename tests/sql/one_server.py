"""Files whose tests are of a store on one server: why they cannot pass where it is spread over several nodes."""

_SHARDS = "a store is one of several shards or spread over a cluster, not both"
_FLOOR = "the floor of claims is of one server"
_ROLES = "other nodes see a role once it is committed, and not in the transaction of the test"
_ADOPT = "rows are adopted by a store on one server, which is spread afterwards"
_ORDER = "over all nodes the order is that of each source"
_QUEUE = "what is sent stays in the outbox until the relay moves it to its node, under a seq"
_PLACES = "the places of rows tell an order only in one table"
_COPIED = "rows come to another node with a shard, and no longer tell of the transaction that wrote them"
_NUMBERS = "each node numbers its rows, which do not come without it"

DIFFERENT: dict[str, str] = {
    "adopt/refuses_what_no_store_can_hold.sql": _ADOPT,
    "adopt/takes_names_that_need_quoting.sql": _ADOPT,
    "adopt/takes_over_every_row_byte_for_byte.sql": _ADOPT,
    "claim/floor_follows_the_least_live_group.sql": _FLOOR,
    "claim/floor_is_not_looked_below.sql": _FLOOR,
    "claim/floor_never_passes_a_live_group.sql": _FLOOR,
    "claim/floor_stays_half_a_second_behind_the_clock.sql": _FLOOR,
    "claim/fresh_store_has_no_floor.sql": _FLOOR,
    "claim/goes_on_after_the_clock_was_set_back.sql": _FLOOR,
    "claim/group_below_the_floor_is_lifted_and_found.sql": _FLOOR,
    "claim/lifting_takes_a_thousand_at_a_time.sql": _FLOOR,
    "commit/keeps_what_is_for_other_shards.sql": _SHARDS,
    "commit_batch/works_in_the_order_of_the_ids.sql": _PLACES,
    "finish/events_do_not_overtake_those_left_in_the_outbox.sql": _QUEUE,
    "finish/keeps_what_is_for_other_shards.sql": _SHARDS,
    "finish/seqs_are_of_what_stays_in_the_outbox.sql": _QUEUE,
    "foreign_outbox/has_the_events_of_one_shard_in_order.sql": _SHARDS,
    "foreign_outbox/holds_events_for_children_to_come.sql": _SHARDS,
    "foreign_spawns/come_with_what_they_have_of_their_parent.sql": _SHARDS,
    "grant/none_takes_everything_back.sql": _ROLES,
    "grant/reader_can_become_a_worker.sql": _ROLES,
    "grant/reader_may_load_and_list_only.sql": _ROLES,
    "grant/reader_that_was_a_worker_no_longer_writes.sql": _ROLES,
    "grant/takes_a_role_name_that_needs_quotes.sql": _ROLES,
    "grant/worker_is_the_default.sql": _ROLES,
    "grant/worker_may_load_list_and_commit.sql": _ROLES,
    "health/names_a_sequence_that_is_behind.sql": _NUMBERS,
    "join_shards/refuses_another_map.sql": _SHARDS,
    "join_shards/refuses_what_would_be_lost.sql": _SHARDS,
    "join_shards/takes_no_execution_of_another_shard.sql": _SHARDS,
    "join_shards/what_waits_for_others_goes_to_them.sql": _SHARDS,
    "join_shards/writes_the_map_once.sql": _SHARDS,
    "name_shard/keeps_the_name_that_there_is.sql": _SHARDS,
    "next/keeps_messages_of_an_execution_created_meanwhile.sql": "its node sees to each group, by another function",
    "outcome/leaves_out_what_an_earlier_execution_of_the_id_emitted.sql": _COPIED,
    "pending_spawns/returns_the_oldest_first.sql": _ORDER,
    "protect/keeps_what_others_use.sql": _ROLES,
    "publish_many/works_in_the_order_of_the_ids.sql": _PLACES,
    "purge_receipts/forgets_the_oldest.sql": _SHARDS,
    "receive_events/refuses_what_does_not_belong_here.sql": _SHARDS,
    "receive_events/takes_each_once.sql": _SHARDS,
    "receive_spawns/creates_each_child_once.sql": _SHARDS,
    "receive_spawns/refuses_what_does_not_belong_here.sql": _SHARDS,
    "reset_sequences/moves_them_past_the_rows_and_never_back.sql": _NUMBERS,
    "reset_sequences/says_that_there_are_shards.sql": _SHARDS,
    "shard_of/is_the_name_with_the_greatest_hash.sql": _SHARDS,
    "shards/tells_the_map_and_which_one_it_is.sql": _SHARDS,
    "take_outbox/returns_pending_events_oldest_first.sql": _ORDER,
    "waiting_shards/names_those_for_which_something_waits.sql": _SHARDS,
}
