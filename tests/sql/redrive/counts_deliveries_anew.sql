SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 0, 1), harel_publish('g', 'b', 0, 1);
    PERFORM harel_claim('w', 0, p_now => 2) FROM generate_series(1, 20);
    PERFORM harel_claim('w', 0, p_now => 2) FROM generate_series(1, 20);
END
$$;

SELECT is((SELECT array_agg(attempts) FROM dead_letters), '{20}', 'delivered twenty times');
SELECT is((SELECT attempts FROM transport_groups), 20, 'as is now the next one');
SELECT is(harel_redrive(p_now => 3), 1, 'put back');
SELECT is((SELECT event || attempts FROM harel_claim('w', 10, p_now => 3)), 'a1', 'it has all of them again');

SELECT * FROM finish();
