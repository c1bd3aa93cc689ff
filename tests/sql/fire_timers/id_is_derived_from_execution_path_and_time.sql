SELECT plan(6);

CREATE FUNCTION pg_temp.fired(p_id text, p_path text, p_fire_at float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_id text;
BEGIN
    INSERT INTO timers (execution_id, path, fire_at) VALUES (p_id, p_path, p_fire_at);
    PERFORM harel_fire_timers(1e12);
    DELETE FROM transport_messages WHERE group_id = p_id RETURNING event::jsonb ->> 'id' INTO v_id;
    DELETE FROM transport_groups WHERE group_id = p_id;
    RETURN v_id;
END
$$;
CREATE TEMP TABLE seen AS SELECT pg_temp.fired('e', 'p', 100.5) AS id;

SELECT is(pg_temp.fired('e', 'p', 100.5), (SELECT id FROM seen), 'the same timer has the same id');
SELECT isnt(pg_temp.fired('f', 'p', 100.5), (SELECT id FROM seen), 'one of another execution has another');
SELECT isnt(pg_temp.fired('e', 'q', 100.5), (SELECT id FROM seen), 'and one of another path');
SELECT isnt(pg_temp.fired('e', 'p', 100.50000000000001), (SELECT id FROM seen), 'and one of another time');
SELECT isnt(pg_temp.fired('ep', '', 100.5), pg_temp.fired('e', 'p', 100.5), 'the texts are not run together');
INSERT INTO timers (execution_id, path, fire_at) VALUES ('e', 'p', 100.5);
SET LOCAL extra_float_digits = -15;
DO $$ BEGIN PERFORM harel_fire_timers(1e12); END $$;
SELECT is(
    (SELECT event::jsonb ->> 'id' FROM transport_messages WHERE group_id = 'e'), (SELECT id FROM seen),
    'and it does not depend on settings'
);

SELECT * FROM finish();
