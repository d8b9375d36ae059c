//! The program `ekiden`. It refuses to decide anything about calls: it starts the gateway, asks it,
//! and puts what it says into words.

mod args;
mod catalog;
mod check;
mod classify;
mod demo;
mod dry_run;
mod failure;
mod help;
mod http;
mod journal;
mod key;
mod language;
mod ledger;
mod moments;
mod offline;
mod pause;
mod provider;
mod queue;
mod queues;
mod release;
mod replay;
mod running;
mod serve;
mod sessions;
mod settings;
mod status;
mod table;
mod terminal;
mod token;
mod trial;
mod why;
mod words;

use std::io::{self, Write};
use std::process::ExitCode;

use ekiden_config::ProcessEnv;

use crate::args::{Asked, Task};
use crate::failure::{Ended, Failure};
use crate::terminal::Terminal;

/// A connection goes on wherever a thread is free, so that its buffers are often freed by another
/// thread than made them. glibc's allocator makes the one wait for the other then.
#[cfg(not(windows))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let terminal = Terminal::open(&ProcessEnv);
    let result = args::read(&terminal, std::env::args_os()).and_then(|asked| match asked {
        Asked::Task(task) => run(&terminal, &task),
        Asked::Text(text) => Ok(terminal.raw(&text).map(|()| Ended::Well)?),
    });
    failure::conclude(&terminal, result)
}

fn run(terminal: &Terminal, task: &Task) -> Result<Ended, Failure> {
    match task {
        Task::Serve(args) => serve::run(terminal, args),
        Task::Demo(args) => demo::run(terminal, args),
        Task::Check(args) => check::run(terminal, args),
        Task::Status(asking) => status::run(terminal, asking),
        Task::Sessions(args) => sessions::run(terminal, args),
        Task::Why(args) => {
            let asking = &args.asking;
            why::run(terminal, &args.call, asking.url.as_deref(), asking.form())
        }
        Task::Test(args) => trial::run(terminal, args),
        Task::DryRun(args) => dry_run::run(terminal, args),
        Task::Pause(args) => pause::run(terminal, pause::Ask::Pause, args),
        Task::Resume(args) => pause::run(terminal, pause::Ask::Resume, args),
        Task::Stop(args) => pause::stop(terminal, args),
        Task::Catalog(args) => catalog::run(terminal, args),
        Task::Rescan(args) => catalog::rescan(terminal, args),
        Task::Release(args) => release::run(terminal, args),
        Task::Journal(args) => journal::run(terminal, args),
        Task::Ledger(args) => ledger::run(terminal, args),
        Task::Queue(task) => queue::run(terminal, task),
        Task::Provider(task) => provider::run(terminal, task),
        Task::Key(task) => key::run(terminal, task),
        Task::Token(task) => token::run(terminal, task),
        Task::Config(task) => settings::run(terminal, task),
        Task::Replay(args) => replay::run(terminal, &args.trace, args.url.as_deref()),
        Task::Classify(args) => {
            let output = terminal.stream();
            if args.rules {
                classify::print_rules(output)?;
            } else {
                classify::run(io::stdin().lock(), output)?;
            }
            Ok(Ended::Well)
        }
        Task::Completions(args) => {
            let mut script = Vec::new();
            clap_complete::generate(
                args.shell,
                &mut args::command(terminal),
                "ekiden",
                &mut script,
            );
            terminal.stream().write_all(&script)?;
            Ok(Ended::Well)
        }
    }
}
