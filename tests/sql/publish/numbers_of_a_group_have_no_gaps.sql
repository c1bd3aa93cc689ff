SELECT plan(4);

CREATE FUNCTION pg_temp.gaps() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format('%s: %s to %s, messages %s', g.group_id, g.head, g.tail, array_agg(m.seq ORDER BY m.seq))
    FROM transport_groups g LEFT JOIN transport_messages m USING (group_id)
    GROUP BY g.group_id, g.head, g.tail
    HAVING count(m.seq) <> g.tail - g.head + 1 OR min(m.seq) <> g.head OR max(m.seq) <> g.tail
$$;
DO $$
BEGIN
    PERFORM harel_publish('g', n::text, 0, 1), harel_publish('h', n::text, 0, 1) FROM generate_series(1, 5) n;
END
$$;

SELECT is_empty('SELECT * FROM pg_temp.gaps()', 'published by turns');
DO $$ BEGIN PERFORM harel_ack(c.group_id, c.token, 3) FROM harel_claim('w', 10, 2, p_now => 2) c; END $$;
SELECT is_empty('SELECT * FROM pg_temp.gaps()', 'the first acknowledged');
DO $$
BEGIN
    PERFORM harel_nack(c.group_id, c.token, p_max_attempts => 1, p_now => 5) FROM harel_claim('w', 10, 2, p_now => 4) c;
    PERFORM harel_publish('g', '6'), harel_publish_many('{h,g,h}', '{6,7,7}');
END
$$;
SELECT is_empty('SELECT * FROM pg_temp.gaps()', 'the second a dead letter, and more published');
DO $$ BEGIN PERFORM harel_redrive(p_now => 6); END $$;
SELECT is_empty('SELECT * FROM pg_temp.gaps()', 'and put back');

SELECT * FROM finish();
