SELECT plan(5);

CREATE FUNCTION pg_temp.back(p_event text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_lease record;
BEGIN
    PERFORM harel_publish('g', p_event, 0, 1);
    SELECT c.* INTO v_lease FROM harel_claim('w', 10, p_now => 2) c;
    PERFORM harel_ack('g', v_lease.token, 3);
    RETURN v_lease.event;
END
$$;

SELECT is(pg_temp.back(e.event), e.event, e.what)
FROM (VALUES
    ('spaces and the order of members', E' {"b" : 1,\n\t"a": 1.50, "b": 2} '),
    ('escapes', '{"x": "\u0000\ud800\\\"ü€😀"}'),
    ('what is no JSON', 'plain ''text'' with $1 and %s'),
    ('an empty text', ''),
    ('a megabyte', repeat('0123456789abcdef', 65536))
) AS e (what, event);

SELECT * FROM finish();
