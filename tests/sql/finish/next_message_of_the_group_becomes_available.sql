SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_publish('e', 'ev' || n, 3, 100) FROM generate_series(1, 3) n;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);

SELECT is(
    (SELECT f.result FROM lease l, harel_finish('{e}', ARRAY[l.token], '{d}', '{1}', '{1}', p_now => 110) f),
    'finished',
    'the first is finished'
);
SELECT is(
    (SELECT concat_ws(' ', available_at, attempts, priority, token, worker) FROM transport_groups), '110 0 3',
    'the group is free from then on, and keeps its priority'
);
SELECT is(
    (SELECT concat_ws(' ', event, attempts, data, version) FROM harel_next('w', 30, p_now => 110)), 'ev2 1 1 2',
    'the second is handed out with the new state'
);

SELECT * FROM finish();
