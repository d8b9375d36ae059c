-- Version 1. Times are Unix milliseconds; days are numbers of logical days.
-- Names of classes, states and words are those of the API.

CREATE TABLE day (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    number INTEGER NOT NULL
) STRICT;

-- Out for the day (R17), with the time of the next parole (R18).
CREATE TABLE quarantine (
    session TEXT NOT NULL,
    queue TEXT NOT NULL,
    route TEXT NOT NULL,
    class TEXT NOT NULL,
    day INTEGER NOT NULL,
    since_ms INTEGER NOT NULL,
    until_ms INTEGER,
    parole_ms INTEGER,
    paroles INTEGER NOT NULL,
    PRIMARY KEY (session, queue, route)
) STRICT, WITHOUT ROWID;

-- What a quarantined candidate said: at most 400 characters, keys masked (R17).
CREATE TABLE evidence (
    session TEXT NOT NULL,
    queue TEXT NOT NULL,
    route TEXT NOT NULL,
    status INTEGER,
    code TEXT,
    param TEXT,
    message TEXT,
    PRIMARY KEY (session, queue, route)
) STRICT, WITHOUT ROWID;

CREATE TABLE verified (
    session TEXT NOT NULL,
    queue TEXT NOT NULL,
    route TEXT NOT NULL,
    day INTEGER NOT NULL,
    PRIMARY KEY (session, queue, route)
) STRICT, WITHOUT ROWID;

-- Attempts of the day (R29).
CREATE TABLE tally (
    route TEXT PRIMARY KEY,
    day INTEGER NOT NULL,
    successes INTEGER NOT NULL,
    failures INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Tokens and milliseconds of the day (R30).
CREATE TABLE speed (
    session TEXT NOT NULL,
    route TEXT NOT NULL,
    day INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    speaking_ms INTEGER NOT NULL,
    PRIMARY KEY (session, route)
) STRICT, WITHOUT ROWID;

-- R32. Which columns are filled, and what `amount` counts, depends on `kind`.
CREATE TABLE journal (
    number INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    call TEXT,
    kind TEXT NOT NULL,
    session TEXT,
    queue TEXT,
    route TEXT,
    other TEXT,
    class TEXT,
    word TEXT,
    amount INTEGER,
    until_ms INTEGER,
    parole_ms INTEGER,
    status INTEGER,
    code TEXT,
    param TEXT,
    message TEXT
) STRICT;

-- One row per attempt (R34). `id` counts up without gaps.
CREATE TABLE attempt (
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
    UNIQUE (call, attempt)
) STRICT;
CREATE INDEX attempt_by_day ON attempt (day);
CREATE INDEX attempt_by_session ON attempt (session);

-- One row per call (R34).
CREATE TABLE call (
    id INTEGER PRIMARY KEY,
    call TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    queue TEXT NOT NULL,
    day INTEGER NOT NULL,
    began_ms INTEGER NOT NULL,
    took_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    route TEXT,
    ending TEXT NOT NULL
) STRICT;
CREATE INDEX call_by_day ON call (day);

-- R37.
CREATE TABLE catalog (
    provider TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    json TEXT NOT NULL
) STRICT;

-- R1.
CREATE TABLE deleted_queue (
    id INTEGER PRIMARY KEY,
    queue TEXT NOT NULL UNIQUE
) STRICT;

-- P5. `of_session` is 0 for the one pause of everybody, which has no session.
CREATE TABLE pause (
    of_session INTEGER NOT NULL,
    session TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    PRIMARY KEY (of_session, session)
) STRICT, WITHOUT ROWID;
