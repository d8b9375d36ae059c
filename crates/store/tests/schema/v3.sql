
CREATE TABLE day (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    number INTEGER NOT NULL
) STRICT;

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

CREATE TABLE tally (
    route TEXT PRIMARY KEY,
    day INTEGER NOT NULL,
    successes INTEGER NOT NULL,
    failures INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE speed (
    session TEXT NOT NULL,
    route TEXT NOT NULL,
    day INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    speaking_ms INTEGER NOT NULL,
    PRIMARY KEY (session, route)
) STRICT, WITHOUT ROWID;

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
    cached_tokens INTEGER,
    written_tokens INTEGER,
    cost_nano INTEGER,
    currency TEXT,
    cost_source TEXT,
    token TEXT
) STRICT;

CREATE TABLE call (
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

CREATE TABLE catalog (
    provider TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    json TEXT NOT NULL
) STRICT;

CREATE TABLE deleted_queue (
    id INTEGER PRIMARY KEY,
    queue TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE pause (
    of_session INTEGER NOT NULL,
    session TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    PRIMARY KEY (of_session, session)
) STRICT, WITHOUT ROWID;
INSERT INTO day VALUES (1, 20000);
INSERT INTO quarantine VALUES ('s', 'default', 'a/m', 'server_error', 20000, 1790000000000, NULL, 1790000060000, 0);
INSERT INTO evidence VALUES ('s', 'default', 'a/m', 500, 'server_error', NULL, 'broke');
INSERT INTO verified VALUES ('s', 'default', 'b/m', 20000);
INSERT INTO tally VALUES ('a/m', 20000, 3, 1);
INSERT INTO speed VALUES ('s', 'b/m', 20000, 900, 10000);
INSERT INTO journal VALUES (1, 1790000000000, 'ek-1-1', 'quarantined', 's', 'default', 'a/m', NULL, 'server_error', NULL, NULL, NULL, 1790000060000, 500, 'server_error', NULL, 'broke');
INSERT INTO attempt VALUES (1, 'ek-1-1', 1, 's', 'default', 'a/m', 20000, 1790000000000, 250, 'unknown', 'server_error', 500, 1200, 'estimated', NULL, NULL, 1, 200, 100, 522000, 'USD', 'estimated', 't1');
INSERT INTO call VALUES (1, 'ek-1-1', 's', 'default', 20000, 1790000000000, 900, 2, 'b/m', 'whole');
INSERT INTO catalog VALUES ('a', 1, '{"models":[]}');
INSERT INTO deleted_queue VALUES (1, 'old');
INSERT INTO pause VALUES (0, '', 1790000000000);
INSERT INTO pause VALUES (1, 's', 1790000000000);
PRAGMA application_id = 1164667236;
PRAGMA user_version = 3;
