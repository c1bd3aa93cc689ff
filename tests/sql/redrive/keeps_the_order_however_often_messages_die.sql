SELECT plan(4);

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
    PERFORM harel_publish('g', n::text, 0, 1) FROM generate_series(1, 2) n;
    PERFORM harel_publish_many('{g,g,g}', '{3,4,5}', NULL, 1);
    PERFORM pg_temp.kill('g', 4);
END
$$;

SELECT is(
    harel_redrive(p_id => (SELECT id FROM dead_letters WHERE event = '1'), p_now => 2), 1,
    'the first is tried once more'
);
DO $$ BEGIN PERFORM pg_temp.kill('g'); END $$;
SELECT is(ARRAY(SELECT event FROM harel_dead_letters()), '{2,3,4,1}', 'and dies once more, later than the others');
SELECT is(harel_redrive(p_now => 3), 4, 'all that are put back then');
SELECT is(pg_temp.waiting('g'), '{1,2,3,4,5}', 'stand in the order in which they were published');

SELECT * FROM finish();
