SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit('p', 'd',
    '{}', 0, p_spawn_children => '{c}', p_spawn_root_paths => '{r}', p_spawn_contexts => '{1}');
    PERFORM harel_publish('c', 'ev', p_now => 100);
END
$$;

SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 100)$$, 'its message is not handed out');
SELECT is_empty('SELECT * FROM harel_dead_letters()', 'nor dropped');
SELECT is(
    (SELECT array_agg(concat_ws(' ', group_id, available_at, attempts, token, worker)) FROM transport_groups),
    '{"c 100.1 0"}',
    'it is looked at again a little later, and this was no delivery'
);
SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 100.05)$$, 'not before that');
SELECT is(harel_relay_spawns(p_now => 100.05), 1, 'once the child is created');
SELECT is(
    (SELECT concat_ws(' ', group_id, event, attempts, status) FROM harel_next('w', 30, p_now => 100.1)),
    'c ev 1 PENDING',
    'it is handed out'
);

SELECT * FROM finish();
