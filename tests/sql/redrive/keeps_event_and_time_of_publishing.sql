SELECT plan(2);

-- Makes the first message of a group a dead letter.
CREATE FUNCTION pg_temp.kill(p_group_id text, p_times integer DEFAULT 1) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. p_times LOOP
        UPDATE transport_groups SET available_at = 0 WHERE group_id = p_group_id AND available_at < 'Infinity';
        PERFORM harel_nack(c.group_id, c.token, 0, 'killed', 1, 0.5) FROM harel_claim('k', 10, p_now => 0) c;
    END LOOP;
END
$$;

DO $$ BEGIN PERFORM harel_publish('g', E'{"x":\t"ü"} ', 0, 1); END $$;
CREATE TEMP TABLE before AS SELECT event, published_at FROM transport_messages;
DO $$ BEGIN PERFORM pg_temp.kill('g'); END $$;

SELECT is(harel_redrive(p_now => 2), 1, 'a message that is put back');
SELECT results_eq(
    'SELECT event, published_at FROM transport_messages', 'SELECT * FROM before', 'is the one that was published'
);

SELECT * FROM finish();
