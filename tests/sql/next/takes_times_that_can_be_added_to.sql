SELECT plan(4);

SELECT harel_commit_cas('e', 'd', '{}', 0), harel_publish('e', 'a');

SELECT lives_ok(
    $$SELECT * FROM harel_next('w', 1e300, p_now => 1.7e308)$$, 'the longest lease at the latest time'
);
SELECT throws_ok(
    $$SELECT * FROM harel_next('w', 1e301)$$, 'ST011', 'the visibility must be a number of seconds from 0 to 1e300',
    'a longer lease'
);
SELECT throws_ok(
    $$SELECT * FROM harel_next('w', 1, p_sleep => 1e308)$$, 'ST011',
    'the sleep must be a number of seconds from 0 to 1e300', 'a longer sleep'
);
SELECT throws_ok(
    $$SELECT * FROM harel_next('w', 1, p_now => 1.79e308)$$, 'ST006',
    'a time must be a finite number of seconds since the epoch', 'a later time'
);

SELECT * FROM finish();
