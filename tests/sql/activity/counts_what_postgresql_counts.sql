SELECT plan(2);

-- The server counts what is committed, a second late: here it can only be seen that it counts.
SELECT ok(
    (SELECT least(commits, published, settled, processed_events, emitted, dead_letters) >= 0 FROM harel_activity()),
    'numbers'
);
SELECT ok((SELECT at BETWEEN now() AND clock_timestamp() FROM harel_activity()), 'as of now');

SELECT * FROM finish();
