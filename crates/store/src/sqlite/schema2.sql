-- Version 2: what attempts cost (R34), and whose token asked (G9).

-- Of the input tokens, those read from a cache and those written to one, where upstream said so.
ALTER TABLE attempt ADD COLUMN cached_tokens INTEGER;
ALTER TABLE attempt ADD COLUMN written_tokens INTEGER;

-- Billionths of the currency; no price, or no number of tokens: none. `cost_source` says whether the
-- tokens behind it were `reported` or `estimated`.
ALTER TABLE attempt ADD COLUMN cost_nano INTEGER;
ALTER TABLE attempt ADD COLUMN currency TEXT;
ALTER TABLE attempt ADD COLUMN cost_source TEXT;

-- The id of the client's token; none: it showed none.
ALTER TABLE attempt ADD COLUMN token TEXT;
