SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas(s, 'd', format('{"status": "%s"}', s), 0)
    FROM unnest('{PENDING,RUNNING,DONE,CANCELLED,FAILED,CANCELLING,cancelled}'::text[]) s;
    PERFORM harel_publish(s, s || n, p_now => 100)
    FROM unnest('{PENDING,RUNNING,DONE,CANCELLED,FAILED,CANCELLING,cancelled}'::text[]) s, generate_series(1, 2) n;
END
$$;

SELECT is(
    ARRAY(SELECT event FROM harel_next('w', 30, 10, p_now => 100) ORDER BY event),
    '{CANCELLING1,DONE1,PENDING1,RUNNING1,cancelled1}', 'those of CANCELLED and FAILED are not handed out'
);
SELECT is(
    ARRAY(SELECT concat_ws(' / ', event, reason) FROM harel_dead_letters() ORDER BY event),
    '{CANCELLED1 / the execution is CANCELLED,CANCELLED2 / the execution is CANCELLED,'
    'FAILED1 / the execution is FAILED,FAILED2 / the execution is FAILED}', 'they are dead letters'
);
SELECT is(
    ARRAY(SELECT group_id FROM transport_groups ORDER BY group_id), '{CANCELLING,DONE,PENDING,RUNNING,cancelled}',
    'their groups are gone'
);
SELECT is((SELECT count(*) FROM transport_messages), 10::bigint, 'with their messages, and no others');

SELECT * FROM finish();
