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
    PERFORM harel_commit_cas('g', 'd', '{"priority": 3}', 0);
    PERFORM harel_publish('g', 'a', 1, 1), harel_publish('g', 'b', 1, 1), harel_publish('no execution', 'c', 2, 1);
    PERFORM pg_temp.kill('g', 2), pg_temp.kill('no execution');
END
$$;

SELECT is_empty('SELECT * FROM transport_groups', 'no group is left');
SELECT is(harel_redrive(p_now => 5), 3, 'three messages are put back');
SELECT results_eq(
    'SELECT group_id, priority, available_at, attempts FROM transport_groups ORDER BY group_id',
    $$VALUES
        ('g' COLLATE "C", 3::smallint, 5::double precision, 0), ('no execution', 0::smallint, 5::double precision, 0)$$,
    'at the priority of the execution, or at none'
);
SELECT is(pg_temp.waiting('g'), '{a,b}', 'in their order');
SELECT is((SELECT tail - head FROM transport_groups WHERE group_id = 'g'), 1::bigint, 'with numbers without a gap');
SELECT is(
    harel_publish('g', 'c', 0, 6), (SELECT tail + 1 FROM transport_groups WHERE group_id = 'g'),
    'where the next one follows'
);

SELECT * FROM finish();
