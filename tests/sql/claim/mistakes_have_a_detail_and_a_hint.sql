SELECT plan(10);

CREATE FUNCTION pg_temp.told(p_call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_detail text;
    v_hint text;
BEGIN
    EXECUTE p_call;
    RETURN 'nothing raised';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS v_detail = PG_EXCEPTION_DETAIL, v_hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(' / ', sqlstate, v_detail, CASE WHEN v_hint = '' THEN 'no hint' END);
END
$$;

SELECT is(pg_temp.told('SELECT ' || m.call), m.told, m.call)
FROM (VALUES
    ($$harel_claim(NULL, 10)$$, 'ST001 / The worker is NULL.'),
    ($$harel_claim('', 10)$$, $$ST001 / The worker has 0 bytes and begins with ''.$$),
    ($$harel_claim('w', NULL)$$, 'ST011 / The visibility is NULL.'),
    ($$harel_claim('w', -1)$$, 'ST011 / The visibility is -1.'),
    ($$harel_claim('w', 10, NULL)$$, 'ST008 / The limit is NULL.'),
    ($$harel_claim('w', 10, -1)$$, 'ST008 / The limit is -1.'),
    ($$harel_claim('w', 10, 1, 5)$$, 'ST010 / A claim: the priority is 5.'),
    ($$harel_claim('w', 10, 1, NULL)$$, 'ST010 / A claim: the priority is NULL.'),
    ($$harel_claim('w', 10, 1, 0, 0)$$, 'ST008 / It is 0: every message would become a dead letter.'),
    ($$harel_claim('w', 10, p_now => 'NaN')$$, 'ST006 / The clock of a call: the time is NaN.')
) AS m (call, told);

SELECT * FROM finish();
