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

DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 0, 1), harel_publish('g', 'b', 0, 1);
    PERFORM pg_temp.kill('g');
    PERFORM harel_nack('g', c.token, 1000, p_now => 3) FROM harel_claim('w', 10, p_now => 2) c;
END
$$;

SELECT is(harel_redrive(p_now => 4), 1, 'the delay was for the message behind it');
SELECT is((SELECT event FROM harel_claim('w', 10, p_now => 4)), 'a', 'which now comes after it');

SELECT * FROM finish();
