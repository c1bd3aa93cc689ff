SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_append_trace('e', 'e' || n) FROM generate_series(0, 9) n;
    DELETE FROM trace WHERE idx IN (1, 2, 3, 5, 7, 8);
END
$$;

SELECT is(harel_append_trace('e', 'e10', 4), 10, 'with gaps in the numbers, the next follows the greatest');
SELECT is_empty(
    $$SELECT kept.idx, dropped.idx FROM harel_read_trace('e') kept, unnest('{0,4,6,9,10}'::integer[]) AS dropped (idx)
    WHERE kept.idx < dropped.idx AND dropped.idx NOT IN (SELECT t.idx FROM harel_read_trace('e') t)$$,
    'no entry stays that is older than one that went'
);
SELECT ok((SELECT count(*) <= 4 FROM harel_read_trace('e')), 'and no more than the cap');
SELECT is((SELECT max(entry) FROM harel_read_trace('e') WHERE idx = 10), 'e10', 'the newest is there');
SELECT is_empty($$SELECT * FROM harel_read_trace('e') WHERE entry <> 'e' || idx$$, 'and all keep their numbers');

SELECT * FROM finish();
