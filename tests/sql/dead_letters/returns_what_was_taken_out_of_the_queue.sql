SELECT plan(2);

CREATE TEMP TABLE published AS SELECT harel_publish('g', '{"x": "ü\u0000"}', 0, 1) AS seq;
DO $$
BEGIN
    PERFORM harel_claim('w', 0, p_now => 2);
    PERFORM harel_nack('g', c.token, 0, 'broken', 2, 4) FROM harel_claim('w', 10, p_now => 3) c;
END
$$;

SELECT results_eq(
    'SELECT group_id, seq, event, reason, attempts FROM harel_dead_letters()',
    $$SELECT 'g', seq, '{"x": "ü\u0000"}', 'broken', 2 FROM published$$, 'each with its number, its event, and why'
);
SELECT results_eq(
    'SELECT id, published_at, delivered_at, dead_at FROM harel_dead_letters()',
    'SELECT id, published_at, delivered_at, dead_at FROM dead_letters', 'and with its id and its times'
);

SELECT * FROM finish();
