SELECT plan(6);

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
    PERFORM harel_publish('g', n::text, 0, 1) FROM generate_series(1, 4) n;
    PERFORM pg_temp.kill('g', 2);
END
$$;

SELECT is(pg_temp.waiting('g'), '{3,4}', 'two are dead, two wait');
SELECT is(harel_redrive(p_now => 10), 2, 'both are put back');
SELECT is(pg_temp.waiting('g'), '{1,2,3,4}', 'before the others, in the order that they had');
SELECT is_empty('SELECT * FROM dead_letters', 'they are no longer dead letters');
SELECT is(
    (SELECT head FROM transport_groups), (SELECT min(seq) FROM transport_messages), 'the head is the first of them'
);
SELECT is((SELECT event FROM harel_claim('w', 10, p_now => 10)), '1', 'which can be claimed at once');

SELECT * FROM finish();
