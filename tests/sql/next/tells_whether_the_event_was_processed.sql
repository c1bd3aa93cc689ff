SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas(e, 'd', '{}', 0, 'ev of ' || e) FROM unnest('{a,b,c}'::text[]) e;
    PERFORM harel_publish('a', '{"kind": "x", "id": "ev of a"}', p_now => 100);
    PERFORM harel_publish('b', '{"id": "ev of a"}', p_now => 100);
    PERFORM harel_publish('c', '{"data": {"id": "ev of c"}, "id": "new"}', p_now => 100);
END
$$;

SELECT results_eq(
    $$SELECT group_id, already_processed FROM harel_next('w', 30, 10, p_now => 100) ORDER BY group_id$$,
    $$VALUES ('a', true), ('b', false), ('c', false)$$,
    'by the id of the event, at its top level, and for the execution that it is for'
);
SELECT is((SELECT count(*) FROM transport_messages), 3::bigint, 'it stays in the queue until somebody acks it');

SELECT * FROM finish();
