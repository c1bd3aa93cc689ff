SELECT plan(6);

DO $$ BEGIN PERFORM harel_commit_cas('e' || n, 'd', '{}', 0) FROM generate_series(1, 5) n; END $$;

SELECT is(
    ARRAY(SELECT id || (next_cursor IS NOT NULL) FROM harel_list(p_limit => 4)), '{e1false,e2false,e3false,e4true}',
    'the cursor stands on the last row, if there are more'
);
SELECT is(ARRAY(SELECT next_cursor FROM harel_list(p_limit => 5)), array_fill(NULL::text, ARRAY[5]), 'not if there are just as many');
SELECT is(ARRAY(SELECT next_cursor FROM harel_list(p_limit => 6)), array_fill(NULL::text, ARRAY[5]), 'nor if there are fewer');
SELECT is(ARRAY(SELECT id FROM harel_list(p_limit => 1)), '{e1}', 'a page of one');
SELECT is((SELECT count(*) FROM harel_list(p_limit => 2147483647)), 5::bigint, 'the greatest limit brings all');
SELECT is_empty($$SELECT * FROM harel_list('unknown')$$, 'a page of nothing has no row');

SELECT * FROM finish();
