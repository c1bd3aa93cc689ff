SELECT plan(2);

DO $$
BEGIN
    FOR n IN 0 .. 4 LOOP
        PERFORM harel_commit(
            s, 'd',
            '{}', n, p_emit_targets => '{x,y,x,z}', p_emit_events => ARRAY[s || 2 * n, s || n, s || 2 * n + 1, s || n]
        ) FROM unnest('{a,b}'::text[]) s;
    END LOOP;
END
$$;
CREATE TEMP TABLE moved AS SELECT harel_relay(7, 100 + n) AS number FROM generate_series(1, 7) n;

SELECT is(ARRAY(SELECT number FROM moved), '{7,7,7,7,7,5,0}', 'a few at a time');
SELECT is(
    ARRAY(
        SELECT concat_ws(' ', left(event, 1), group_id, string_agg(substr(event, 2),
        '' ORDER BY seq)) FROM transport_messages
        GROUP BY group_id, left(event, 1) ORDER BY 1
    ),
    '{a x 0123456789,a y 01234,a z 01234,b x 0123456789,b y 01234,b z 01234}',
    'what one source sent to one target arrives as it was sent'
);

SELECT * FROM finish();
