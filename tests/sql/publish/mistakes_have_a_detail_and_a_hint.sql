SELECT plan(11);

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
    ($$harel_publish(NULL, 'a')$$, 'ST001 / The group id is NULL.'),
    ($$harel_publish('', 'a')$$, $$ST001 / Execution '': the group id has 0 bytes and begins with ''.$$),
    (
        $$harel_publish(repeat('x', 1001), 'a')$$,
        format('ST001 / Execution %1$L: the group id has 1001 bytes and begins with %1$L.', repeat('x', 40))
    ),
    ($$harel_publish('g-7', NULL)$$, $$ST003 / Group 'g-7'.$$),
    ($$harel_publish('g-7', 'a', -1)$$, $$ST010 / Group 'g-7': the priority is -1.$$),
    ($$harel_publish('g-7', 'a', NULL)$$, $$ST010 / Group 'g-7': the priority is NULL.$$),
    ($$harel_publish('g-7', 'a', 0, 'NaN')$$, 'ST006 / The clock of a call: the time is NaN.'),
    ($$harel_publish_many('{g-7,g-8}', '{a,NULL}')$$, $$ST003 / Group 'g-8'.$$),
    ($$harel_publish_many('{g-7,g-8}', '{a,b}', '{0,9}')$$, $$ST010 / Group 'g-8': the priority is 9.$$),
    ($$harel_publish_many('{g-7}', '{a,b}')$$, 'ST004 / A batch: their bounds are [1:1], [1:2], [1:1].'),
    ($$harel_publish_many('{g-7}', '{a}', NULL, 'Infinity')$$, 'ST006 / The clock of a call: the time is Infinity.')
) AS m (call, told);

SELECT * FROM finish();
