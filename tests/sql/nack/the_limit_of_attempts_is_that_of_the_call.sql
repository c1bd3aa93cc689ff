SELECT plan(5);

CREATE FUNCTION pg_temp.give_back(p_options text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_token uuid := (SELECT c.token FROM harel_claim('w', 10, 1, 0, NULL, 2) c);
    v_answer boolean;
BEGIN
    EXECUTE format('SELECT harel_nack(%L, %L, p_now => 2%s)', 'g', v_token, p_options) INTO v_answer;
    RETURN v_answer;
END
$$;
DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 0, 1);
    PERFORM pg_temp.give_back(', p_max_attempts => NULL') FROM generate_series(1, 30);
END
$$;

SELECT is((SELECT attempts FROM transport_groups), 30, 'NULL is no limit');
SELECT is(pg_temp.give_back(', p_max_attempts => 32'), true, 'below the limit');
SELECT is_empty('SELECT * FROM dead_letters', 'it stays in the queue');
SELECT is(pg_temp.give_back(''), true, 'without one it is 20');
SELECT is((SELECT attempts FROM dead_letters), 32, 'which is passed already');

SELECT * FROM finish();
