SELECT plan(3);

CREATE TEMP TABLE sample (prefix text);
INSERT INTO sample VALUES
('%'), ('_'), ('*'), ('?'), ('.'), ('['), ('\'), ('\%'), ('a%'), ('a_'), ('^a'), ('a.*'), (' '), (''''), ('$$'), ('%s');
DO $$
BEGIN
    PERFORM harel_commit_cas(prefix || '/1', 'd', '{}', 0) FROM sample;
    PERFORM harel_commit_cas(id, 'd', '{}', 0) FROM unnest('{plain,ab/1,aXYZ/1,b}'::text[]) id;
END
$$;

SELECT is_empty(
    $$SELECT prefix, ARRAY(SELECT harel_ids_with_prefix(prefix || '/')) FROM sample
    WHERE ARRAY(SELECT harel_ids_with_prefix(prefix || '/')) <> ARRAY[prefix || '/1']$$,
    'none stands for another'
);
SELECT is(ARRAY(SELECT harel_ids_with_prefix('%')), '{%/1,%s/1}', 'not the percent sign');
SELECT is(ARRAY(SELECT harel_ids_with_prefix('a_')), '{a_/1}', 'nor the underscore');

SELECT * FROM finish();
