//! The program `ekiden`. It refuses to decide anything about calls: it starts the gateway, asks it,
//! and puts what it says into words.

mod args;
mod check;
mod classify;
mod demo;
mod failure;
mod help;
mod http;
mod language;
mod queues;
mod replay;
mod running;
mod serve;
mod terminal;
mod why;
mod words;

use std::io;
use std::process::ExitCode;

use ekiden_config::ProcessEnv;

use crate::args::{Asked, Task};
use crate::failure::{Ended, Failure};
use crate::terminal::Terminal;
use crate::why::Form;

fn main() -> ExitCode {
    let terminal = Terminal::open(&ProcessEnv);
    let result = args::read(&terminal, std::env::args_os()).and_then(|asked| match asked {
        Asked::Task(task) => run(&terminal, task),
        Asked::Text(text) => Ok(terminal.raw(&text).map(|()| Ended::Well)?),
    });
    failure::conclude(&terminal, result)
}

fn run(terminal: &Terminal, task: Task) -> Result<Ended, Failure> {
    match task {
        Task::Serve(args) => serve::run(terminal, &args),
        Task::Demo(args) => demo::run(terminal, &args),
        Task::Check(args) => check::run(terminal, args.path.as_deref()),
        Task::Why(args) => {
            let form = if args.json { Form::Json } else { Form::Words };
            why::run(terminal, &args.call, args.url.as_deref(), form)
        }
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
    }
}
