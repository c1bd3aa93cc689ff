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
    PERFORM harel_publish(g.id, g.id, 0, 1) FROM (VALUES ('g'), ('h'), ('g')) AS g (id);
    PERFORM pg_temp.kill('g', 2), pg_temp.kill('h');
END
$$;

SELECT is(harel_redrive('g', p_now => 2), 2, 'its messages are put back');
SELECT is(pg_temp.waiting('g'), '{g,g}', 'all of them');
SELECT is((SELECT array_agg(event) FROM dead_letters), '{h}', 'those of others stay');
SELECT is(harel_redrive('x', p_now => 2), 0, 'a group may have none');

SELECT * FROM finish();
