SELECT plan(3);

DO $$ BEGIN PERFORM harel_commit('e', 'd', '{}', 0, p_trace => 'a'); END $$;

SELECT is(harel_append_trace('e', 'b'), 1, 'after a commit');
SELECT is((SELECT committed FROM harel_commit('e', 'd', '{}', 1, p_trace => 'c')), true, 'which needs no new version');
SELECT is(ARRAY(SELECT idx || entry FROM harel_read_trace('e')), '{0a,1b,2c}', 'and is followed by the next');

SELECT * FROM finish();
