SELECT plan(4);

SELECT is(harel_append_trace('e', 'a'), 0, 'an entry before the first save');
SELECT is_empty('SELECT * FROM executions', 'makes no execution');
SELECT is((SELECT committed FROM harel_commit('e', 'd', '{}', 0, p_trace => 'b')), true, 'the first save');
SELECT is(ARRAY(SELECT idx || entry FROM harel_read_trace('e')), '{0a,1b}', 'counts on');

SELECT * FROM finish();
