SELECT plan(5);

-- Makes the first message of a group a dead letter.
CREATE FUNCTION pg_temp.kill(p_group_id text, p_times integer DEFAULT 1) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. p_times LOOP
        UPDATE transport_groups SET available_at = 0 WHERE group_id = p_group_id AND available_at < 'Infinity';
        PERFORM harel_nack(c.group_id, c.token, 0, 'killed', 1, 0.5) FROM harel_claim('k', 10, p_now => 0) c;
    END LOOP;
END
$$;

DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 0, 1);
    PERFORM pg_temp.kill('g');
END
$$;

SELECT throws_ok($$SELECT harel_redrive(p_now => 'NaN')$$, 'ST006', NULL, 'which is a number');
SELECT throws_ok($$SELECT harel_redrive(p_now => 'Infinity')$$, 'ST006', NULL, 'and finite');
SELECT is((SELECT array_agg(event) FROM dead_letters), '{a}', 'or nothing is put back');
SELECT is(harel_redrive(), 1, 'without one');
SELECT ok(
    (SELECT available_at FROM transport_groups)
        BETWEEN extract(epoch FROM now()) AND extract(epoch FROM clock_timestamp()),
    'the message waits since now'
);

SELECT * FROM finish();
