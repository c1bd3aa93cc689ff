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
    PERFORM harel_publish('g', 'a', 0, 1), harel_publish('g', 'b', 0, 1);
    PERFORM pg_temp.kill('g');
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 100, p_now => 2);

SELECT is((SELECT event FROM lease), 'b', 'while another message is leased');
SELECT is(harel_redrive('g', p_now => 3), 1, 'one is put before it');
SELECT is(harel_ack('g', (SELECT token FROM lease), 4), false, 'its lease is over: it is not settled');
SELECT is(harel_ack('g', (SELECT token FROM lease), 2.5), false, 'not by a clock that is behind either');
SELECT is(harel_nack('g', (SELECT token FROM lease), p_now => 4), false, 'nor given back');
SELECT is_empty('SELECT * FROM harel_extend($${g}$$, (SELECT ARRAY[token] FROM lease), 10, 4)', 'nor held for longer');
SELECT is(pg_temp.waiting('g'), '{a,b}', 'nothing is lost');
SELECT is((SELECT event || attempts FROM harel_claim('w', 10, p_now => 5)), 'a1', 'and the first comes first');

SELECT * FROM finish();
