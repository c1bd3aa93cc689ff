SELECT plan(5);

CREATE FUNCTION pg_temp.told(p_call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_detail text;
    v_hint text;
BEGIN
    EXECUTE p_call;
    RETURN 'nothing raised';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS v_detail = PG_EXCEPTION_DETAIL, v_hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(' / ', sqlerrm, v_detail, v_hint);
END
$$;

SELECT throws_ok('SELECT harel_ack(NULL, gen_random_uuid())', 'ST001', NULL, 'without a group');
SELECT throws_ok($$SELECT harel_ack('g', NULL)$$, 'ST001', NULL, 'without a token');
SELECT throws_ok('SELECT harel_ack(NULL, NULL)', 'ST001', NULL, 'without both');
SELECT is(
    pg_temp.told($$SELECT harel_ack('g-7', NULL)$$),
    'a lease is named by its group and its token / Group ''g-7'': one of the two is NULL. / '
    'Pass the group_id and the token that harel_claim() or harel_next() gave.', 'it says which group'
);
SELECT throws_ok($$SELECT harel_ack('g', gen_random_uuid(), 'NaN')$$, 'ST006', NULL, 'a clock that is no number');

SELECT * FROM finish();
