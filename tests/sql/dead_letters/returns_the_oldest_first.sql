SELECT plan(2);

INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at, dead_at) VALUES
('g', 9, '3', 'r', 1, '2001-01-01', '2001-02-03'),
('h', 7, '1', 'r', 1, '2001-01-09', '2001-02-01'),
('g', 5, '4', 'r', 1, '2001-01-02', '2001-02-04'),
('g', 8, '2', 'r', 1, '2001-01-03', '2001-02-03');

SELECT is(ARRAY(SELECT event FROM harel_dead_letters()), '{1,2,3,4}', 'by the time of death, and then by number');
SELECT is(ARRAY(SELECT event FROM harel_dead_letters('g')), '{2,3,4}', 'also those of one group');

SELECT * FROM finish();
