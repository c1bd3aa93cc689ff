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
CREATE FUNCTION pg_temp.waiting(p_group_id text) RETURNS text[] LANGUAGE sql AS $$
    SELECT array_agg(event ORDER BY seq) FROM transport_messages WHERE group_id = p_group_id
$$;

DO $$
BEGIN
    PERFORM harel_publish('g', n::text, 0, 1) FROM generate_series(1, 3) n;
    PERFORM pg_temp.kill('g', 3);
END
$$;
CREATE TEMP TABLE letter AS SELECT id FROM dead_letters WHERE event = '2';

SELECT is(harel_redrive(p_id => (SELECT id FROM letter), p_now => 2), 1, 'it is put back');
SELECT is(pg_temp.waiting('g'), '{2}', 'and no other');
SELECT is(harel_redrive(p_id => (SELECT id FROM letter), p_now => 2), 0, 'it is not there a second time');
SELECT is(
    harel_redrive('another group', (SELECT id FROM dead_letters WHERE event = '1'), p_now => 2), 0,
    'in another group it is not'
);
SELECT is(harel_redrive('g', (SELECT id FROM dead_letters WHERE event = '1'), p_now => 2), 1, 'but in its own');

SELECT * FROM finish();
