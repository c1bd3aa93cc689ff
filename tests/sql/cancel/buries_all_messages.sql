SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "RUNNING"}', 0);
    PERFORM harel_publish('e', 'ev' || n) FROM generate_series(1, 3) n;
    PERFORM harel_next('w', 3600);
END
$$;

SELECT is(harel_cancel('e'), true, 'an execution with messages is cancelled');
SELECT is(
    ARRAY(SELECT concat_ws(' / ', event, reason, attempts, delivered_at IS NOT NULL) FROM harel_dead_letters()),
    '{ev1 / the execution was cancelled / 1 / t,ev2 / the execution was cancelled / 0 / f,'
    'ev3 / the execution was cancelled / 0 / f}', 'they are dead letters, in their order'
);
SELECT is_empty('SELECT * FROM transport_messages', 'no message is left');
SELECT is_empty('SELECT * FROM transport_groups', 'nor the group');

SELECT * FROM finish();
