//! Who speaks to the gateway in order to mislead it: clients whose requests could be read as two, and upstreams whose
//! answers could. THREAT_MODEL.md names each of these tests.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says so; its helpers are no tests to the lint"
)]

mod clients;
mod hostile;
mod upstreams;
