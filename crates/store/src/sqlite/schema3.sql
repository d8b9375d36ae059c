-- Version 3: the ledgers have no index. Each of them cost every call twice, when its rows came and when
-- they went, and a ledger is small enough to be read whole. That a row is the only one of its name
-- (R34) is kept by the one who writes.
--
-- `cost_source` says who named the amount: `reported` by upstream, or `estimated` from a price and the
-- tokens. Until now every cost was of the second kind, and the word told of the tokens, whose own
-- sources stand beside it.

CREATE TABLE attempt_3 (
    id INTEGER PRIMARY KEY,
    call TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    session TEXT NOT NULL,
    queue TEXT NOT NULL,
    route TEXT NOT NULL,
    day INTEGER NOT NULL,
    began_ms INTEGER NOT NULL,
    took_ms INTEGER NOT NULL,
    state TEXT NOT NULL,
    class TEXT,
    status INTEGER,
    input_tokens INTEGER,
    input_source TEXT,
    output_tokens INTEGER,
    output_source TEXT,
    wasted INTEGER NOT NULL,
    cached_tokens INTEGER,
    written_tokens INTEGER,
    cost_nano INTEGER,
    currency TEXT,
    cost_source TEXT,
    token TEXT
) STRICT;
INSERT INTO attempt_3 SELECT id, call, attempt, session, queue, route, day, began_ms, took_ms, state,
    class, status, input_tokens, input_source, output_tokens, output_source, wasted, cached_tokens,
    written_tokens, cost_nano, currency, iif(cost_nano IS NULL, NULL, 'estimated'), token
    FROM attempt ORDER BY id;
DROP TABLE attempt;
ALTER TABLE attempt_3 RENAME TO attempt;

CREATE TABLE call_3 (
    id INTEGER PRIMARY KEY,
    call TEXT NOT NULL,
    session TEXT NOT NULL,
    queue TEXT NOT NULL,
    day INTEGER NOT NULL,
    began_ms INTEGER NOT NULL,
    took_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    route TEXT,
    ending TEXT NOT NULL
) STRICT;
INSERT INTO call_3 SELECT id, call, session, queue, day, began_ms, took_ms, attempts, route, ending
    FROM call ORDER BY id;
DROP TABLE call;
ALTER TABLE call_3 RENAME TO call;
