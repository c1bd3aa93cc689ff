SELECT plan(7);

CREATE FUNCTION pg_temp.detail(p_call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_detail text;
    v_hint text;
BEGIN
    EXECUTE p_call;
    RETURN 'nothing raised';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS v_detail = PG_EXCEPTION_DETAIL, v_hint = PG_EXCEPTION_HINT;
    RETURN v_detail || ' ' || v_hint;
END
$$;
DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1); END $$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 10, p_now => 2);

SELECT throws_ok(
    $$SELECT harel_nack('g', token, NULL, p_now => 3) FROM lease$$, 'ST011',
    'the delay must be a number of seconds from 0 to 1e300', 'NULL'
);
SELECT throws_ok($$SELECT harel_nack('g', token, -1, p_now => 3) FROM lease$$, 'ST011', NULL, '-1');
SELECT throws_ok($$SELECT harel_nack('g', token, 'NaN', p_now => 3) FROM lease$$, 'ST011', NULL, 'NaN');
SELECT throws_ok($$SELECT harel_nack('g', token, 'Infinity', p_now => 3) FROM lease$$, 'ST011', NULL, 'infinity');
SELECT throws_ok(
    $$SELECT harel_nack('gone', gen_random_uuid(), -1)$$, 'ST011', NULL, 'also where there is no such lease'
);
SELECT is(
    pg_temp.detail($$SELECT harel_nack('g', gen_random_uuid(), -1)$$),
    'The delay is -1. Pass a duration in seconds, for instance 30.', 'it says what was passed'
);
SELECT is(
    harel_nack('g', (SELECT token FROM lease), 1e300, p_now => 3), true, 'the lease still holds, and any other is taken'
);

SELECT * FROM finish();
