SELECT plan(8);

-- Makes the first message of a group a dead letter.
CREATE FUNCTION pg_temp.kill(p_group_id text, p_times integer DEFAULT 1) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. p_times LOOP
        UPDATE transport_groups SET available_at = 0 WHERE group_id = p_group_id AND available_at < 'Infinity';
        PERFORM harel_nack(c.group_id, c.token, 0, 'killed', 1, 0.5) FROM harel_claim('k', 10, p_now => 0) c;
    END LOOP;
END
$$;
CREATE FUNCTION pg_temp.waiting(p_group_id text) RETURNS text[] LANGUAGE sql AS $$
    SELECT array_agg(event ORDER BY seq) FROM transport_messages WHERE group_id = p_group_id
$$;

DO $$
BEGIN
    PERFORM harel_publish('g', n::text, 0, 1) FROM generate_series(1, 5) n;
    PERFORM pg_temp.kill('g', 5);
END
$$;

SELECT is(harel_redrive(p_limit => 0, p_now => 2), 0, '0 to none');
SELECT is(harel_redrive(p_limit => 2, p_now => 2), 2, '2 to two');
SELECT is(pg_temp.waiting('g'), '{1,2}', 'the oldest');
SELECT is(harel_redrive('g', p_limit => 2, p_now => 2), 2, 'of a group too');
SELECT is((SELECT array_agg(event) FROM dead_letters), '{5}', 'the others stay');
SELECT throws_ok('SELECT harel_redrive(p_limit => -1)', 'ST008', 'limit must not be negative', '-1 is refused');
SELECT is(harel_redrive(p_limit => 9, p_now => 2), 1, '9 to all there are');
SELECT is(harel_redrive(p_now => 2), 0, 'then there are none');

SELECT * FROM finish();
