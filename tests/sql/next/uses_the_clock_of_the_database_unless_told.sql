SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_publish('e', 'ev');
END
$$;

SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 100)$$, 'a time long before the message finds nothing');
SELECT is(
    (SELECT round(deadline - extract(epoch FROM clock_timestamp())) BETWEEN 20 AND 30 FROM harel_next('w', 30)), true,
    'the present does, and counts the lease from there'
);

SELECT * FROM finish();
