//! The shell: HTTP in, HTTP out, a task for each call.

pub mod body;
